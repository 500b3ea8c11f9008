package disk

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// Dir is a folder.
type Dir struct{ path string }

// Open opens a folder.
func Open(path string) (*Dir, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotDir}
	}
	return &Dir{path}, nil
}

// OpenPlain opens a folder whose own name is no link.
func OpenPlain(path string) (*Dir, error) {
	return (&Dir{filepath.Dir(path)}).Sub(filepath.Base(path))
}

// Sub opens a folder inside d and follows no link.
func (d *Dir) Sub(name string) (*Dir, error) {
	path := filepath.Join(d.path, name)
	st, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !st.IsDir() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotDir}
	}
	return &Dir{path}, nil
}

// Make makes the folder and its parents and opens it.
func Make(path string) (*Dir, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	return Open(path)
}

// MakeSub makes a folder inside d and opens it.
func (d *Dir) MakeSub(name string) (*Dir, error) {
	if err := os.Mkdir(filepath.Join(d.path, name), 0o755); err != nil && !os.IsExist(err) {
		return nil, err
	}
	return d.Sub(name)
}

// Close lets go of the folder.
func (d *Dir) Close() error { return nil }

// Info says who may change the folder. Windows keeps that in access lists,
// which are not looked at: there is no sandbox there to get out of.
func (d *Dir) Info() (Info, error) { return Info{UID: os.Getuid()}, nil }

// Read returns the content of a regular file in d, of at most limit bytes.
func (d *Dir) Read(name string, limit int) ([]byte, Info, error) {
	path := filepath.Join(d.path, name)
	fail := func(err error) ([]byte, Info, error) {
		return nil, Info{}, &os.PathError{Op: "read", Path: path, Err: err}
	}
	st, err := os.Lstat(path)
	if err != nil {
		return nil, Info{}, err
	}
	if !st.Mode().IsRegular() {
		return fail(ErrNotRegular)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, Info{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err != nil {
		return nil, Info{}, err
	}
	if len(data) > limit {
		return fail(&TooBigError{limit})
	}
	return data, Info{UID: os.Getuid()}, nil
}

// OpenFile opens a regular file in d, with the flags and permissions of
// os.OpenFile.
func (d *Dir) OpenFile(name string, flags int, perm uint32) (*os.File, error) {
	path := filepath.Join(d.path, name)
	if st, err := os.Lstat(path); err == nil && !st.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: path, Err: ErrNotRegular}
	}
	return os.OpenFile(path, flags, os.FileMode(perm))
}

// Names are the entries of d, sorted.
func (d *Dir) Names() ([]string, error) {
	entries, err := os.ReadDir(d.path)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

// Remove takes a file out of d.
func (d *Dir) Remove(name string) error { return os.Remove(filepath.Join(d.path, name)) }

// Replace puts a new file with this content in the place of name.
func (d *Dir) Replace(name string, data []byte, perm uint32) error {
	return d.ReplaceIf(name, data, perm, func() error { return nil })
}

// ReplaceIf is Replace that asks last, with the new content whole on the disk,
// whether the file is still what it is made from. An error leaves it alone.
func (d *Dir) ReplaceIf(name string, data []byte, perm uint32, same func() error) (err error) {
	tmp := filepath.Join(d.path, fresh(name))
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, os.FileMode(perm))
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(tmp)
		}
	}()
	_, err = f.Write(data)
	if e := f.Sync(); err == nil {
		err = e
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = same()
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp, filepath.Join(d.path, name))
}

func fresh(name string) string { return "." + name + ".new" }

// Sweep takes away what a save of the file that was killed left beside it.
func (d *Dir) Sweep(name string) { os.Remove(filepath.Join(d.path, fresh(name))) }

// Lock waits until no other process holds the folder's lock.
func (d *Dir) Lock() (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(d.path, ".lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, new(windows.Overlapped)); err != nil {
		f.Close()
		return nil, &os.PathError{Op: "lock", Path: f.Name(), Err: err}
	}
	return func() { f.Close() }, nil
}
