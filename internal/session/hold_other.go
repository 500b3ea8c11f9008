//go:build !unix

package session

import "os"

// HoldTerminal does nothing here.
func HoldTerminal(*os.File, bool) (giveBack func()) { return func() {} }
