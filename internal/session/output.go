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

// output is what a background command wrote. The file has no name, so that it
// is gone with this process however that ends. A nil one is empty.
type output struct {
	mu    sync.Mutex
	f     *os.File // nil when it is closed
	total int64    // bytes written; the last maxOutput of them are kept
}

func newOutput(folder string) (*output, error) {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return nil, fmt.Errorf("keep the command's output: %w", err)
	}
	f, err := os.CreateTemp(folder, ".output-") // 0600
	if err != nil {
		return nil, fmt.Errorf("keep the command's output: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, fmt.Errorf("keep the command's output: %w", err)
	}
	return &output{f: f}, nil
}

// Write keeps b, over the oldest where there is too much.
func (o *output) Write(b []byte) (int, error) {
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
func (o *output) tail(limit int) ([]byte, error) {
	if o == nil {
		return nil, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.f == nil {
		return nil, errors.New("the output is no longer kept")
	}
	n := min(int64(max(limit, 0)), o.total, maxOutput)
	b := make([]byte, n)
	for done := int64(0); done < n; {
		at := (o.total - n + done) % maxOutput
		part := b[done:min(n, done+maxOutput-at)]
		if _, err := o.f.ReadAt(part, at); err != nil {
			return nil, err
		}
		done += int64(len(part))
	}
	return b, nil
}

func (o *output) size() int64 {
	if o == nil {
		return 0
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.total
}

func (o *output) close() {
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
