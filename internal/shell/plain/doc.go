// Package plain reads the one kind of command text that may leave the sandbox
// or be given a profile of its own: a single plain command, whose words mean
// themselves.
//
// It has a reader of its own, which knows no more of the shell than that: a
// character it does not know makes the text not plain. A full shell parser is
// never asked here, so where parser and shell disagree nothing is gained.
//
// Everything is a pure function of its arguments; the host is a View that the
// caller hands in.
package plain
