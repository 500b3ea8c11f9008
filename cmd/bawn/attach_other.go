//go:build !linux

package main

// attach finds no session: there is no sandbox to run the command in.
func (f *runFlags) attach() (code int, ran bool) { return 0, false }
