// Package tty is what all who read and write terminals share.
package tty
