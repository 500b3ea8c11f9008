//go:build linux

// Package guard decides about names that do not exist yet. A filter stops
// every call that creates, renames, links, cuts or opens a file for writing;
// the guard resolves the path itself, asks its Rules about the directory and
// the last name, and carries the call out on the directory it asked about.
// The kernel never reads the caller's memory again, so there is nothing that
// another thread could change in between.
package guard
