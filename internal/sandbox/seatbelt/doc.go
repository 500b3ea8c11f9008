// Package seatbelt confines commands on macOS: Profile writes what a policy
// allows in the language of sandbox-exec, and Backend starts a command under
// it. Nothing is mounted there, so everything is held by rules about names.
package seatbelt
