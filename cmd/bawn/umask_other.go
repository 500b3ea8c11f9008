//go:build !unix

package main

// checkUmask: there is none.
func checkUmask() error { return nil }
