// Package policy says what a sandboxed command may do.
//
// Its values are immutable and its decisions are pure: nothing here reads a
// file, a clock or the environment. Every decision names the rule that made
// it. The zero value of each type is the strictest one.
package policy
