// Package transparent lets programs that know of no proxy reach allowed hosts
// by name: a resolver that answers with synthetic addresses, and an engine that
// turns connections to them into calls of the egress. It runs in the
// supervisor, on descriptors made inside the sandbox.
package transparent
