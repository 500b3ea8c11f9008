// Command ops does what it reads, a JSON value each, in the current folder, and
// prints how each ended.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

type op struct {
	Do       string
	Path, To []byte
	Data     []byte
	At       int64
	Mode     uint32
}

func main() {
	syscall.Umask(0o022)
	in := json.NewDecoder(bufio.NewReader(os.Stdin))
	for {
		var o op
		err := in.Decode(&o)
		if err == io.EOF {
			return
		}
		if err != nil {
			fmt.Println("input:", err)
			os.Exit(3)
		}
		fmt.Printf("%s %q %q: %s\n", o.Do, o.Path, o.To, number(o.run()))
	}
}

func number(err error) string {
	var e syscall.Errno
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &e):
		return e.Error()
	}
	return err.Error()
}

func (o op) run() error {
	path, to := string(o.Path), string(o.To)
	switch o.Do {
	case "write":
		return write(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0, o.Data)
	case "append":
		return write(path, os.O_WRONLY|os.O_APPEND, 0, o.Data)
	case "writeat":
		return write(path, os.O_WRONLY, o.At, o.Data)
	case "replace": // as editors do
		if err := write(path+".tmp~", os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0, o.Data); err != nil {
			return err
		}
		if err := os.Rename(path+".tmp~", path); err != nil {
			os.Remove(path + ".tmp~")
			return err
		}
		return nil
	case "truncate":
		return os.Truncate(path, o.At)
	case "mkdir":
		return syscall.Mkdir(path, o.Mode)
	case "rmdir":
		return syscall.Rmdir(path)
	case "unlink":
		return syscall.Unlink(path)
	case "clear":
		if _, err := os.Lstat(path); err != nil {
			return err // below a fifo RemoveAll would wait for ever
		}
		return os.RemoveAll(path)
	case "symlink":
		return os.Symlink(to, path)
	case "link":
		return os.Link(path, to)
	case "fifo":
		return syscall.Mkfifo(path, o.Mode)
	case "chmod":
		if st, err := os.Lstat(path); err != nil || st.Mode()&fs.ModeSymlink != 0 {
			return err
		}
		return syscall.Chmod(path, o.Mode)
	case "touch":
		t := time.Unix(o.At, 0)
		return os.Chtimes(path, t, t)
	case "xattr":
		return syscall.Setxattr(path, "user.test", o.Data, 0)
	case "move":
		err := os.Rename(path, to)
		if errors.Is(err, syscall.EXDEV) { // a folder of the workspace in an overlay: as mv does
			if _, e := os.Lstat(to); e == nil {
				if e := syscall.Rmdir(to); e != nil {
					return e
				}
			}
			if err = copyTree(path, to); err == nil {
				err = os.RemoveAll(path)
			}
		}
		return err
	}
	return fmt.Errorf("no operation %q", o.Do)
}

func write(path string, flags int, at int64, data []byte) error {
	f, err := os.OpenFile(path, flags|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	if at > 0 {
		if _, err := f.Seek(at, io.SeekStart); err != nil {
			return err
		}
	}
	_, err = f.Write(data)
	return err
}

func copyTree(from, to string) error {
	st, err := os.Lstat(from)
	if err != nil {
		return err
	}
	mode := st.Sys().(*syscall.Stat_t).Mode & 0o7777
	switch st.Mode().Type() {
	case fs.ModeSymlink:
		text, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(text, to)
	case fs.ModeNamedPipe:
		if err := syscall.Mkfifo(to, mode); err != nil {
			return err
		}
		return syscall.Chmod(to, mode)
	case fs.ModeDir:
		if err := syscall.Chmod(from, mode|0o700); err != nil { // as the kernel moves it, whatever its mode
			return err
		}
		if err := os.Mkdir(to, 0o700); err != nil {
			return err
		}
		entries, err := os.ReadDir(from)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := copyTree(filepath.Join(from, e.Name()), filepath.Join(to, e.Name())); err != nil {
				return err
			}
		}
		return syscall.Chmod(to, mode)
	}
	if err := syscall.Chmod(from, mode|0o400); err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	value := make([]byte, 1000)
	if n, err := syscall.Getxattr(from, "user.test", value); err == nil {
		if err := syscall.Setxattr(to, "user.test", value[:n], 0); err != nil {
			return err
		}
	}
	return syscall.Chmod(to, mode)
}
