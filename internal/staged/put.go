//go:build linux

package staged

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// tempName is the name of the one temporary file that a keep has at a time. No
// sandboxed command may open it, move it or put another in its place
// (policy.KeepPrefix).
func (r *Run) tempName() string { return policy.KeepPrefix + r.ID }

// cleanTemp removes what a keep that was killed left in the workspace.
func (r *Run) cleanTemp() {
	j, err := openJournal(r.dir)
	if err != nil {
		return
	}
	roots := map[int]int{}
	for p := range j.at {
		if p.root < 0 || p.root >= len(r.Roots) {
			continue
		}
		root, ok := roots[p.root]
		if !ok {
			if root, err = r.openRoot(p.root); err != nil {
				root = -1
			}
			roots[p.root] = root
		}
		if root < 0 {
			continue
		}
		if dir, err := openDirIn(root, p.rel); err == nil {
			_ = unix.Unlinkat(dir, r.tempName(), 0)
			unix.Close(dir)
		}
	}
	for _, fd := range roots {
		if fd >= 0 {
			unix.Close(fd)
		}
	}
}

// put gives a name to a new file, link or fifo: made under a temporary name
// beside it, which then takes the name, so that it is the old one or the new
// one at any time.
func (k *keeper) put(c *Change, dir int, name string, now *unix.Stat_t) error {
	parent, _ := split(c.Path)
	updir, err := openDirIn(k.up[c.Root], parent)
	if err != nil {
		return err
	}
	defer unix.Close(updir)
	a := Ask{Op: Put, Dir: dir, Name: name, Stat: c.up, Old: now}
	if isDir(now) {
		a.Old = nil // asked about, and removed, first
	}
	if c.Type == "link" {
		if a.Link, err = readlinkAt(updir, name); err != nil {
			return err
		}
	}
	a.Content = func(limit int64) ([]byte, error) {
		f, err := openFile(updir, name)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, limit+1))
		if err == nil && int64(len(data)) > limit {
			err = errors.New("it is too long to be judged")
		}
		return data, err
	}
	if isDir(now) {
		if _, ok := k.ask(c, Ask{Op: Remove, Dir: dir, Name: name, Old: now}); !ok {
			return nil
		}
	}
	answer, ok := k.ask(c, a) // before a copy is made, which may take its time
	if !ok {
		return nil
	}
	if isDir(now) {
		if err := k.removeTree(dir, name, c.Path, c.Root, k.forced(c)); err != nil {
			k.refuse(c, Refusal{Why: err.Error(), Conflict: true})
			return nil
		}
		now = nil
	}
	tmp := k.r.tempName()
	_ = unix.Unlinkat(dir, tmp, 0)
	err = k.make(c, updir, dir, name, a.Link, answer.Content)
	if err == nil {
		failpoint("temp")
		var end func()
		if end, err = k.turn(dir); err == nil {
			defer end()
		}
	}
	if err == nil {
		// Commands may have been at work meanwhile: what is put is judged where it
		// comes to be.
		vetted := answer.Content != nil
		if answer, ok = k.ask(c, a); !ok {
			_ = unix.Unlinkat(dir, tmp, 0)
			return nil
		}
		if vetted != (answer.Content != nil) { // it may be a second name of another file
			err = &movedError{"its folder became another one while it was kept"}
		} else {
			failpoint("judged")
			err = k.rename(dir, tmp, name, now)
		}
	}
	if err != nil {
		_ = unix.Unlinkat(dir, tmp, 0)
		if moved := (*movedError)(nil); errors.As(err, &moved) {
			k.refuse(c, Refusal{Why: err.Error(), Conflict: true})
			return nil
		}
		return k.failed(c, err)
	}
	failpoint("renamed")
	if c.Type == "file" && c.up.Nlink > 1 {
		k.noteLink(linkKey{c.Root, c.up.Ino}, place{c.Root, c.Path})
	}
	if c.Type == "file" && c.mode&0o7000 != 0 {
		k.out.Rights = append(k.out.Rights, *c)
	}
	k.watch(c, answer)
	k.kept(c)
	return nil
}

// attrError is that the workspace's file system does not take an attribute.
// There is no room for one on a disk that is not full (ENOSPC), so it is about
// this file alone, whatever the kernel says.
type attrError struct {
	key string
	err error
}

func (e *attrError) Error() string { return "its attribute " + e.key + ": " + e.err.Error() }

// movedError says that somebody else was at work in the folder.
type movedError struct{ why string }

func (e *movedError) Error() string { return e.why }

