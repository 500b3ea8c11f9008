// Package launchtest tests what becomes of commands against the real program,
// on real terminals.
package launchtest
