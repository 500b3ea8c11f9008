//go:build linux

package stage

import (
	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// skeleton starts an empty copy of a folder. Inside another skeleton it is a
// folder of the same tmpfs; else a tmpfs of its own. The owner may make entries
// whatever the host's mode says: the stage has no capability to override modes,
// and the skeleton is read-only once it is filled.
func (b *builder) skeleton(m sandbox.Mount) error {
	mode := m.Mode | unix.S_IWUSR | unix.S_IXUSR
	if up, ok := b.own[policy.Parent(m.Target)]; ok {
		if err := mkdirat(up, base(m.Target), mode); err != nil {
			return err
		}
		fd, err := openPath(up, base(m.Target))
		if err != nil {
			return err
		}
		b.own[m.Target] = fd
		return nil
	}
	fs, err := b.frame.folder(mode)
	if err != nil {
		return err
	}
	defer closeFD(fs)
	if err := b.attach(fs, m.Target, true); err != nil {
		return err
	}
	b.made[m.Target] = true
	fd, err := b.open(m.Target)
	if err != nil {
		return err
	}
	b.own[m.Target] = fd
	return nil
}

// bind shows a tree of the host. A child of a skeleton is cloned from the
// host's folder that the skeleton covers: one name, no link followed.
func (b *builder) bind(i int, m sandbox.Mount) error {
	tree := b.trees[i]
	b.trees[i] = -1
	if tree < 0 {
		old, ok := b.old[policy.Parent(m.Source)]
		if !ok {
			return unix.ENOENT // a source that vanished before it could be taken
		}
		var err error
		tree, err = openTree(old, base(m.Source),
			unix.AT_RECURSIVE|unix.AT_SYMLINK_NOFOLLOW|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return err
		}
	}
	defer closeFD(tree)
	up, inside := b.own[policy.Parent(m.Target)]
	if !inside {
		if err := b.attach(tree, m.Target, m.Dir); err != nil {
			return err
		}
		b.made[m.Target] = false
		return nil
	}
	if err := makeEntry(up, base(m.Target), m.Dir); err != nil {
		return err
	}
	err := moveMount(tree, up, base(m.Target), 0)
	if err != nil {
		// Leave no empty stand-in for what cannot be shown.
		flags := 0
		if m.Dir {
			flags = unix.AT_REMOVEDIR
		}
		_ = unix.Unlinkat(up, base(m.Target), flags)
		return err
	}
	b.made[m.Target] = false
	return b.hold(tree, m.Target)
}

// pin mounts what is at the target now on itself.
func (b *builder) pin(m sandbox.Mount) error {
	at, err := b.shown(m.Target)
	if err != nil || at < 0 {
		return err
	}
	defer closeFD(at)
	tree, err := cloneFD(at, m.Write)
	if err != nil {
		return err
	}
	defer closeFD(tree)
	if err := b.cover(tree, at, m.Target); err != nil {
		return err
	}
	b.content[m.Target] = b.in(m.Target)
	b.made[m.Target] = false
	return nil
}

// seal makes the mount at the target read-only.
func (b *builder) seal(m sandbox.Mount) error {
	at, err := b.open(m.Target)
	if err != nil {
		return err
	}
	defer closeFD(at)
	return mountSetattr(at, "", unix.AT_EMPTY_PATH, unix.MountAttr{Attr_set: attrRO})
}

// shown opens what a pin or mask is for; -1 if nothing of the host's is there.
// In a private copy earlier runs may have put anything in its place, and no
// later run may fail for that: the host's own file shows under no other name,
// since folders of the host cannot be renamed in an overlay without redirects.
func (b *builder) shown(path string) (int, error) {
	in := b.in(path)
	if in == ownContent {
		return -1, nil
	}
	at, err := b.open(path)
	if in == layerContent && (err == unix.ENOENT || err == unix.ENOTDIR || err == unix.ELOOP) {
		return -1, nil
	}
	return at, err
}

// entry makes a folder, file or link in a tmpfs of the sandbox's own.
func (b *builder) entry(m sandbox.Mount) error {
	parent, done, err := b.parent(m.Target)
	if err != nil {
		return err
	}
	defer done()
	name := base(m.Target)
	switch m.Op {
	case sandbox.OpDir:
		return mkdirat(parent, name, m.Mode)
	case sandbox.OpSymlink:
		return symlinkat(m.Data, parent, name)
	}
	if m.Data == "" {
		return mkfile(parent, name, m.Mode)
	}
	return writeFile(parent, name, m.Mode, m.Data)
}

// replace shows a file of the sandbox's own in the place of the host's.
func (b *builder) replace(m sandbox.Mount) error {
	tree, err := b.frame.file(m.Mode, m.Data)
	if err != nil {
		return err
	}
	defer closeFD(tree)
	if err := mountSetattr(tree, "", unix.AT_EMPTY_PATH, unix.MountAttr{Attr_set: attrRO}); err != nil {
		return err
	}
	return b.attach(tree, m.Target, false)
}

// writeFile makes a new file with this content in a folder of ours.
func writeFile(parent int, name string, mode uint32, content string) error {
	fd, err := unix.Openat(parent, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, mode)
	if err != nil {
		return err
	}
	defer closeFD(fd)
	for data := []byte(content); len(data) > 0; {
		n, err := unix.Write(fd, data)
		if err != nil {
			return err
		}
		data = data[n:]
	}
	return nil
}

func (b *builder) parent(path string) (fd int, done func(), err error) {
	dir := policy.Parent(path)
	if up, ok := b.own[dir]; ok {
		return up, func() {}, nil
	}
	if !b.ours(path) {
		return -1, nil, unix.EROFS
	}
	fd, err = b.open(dir)
	return fd, func() { closeFD(fd) }, err
}

// mask covers an existing path with the stub of its kind.
func (b *builder) mask(m sandbox.Mount) error {
	at, err := b.shown(m.Target)
	if err != nil || at < 0 {
		return err
	}
	defer closeFD(at)
	dir := m.Dir
	if b.in(m.Target) == layerContent {
		var st unix.Stat_t
		if err := unix.Fstat(at, &st); err != nil {
			return err
		}
		dir = st.Mode&unix.S_IFMT == unix.S_IFDIR
	}
	name := "f"
	if dir {
		name = "d"
	}
	tree, err := openTree(b.frame.dir, name, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return err
	}
	defer closeFD(tree)
	attr := unix.MountAttr{Attr_set: attrRO | unix.MOUNT_ATTR_NOEXEC}
	if err := mountSetattr(tree, "", unix.AT_EMPTY_PATH, attr); err != nil {
		return err
	}
	return b.cover(tree, at, m.Target)
}

func mountProc() error {
	fs, err := newMount("proc", attrBase|unix.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	defer closeFD(fs)
	at, err := openPath(unix.AT_FDCWD, "/proc")
	if err != nil {
		return err
	}
	defer closeFD(at)
	return moveTo(fs, at)
}

// mountDev covers /dev with the harmless nodes, a devpts of the sandbox's
// own, shared memory, and the links to standard descriptors.
func (b *builder) mountDev() error {
	fs, err := b.frame.folder(0o755)
	if err != nil {
		return err
	}
	defer closeFD(fs)
	at, err := openPath(unix.AT_FDCWD, "/dev")
	if err != nil {
		return err
	}
	defer closeFD(at)
	for _, d := range []string{"pts", "shm"} {
		if err := mkdirat(fs, d, 0o755); err != nil {
			return err
		}
	}
	for _, l := range [...][2]string{
		{"pts/ptmx", "ptmx"}, {"/proc/self/fd", "fd"}, {"/proc/self/fd/0", "stdin"},
		{"/proc/self/fd/1", "stdout"}, {"/proc/self/fd/2", "stderr"}, {"/proc/kcore", "core"},
	} {
		if err := symlinkat(l[0], fs, l[1]); err != nil {
			return err
		}
	}
	for _, d := range devNodes {
		if err := mkfile(fs, d, 0o666); err != nil {
			return err
		}
	}
	if err := moveTo(fs, at); err != nil {
		return err
	}
	dir, err := openPath(unix.AT_FDCWD, "/dev")
	if err != nil {
		return err
	}
	defer closeFD(dir)
	for i, d := range devNodes {
		// Read-only stops no write to the device, but root's chmod of it, which
		// would be the host's.
		attr := unix.MountAttr{
			Attr_set: unix.MOUNT_ATTR_RDONLY | unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NOEXEC, Propagation: unix.MS_PRIVATE,
		}
		if err := mountSetattr(b.dev[i], "", unix.AT_EMPTY_PATH, attr); err != nil {
			return err
		}
		if err := moveMount(b.dev[i], dir, d, 0); err != nil {
			return err
		}
	}
	pts, err := newMount("devpts", unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC, "ptmxmode", "0666", "mode", "620")
	if err != nil {
		return err
	}
	defer closeFD(pts)
	if err := moveMount(pts, dir, "pts", 0); err != nil {
		return err
	}
	shm, err := b.pool.folder(0o1777)
	if err != nil {
		return err
	}
	defer closeFD(shm)
	if err := moveMount(shm, dir, "shm", 0); err != nil {
		return err
	}
	seal := unix.MountAttr{Attr_set: attrRO | unix.MOUNT_ATTR_NOEXEC}
	return mountSetattr(unix.AT_FDCWD, "/dev", 0, seal)
}

// release closes what is still held of the host's trees.
func (b *builder) release() {
	for _, fd := range b.trees {
		if fd >= 0 {
			closeFD(fd)
		}
	}
	for _, fd := range b.old {
		closeFD(fd)
	}
	for _, fd := range b.dev {
		closeFD(fd)
	}
	for _, fd := range b.kept.temp {
		closeFD(fd)
	}
	closeAll(b.kept.layers)
	closeFD(b.pool.dir)
	closeFD(b.frame.dir)
}

// releaseOwn closes what a group's steps hold.
func (b *builder) releaseOwn() {
	for _, fd := range b.own {
		closeFD(fd)
	}
	for _, fd := range b.roots {
		closeFD(fd)
	}
}