// rename gives the temporary file its name, which has what now is of. Nobody
// can be kept from moving folders meanwhile, so it looks where it was after it
// too, and takes it back.
func (k *keeper) rename(dir int, tmp, name string, now *unix.Stat_t) error {
	if err := k.inPlace(); err != nil {
		return &movedError{"its folder was moved while it was kept: " + err.Error()}
	}
	flags := uint(unix.RENAME_EXCHANGE)
	if now == nil {
		flags = unix.RENAME_NOREPLACE
	}
	switch err := unix.Renameat2(dir, tmp, dir, name, flags); {
	case err == unix.EEXIST && now == nil:
		return &movedError{"made by somebody else while it was kept"}
	case err == unix.ENOENT && now != nil:
		return &movedError{"removed by somebody else while it was kept"}
	case err != nil:
		return err
	}
	failpoint("swapped")
	err := k.inPlace()
	if err != nil {
		err = &movedError{"its folder was moved while it was kept: " + err.Error()}
	}
	if now == nil {
		if err != nil {
			_ = unix.Unlinkat(dir, name, 0)
		}
		return err
	}
	if was, e := lstatAt(dir, tmp); e == nil && !sameObject(was, now) {
		err = &movedError{"changed by somebody else while it was kept"}
	}
	if err != nil {
		_ = unix.Renameat2(dir, tmp, dir, name, flags)
		return err
	}
	return unix.Unlinkat(dir, tmp, 0)
}

// make makes the temporary file, which may be one more name of a file that was
// kept already.
func (k *keeper) make(c *Change, updir, dir int, name, link string, content []byte) error {
	tmp := k.r.tempName()
	switch c.Type {
	case "link":
		if err := unix.Symlinkat(link, dir, tmp); err != nil {
			return err
		}
		return unix.UtimesNanoAt(dir, tmp, []unix.Timespec{c.up.Atim, c.up.Mtim}, unix.AT_SYMLINK_NOFOLLOW)
	case "fifo":
		if err := unix.Mknodat(dir, tmp, unix.S_IFIFO|0o600, 0); err != nil {
			return err
		}
		fd, err := pathAt(dir, tmp)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		_ = unix.Removexattr(fdPath(fd), accessAttr)
		return unix.Chmod(fdPath(fd), keptMode(c))
	}
	if first, ok := k.links[linkKey{c.Root, c.up.Ino}]; ok && c.up.Nlink > 1 && content == nil {
		if k.link(first, dir, tmp, name) == nil {
			return nil
		}
	}
	fd, err := unix.Openat(dir, tmp, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return err
	}
	to := os.NewFile(uintptr(fd), tmp)
	defer to.Close()
	failpoint("made")
	from, err := openFile(updir, name)
	if err != nil {
		return err
	}
	defer from.Close()
	if content != nil {
		_, err = to.Write(content)
	} else {
		err = copySparse(to, from, c.up.Size)
	}
	if err != nil {
		return err
	}
	own := attrs(fdPath(int(from.Fd())))
	if _, ok := own[accessAttr]; !ok { // no list that the folder gives to what is made in it
		_ = unix.Fremovexattr(fd, accessAttr)
	}
	for key, value := range own {
		if err := unix.Fsetxattr(fd, key, []byte(value), 0); err != nil && err != unix.EOPNOTSUPP {
			return &attrError{key, err}
		}
	}
	if err := unix.Fchmod(fd, keptMode(c)); err != nil {
		return err
	}
	return unix.UtimesNanoAt(unix.AT_FDCWD, fdPath(fd), []unix.Timespec{c.up.Atim, c.up.Mtim}, 0)
}

// linked is a name of a file that was kept, and which file that is.
type linked struct {
	place
	dev, ino uint64
}

func (k *keeper) noteLink(key linkKey, p place) {
	parent, name := split(p.rel)
	fd, err := openDirIn(k.ws[p.root], parent)
	if err != nil {
		return // each name gets a file of its own
	}
	defer unix.Close(fd)
	if st, err := lstatAt(fd, name); err == nil && kindOf(st) == unix.S_IFREG {
		k.links[key] = linked{p, st.Dev, st.Ino}
	}
}

