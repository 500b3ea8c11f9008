// Package hostname knows about names what the standard library does not:
// international names, and which names many owners share. It turns what a
// person wrote into the canonical form of package policy, which decides.
package hostname
