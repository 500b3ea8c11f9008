package bawn

import (
	"errors"
	"io"
	"os"
	"sync"

	"bawn/internal/sandbox"
)

// streams turns the three streams into files for the command. Every file
// that is made here is on one of the two lists before anything can fail.
func (c *Cmd) streams() (s sandbox.Stdio, err error) {
	if s.In, err = c.input(); err != nil {
		return s, err
	}
	if s.Out, err = c.output(c.Stdout); err != nil {
		return s, err
	}
	if c.Stderr != nil && same(c.Stderr, c.Stdout) {
		s.Err = s.Out
		return s, nil
	}
	s.Err, err = c.output(c.Stderr)
	return s, err
}

// same compares two writers; those that cannot be compared differ.
func same(a, b any) (equal bool) {
	defer func() { _ = recover() }()
	return a == b
}

func (c *Cmd) input() (*os.File, error) {
	f, isFile := c.Stdin.(*os.File)
	switch {
	case c.Stdin == nil, isFile && f == nil:
		return c.null(os.O_RDONLY)
	case isFile:
		return f, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.childEnds = append(c.childEnds, r)
	c.copyEnds = append(c.copyEnds, w)
	in := c.Stdin
	c.copies = append(c.copies, func() error {
		_, err := io.Copy(w, in)
		if brokenPipe(err) {
			err = nil // the command ended without reading all
		}
		return errors.Join(err, w.Close())
	})
	return r, nil
}

func (c *Cmd) output(dst io.Writer) (*os.File, error) {
	f, isFile := dst.(*os.File)
	switch {
	case dst == nil, isFile && f == nil:
		return c.null(os.O_WRONLY)
	case isFile:
		return f, nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.childEnds = append(c.childEnds, w)
	c.copyEnds = append(c.copyEnds, r)
	c.copies = append(c.copies, func() error {
		_, err := io.Copy(dst, r)
		_ = r.Close() // a command that writes on gets SIGPIPE
		return err
	})
	return w, nil
}

func (c *Cmd) null(flag int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, flag, 0)
	if err == nil {
		c.childEnds = append(c.childEnds, f)
	}
	return f, err
}

// StdinPipe returns a pipe to the command's standard input. Wait closes it;
// close it earlier to let the command see the end of its input. What is
// written after the command has ended is an error.
func (c *Cmd) StdinPipe() (io.WriteCloser, error) {
	if err := c.pipeAllowed("Stdin", c.Stdin != nil); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, public(err)
	}
	c.Stdin = r
	c.childEnds = append(c.childEnds, r)
	once := &closeOnce{File: w}
	c.pipeEnds = append(c.pipeEnds, once)
	return once, nil
}

// StdoutPipe returns a pipe from the command's standard output. Wait closes
// it, so all reading must be done before Wait is called; for the same reason
// Run must not be used with it.
func (c *Cmd) StdoutPipe() (io.ReadCloser, error) {
	if err := c.pipeAllowed("Stdout", c.Stdout != nil); err != nil {
		return nil, err
	}
	r, w, err := c.outputPipe()
	if err == nil {
		c.Stdout = w
	}
	return r, err
}

// StderrPipe is StdoutPipe for the standard error.
func (c *Cmd) StderrPipe() (io.ReadCloser, error) {
	if err := c.pipeAllowed("Stderr", c.Stderr != nil); err != nil {
		return nil, err
	}
	r, w, err := c.outputPipe()
	if err == nil {
		c.Stderr = w
	}
	return r, err
}

func (c *Cmd) pipeAllowed(name string, set bool) error {
	switch {
	case set:
		return errors.New("bawn: " + name + " already set")
	case c.copied != nil:
		return errors.New("bawn: " + name + "Pipe after the command was started")
	}
	return nil
}

func (c *Cmd) outputPipe() (io.ReadCloser, *os.File, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, public(err)
	}
	c.childEnds = append(c.childEnds, w)
	c.pipeEnds = append(c.pipeEnds, r)
	return r, w, nil
}

// closeOnce lets the caller and Wait both close a pipe.
type closeOnce struct {
	*os.File
	once sync.Once
	err  error
}

func (c *closeOnce) Close() error {
	c.once.Do(func() { c.err = c.File.Close() })
	return c.err
}