// link makes tmp one more name of a file that was kept, if that has its name
// still, and may have a second one, name: it was judged, and what somebody else
// put there was not.
func (k *keeper) link(first linked, dir int, tmp, name string) error {
	parent, old := split(first.rel)
	fd, err := openDirIn(k.ws[first.root], parent)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	end, err := k.turn(dir)
	if err != nil {
		return err
	}
	defer end()
	st, err := lstatAt(fd, old)
	if err != nil {
		return err
	}
	from := From{Dir: fd, DirPath: k.r.PathOf(first.root, parent), Name: old, Stat: st}
	if k.isAt(fd, place{first.root, parent}) != nil || !k.o.Judge.Judge(Ask{Op: Link, Dir: dir, DirPath: k.r.PathOf(k.dir.root, k.dir.rel), Name: name, From: &from}).Allowed {
		return unix.EPERM
	}
	if err := unix.Linkat(fd, old, dir, tmp, 0); err != nil {
		return err
	}
	st, err = lstatAt(dir, tmp)
	if err == nil && (st.Dev != first.dev || st.Ino != first.ino || kindOf(st) != unix.S_IFREG) {
		err = unix.ESTALE
	}
	if err != nil {
		_ = unix.Unlinkat(dir, tmp, 0)
	}
	return err
}

// copySparse copies the data of a file and leaves its holes.
func copySparse(to, from *os.File, size int64) error {
	for at := int64(0); at < size; {
		data, err := unix.Seek(int(from.Fd()), at, unix.SEEK_DATA)
		if err == unix.ENXIO {
			break // a hole to the end
		}
		if err != nil { // a file system without holes
			data = at
		}
		hole, err := unix.Seek(int(from.Fd()), data, unix.SEEK_HOLE)
		if err != nil {
			hole = size
		}
		if _, err := from.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := to.Seek(data, io.SeekStart); err != nil {
			return err
		}
		if _, err := io.Copy(to, io.LimitReader(from, hole-data)); err != nil {
			return err
		}
		at = hole
	}
	return to.Truncate(size)
}

// settle removes from the layers what was kept.
func (k *keeper) settle() error {
	if k.out.Staged == 0 {
		k.out.Done = true
		return k.r.Discard()
	}
	// A folder that hid what was below it hides nothing any more: the rest of
	// it is still staged, and what the workspace gets there is its own.
	for _, c := range k.out.Kept {
		if c.Type == "folder" && (c.Kind == New || c.Kind == Changed) {
			if fd, err := openDirIn(k.up[c.Root], c.Path); err == nil {
				_ = unix.Fremovexattr(fd, opaqueAttr)
				unix.Close(fd)
			}
		}
	}
	failpoint("shown")
	hides := map[place]bool{}
	for i := len(k.out.Kept) - 1; i >= 0; i-- {
		c := &k.out.Kept[i]
		if c.Path == "." || k.hidden(c.Root, c.Path, hides) {
			continue // what is not in such a folder is to be removed: it stays
		}
		parent, name := split(c.Path)
		dir, err := openDirIn(k.up[c.Root], parent)
		if err != nil {
			continue
		}
		flags := 0
		if c.Type == "folder" && c.Kind != Deleted {
			flags = unix.AT_REMOVEDIR // of one that is not empty the rest is still staged
		}
		_ = unix.Unlinkat(dir, name, flags)
		unix.Close(dir)
		failpoint("unlinked")
	}
	failpoint("settled")
	return k.noteKept()
}

// noteKept notes what this keep brought, for the next one: the run may go on in
// a session, and change it again.
func (k *keeper) noteKept() error {
	all := map[place]int64{}
	for _, c := range k.out.Kept {
		if c.Kind == Deleted || c.Path == "." {
			continue
		}
		parent, name := split(c.Path)
		dir, err := openDirIn(k.ws[c.Root], parent)
		if err != nil {
			continue // moved away meanwhile: then it is in the way
		}
		if st, err := lstatAt(dir, name); err == nil && (c.Kind != Mode || k.j.kept[place{c.Root, c.Path}] != 0) {
			all[place{c.Root, c.Path}] = st.Ctim.Nano()
		}
		unix.Close(dir)
	}
	return k.j.keep(all)
}

// hidden reports whether rel or a folder above it hides, in the layer, what the
// workspace has.
func (k *keeper) hidden(root int, rel string, known map[place]bool) bool {
	for at := rel; at != "."; at, _ = split(at) {
		p := place{root, at}
		h, ok := known[p]
		if !ok {
			dir, name := split(at)
			if fd, err := openDirIn(k.up[root], dir); err == nil {
				st, err := lstatAt(fd, name)
				h = err == nil && isDir(st) && opaque(fd, name)
				unix.Close(fd)
			}
			known[p] = h
		}
		if h {
			return true
		}
	}
	return false
}
