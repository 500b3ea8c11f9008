// Package tty is what all who write to a terminal share.
package tty
