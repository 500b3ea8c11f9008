//go:build unix

package session

import (
	"errors"
	"fmt"
	"os"
	"sync"
)

// maxOutput is how much of a background command's output is kept, of its end
// (DECISIONS "Fixed limits").
const maxOutput = 16 << 20

// Output is what a background command wrote. The file has no name, so that it
// is gone with this process however that ends. A nil one is empty.
type Output struct {
	mu    sync.Mutex
	f     *os.File // nil when it is closed
	total int64    // bytes written; the last maxOutput of them are kept
}

// NewOutput makes one in a folder of bawn's own state.
func NewOutput(folder string) (*Output, error) {
	f, err := Nameless(folder)
	if err != nil {
		return nil, fmt.Errorf("keep the command's output: %w", err)
	}
	return &Output{f: f}, nil
}

// Nameless makes a file in a folder of bawn's own state that only this process
// has.
func Nameless(folder string) (*os.File, error) {
	if folder == "" {
		return nil, errors.New("there is no place for it: let XDG_STATE_HOME name a folder of yours that can be written")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(folder, ".output-") // 0600
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Write keeps b, over the oldest where there is too much.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := len(b)
	if o.f == nil {
		return 0, os.ErrClosed
	}
	for len(b) > 0 {
		at := o.total % maxOutput
		part := b[:min(int64(len(b)), maxOutput-at)]
		if _, err := o.f.WriteAt(part, at); err != nil {
			return 0, err
		}
		o.total += int64(len(part))
		b = b[len(part):]
	}
	return n, nil
}

// tail is the end of it, at most limit bytes.
func (o *Output) tail(limit int) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.f == nil {
		return nil, errors.New("the output is no longer kept")
	}
	n := min(int64(max(limit, 0)), o.total, maxOutput)
	return o.read(o.total-n, n)
}

// read returns n bytes from one on; all are kept. The caller holds mu.
func (o *Output) read(from, n int64) ([]byte, error) {
	b := make([]byte, n)
	for done := int64(0); done < n; {
		at := (from + done) % maxOutput
		part := b[done:min(n, done+maxOutput-at)]
		if _, err := o.f.ReadAt(part, at); err != nil {
			return nil, err
		}
		done += int64(len(part))
	}
	return b, nil
}

// From is at most limit bytes of it from offset on, and where they begin: later
// where the oldest are no longer kept.
func (o *Output) From(offset int64, limit int) (b []byte, at int64, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.f == nil {
		return nil, 0, errors.New("the output is no longer kept")
	}
	at = min(max(offset, o.total-maxOutput, 0), o.total)
	b, err = o.read(at, min(int64(max(limit, 0)), o.total-at))
	return b, at, err
}

// Size counts the bytes written, those that are no longer kept too.
func (o *Output) Size() int64 {
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

// Close lets go of it.
func (o *Output) Close() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.f != nil {
		o.f.Close()
		o.f = nil
	}
}
