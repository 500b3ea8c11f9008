//go:build !unix

package screen

import (
	"fmt"
	"os"
	"runtime"
)

// Screen owns a terminal; on this system there is none.
type Screen struct{}

// Open refuses.
func Open(*os.File, Options) (*Screen, error) {
	return nil, fmt.Errorf("open the screen: %w on %s", ErrNoTerminal, runtime.GOOS)
}

func (*Screen) Recover()                    {}
func (*Screen) Close() error                { return nil }
func (*Screen) SetFooter([]string, *Cursor) {}
func (*Screen) Print(string)                {}
func (*Screen) Suspend() (resume func())    { return func() {} }
func (*Screen) Stop()                       {}
func (*Screen) Attach(int, *os.File) error  { return ErrClosed }
func (*Screen) Drain(int)                   {}
func (*Screen) Tail(int) []byte             { return nil }
