//go:build linux

package stage

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// builder puts the file system together in place: the root becomes read-only
// and everything else is mounted over it by descriptor, never by a path that
// is read twice. Nothing is unmounted, so nothing under a mount can return.
type builder struct {
	trees []int           // of each step: clone of the host's tree, made before anything is covered; -1 for none
	old   map[string]int  // skeleton → the host's folder under it
	own   map[string]int  // skeleton → the folder of our tmpfs
	made  map[string]bool // mount points so far → whether the tree is ours to create names in
	// Of OpLayer: what mounts show that are not the host's own content, and
	// why folders have no layer.
	content map[string]content
	plain   map[string]error
	dev     [len(devNodes)]int // clones of the host's device nodes
	pool    pool               // writable folders: temp, shared memory, caches of one run
	frame   pool               // folders that are read-only once filled, and the stubs of masks
	kept    kept
	roots   map[string]int // mount point in the session's temp → the mount there
}

// kept are mounts of the session's own that the keeper has handed over,
// not yet attached.
type kept struct {
	temp   map[string]int // by their place
	layers []int          // by their number
}

var devNodes = [...]string{"null", "zero", "full", "random", "urandom", "tty"}

const (
	attrBase = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
	attrRO   = unix.MOUNT_ATTR_RDONLY | attrBase
)

// RaiseMounts lets a mount namespace hold the kernel's own number of mounts.
const RaiseMounts = "sudo sysctl fs.mount-max=100000"

// stepError names the step that failed, so that the message says what could
// not be protected.
func stepError(m sandbox.Mount, err error) error {
	what := [...]string{
		sandbox.OpTmpfs: "mount a private folder at", sandbox.OpSkeleton: "show a skeleton of", sandbox.OpBind: "bind",
		sandbox.OpPin: "pin", sandbox.OpDir: "make folder", sandbox.OpFile: "make file", sandbox.OpSymlink: "make link",
		sandbox.OpMask: "mask", sandbox.OpSeal: "seal", sandbox.OpProc: "mount", sandbox.OpDev: "mount",
		sandbox.OpReplace: "replace", sandbox.OpLayer: "make a private copy of", sandbox.OpStaged: "stage what is written in",
	}
	if int(m.Op) >= len(what) {
		return fmt.Errorf("unknown step %d for %q", m.Op, m.Target)
	}
	if err == unix.ENOSPC && m.Op != sandbox.OpDir && m.Op != sandbox.OpFile && m.Op != sandbox.OpSymlink && m.Op != sandbox.OpStaged && m.Op != sandbox.OpLayer {
		err = errors.New("a sandbox needs more mounts than the machine allows; raise that: " + RaiseMounts)
	}
	return fmt.Errorf("%s %q: %w", what[m.Op], m.Target, err)
}

// build carries out the steps. Any failure ends the run: a half-made
// boundary is none. While all files of the host are still there, and none is
// writable, it calls visible.
// notes are lines about what could be made only in part.
func build(mounts []sandbox.Mount, kept kept, visible func() error) (notes []byte, err error) {
	umask := unix.Umask(0)
	defer unix.Umask(umask)
	b := builder{
		trees: slices.Repeat([]int{-1}, len(mounts)), old: map[string]int{}, own: map[string]int{}, made: map[string]bool{"/": false},
		content: map[string]content{}, plain: map[string]error{},
		kept: kept, roots: map[string]int{},
	}
	if err := b.collect(mounts); err != nil {
		return nil, err
	}
	// From here on nothing of the host is writable in this namespace, and no
	// mount made outside appears in it.
	all := unix.MountAttr{Attr_set: attrRO, Propagation: unix.MS_PRIVATE}
	if err := mountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, all); err != nil {
		return nil, unavailable(fmt.Errorf("make the root read-only: %w", err))
	}
	if err := visible(); err != nil {
		return nil, err
	}
	if err := b.makePools(); err != nil {
		return nil, unavailable(fmt.Errorf("prepare private folders: %w", err))
	}
	if err := b.build(mounts); err != nil {
		return nil, err
	}
	b.release()
	return layerNotes(b.plain), awaitClocks(mounts)
}

// unavailable marks errors by which the system forbids the mechanism.
func unavailable(err error) error {
	if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EACCES) || errors.Is(err, unix.ENOSYS) {
		return &failure{CodeUnavailable, err}
	}
	return err
}

// vanished reports errors that mean the host's entry is gone or has become
// something else since it was listed. Not showing it is the safe answer; a
// protection may only be left out where nothing is there.
func vanished(op sandbox.Op, err error) bool {
	switch err {
	case unix.ENOENT:
		return true
	case unix.ENOTDIR, unix.EISDIR, unix.ELOOP, unix.EACCES, unix.ESTALE:
		return op != sandbox.OpPin && op != sandbox.OpMask
	}
	return false
}

// collect takes hold of everything of the host that later steps show: the
// steps cover the paths to it.
func (b *builder) collect(mounts []sandbox.Mount) error {
	// First, and beside each other and the rest: the kernel waits for the disk.
	layers, n := make(chan layerMade), 0
	for i, m := range mounts {
		if m.Op == sandbox.OpLayer || m.Op == sandbox.OpStaged && !m.Kept {
			n++
			go func() {
				tree, plain, err := layerTree(m)
				layers <- layerMade{i, tree, plain, err}
			}()
		}
	}
	for i, d := range devNodes {
		fd, err := openTree(unix.AT_FDCWD, "/dev/"+d, unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
		if err != nil {
			return unavailable(fmt.Errorf("take device %s: %w", d, err))
		}
		b.dev[i] = fd
	}
	for i, m := range mounts {
		switch m.Op {
		case sandbox.OpSkeleton:
			fd, err := openDir(m.Target)
			if err != nil {
				return stepError(m, err)
			}
			b.old[m.Target] = fd
		case sandbox.OpBind:
			if _, ok := b.old[policy.Parent(m.Source)]; ok && !m.Write {
				continue // cloned when its skeleton is filled
			}
			tree, err := cloneTree(m)
			if err != nil {
				if m.Try && vanished(m.Op, err) {
					continue
				}
				return stepError(m, err)
			}
			b.trees[i] = tree
		case sandbox.OpStaged:
			if !m.Kept {
				continue
			}
			n, err := strconv.Atoi(base(m.Source))
			if err != nil || n < 0 || n >= len(b.kept.layers) || b.kept.layers[n] < 0 {
				return stepError(m, errors.New("the session has no layer for it"))
			}
			b.trees[i], b.kept.layers[n] = b.kept.layers[n], -1
		}
	}
	for range n {
		l := <-layers
		if l.err != nil {
			return stepError(mounts[l.step], l.err)
		}
		b.trees[l.step] = l.tree
		if m := mounts[l.step]; m.Op == sandbox.OpLayer {
			b.noteLayer(m.Target, l.plain)
		}
	}
	return nil
}

// cloneTree makes a detached copy of the tree at the step's source, with the
// step's access. A link anywhere on the way is an error.
func cloneTree(m sandbox.Mount) (int, error) {
	fd, err := openPath(unix.AT_FDCWD, m.Source)
	if err != nil {
		return -1, err
	}
	defer closeFD(fd)
	return cloneFD(fd, m.Write)
}

func cloneFD(fd int, write bool) (int, error) {
	tree, err := openTree(fd, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE|unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC)
	if err != nil {
		return -1, err
	}
	attr := unix.MountAttr{Attr_set: attrRO, Propagation: unix.MS_PRIVATE}
	if write {
		attr.Attr_set = attrBase
	}
	if err := mountSetattr(tree, "", unix.AT_EMPTY_PATH|unix.AT_RECURSIVE, attr); err != nil {
		closeFD(tree)
		return -1, err
	}
	return tree, nil
}

// openPath opens a path as an object, refusing links on the way.
func openPath(dir int, path string) (int, error) {
	how := unix.OpenHow{
		Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS,
	}
	return openat2(dir, path, &how)
}

func openDir(path string) (int, error) {
	fd, err := openPath(unix.AT_FDCWD, path)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		closeFD(fd)
		return -1, unix.ENOTDIR
	}
	return fd, nil
}

func (b *builder) step(i int, m sandbox.Mount) error {
	switch m.Op {
	case sandbox.OpTmpfs:
		return b.tmpfs(m)
	case sandbox.OpSkeleton:
		return b.skeleton(m)
	case sandbox.OpBind:
		return b.bind(i, m)
	case sandbox.OpStaged:
		return b.bind(i, m)
	case sandbox.OpLayer:
		err := b.bind(i, m)
		b.made[m.Target] = true
		return err
	case sandbox.OpPin:
		return b.pin(m)
	case sandbox.OpDir, sandbox.OpFile, sandbox.OpSymlink:
		return b.entry(m)
	case sandbox.OpMask:
		return b.mask(m)
	case sandbox.OpReplace:
		return b.replace(m)
	case sandbox.OpSeal:
		return b.seal(m)
	case sandbox.OpProc:
		return mountProc()
	case sandbox.OpDev:
		return b.mountDev()
	}
	return unix.EINVAL
}

// attach moves a detached tree onto the object that target is now.
func (b *builder) attach(tree int, target string, dir bool) error {
	at, err := b.target(target, dir)
	if err != nil {
		return err
	}
	defer closeFD(at)
	return b.cover(tree, at, target)
}

// cover moves a detached tree onto the object at, which target led to.
func (b *builder) cover(tree, at int, target string) error {
	if err := moveTo(tree, at); err != nil {
		return err
	}
	return b.hold(tree, target)
}

func moveTo(tree, at int) error {
	return moveMount(tree, at, "", unix.MOVE_MOUNT_T_EMPTY_PATH)
}

// hold keeps hold of a mount in the session's temp: another command may put
// other folders in the place of those above it at any time, and what protects
// names in the mount must not land there.
func (b *builder) hold(tree int, target string) error {
	for temp := range b.kept.temp {
		if target == temp || !policy.Inside(target, temp) {
			continue
		}
		fd, err := unix.FcntlInt(uintptr(tree), unix.F_DUPFD_CLOEXEC, 3)
		if err != nil {
			return err
		}
		if old, ok := b.roots[target]; ok {
			closeFD(old)
		}
		b.roots[target] = fd
	}
	return nil
}

// open opens a path of the sandbox as an object, refusing links on the way,
// from the deepest mount on the way that is held.
func (b *builder) open(path string) (int, error) {
	if len(b.roots) == 0 {
		return openPath(unix.AT_FDCWD, path)
	}
	if root, ok := b.roots[path]; ok {
		return unix.FcntlInt(uintptr(root), unix.F_DUPFD_CLOEXEC, 3)
	}
	for d := policy.Parent(path); d != "/"; d = policy.Parent(d) {
		if root, ok := b.roots[d]; ok {
			return openPath(root, path[len(d)+1:])
		}
	}
	return openPath(unix.AT_FDCWD, path)
}

// target opens a mount point; where it does not exist it is made, but only
// in a tmpfs of the sandbox's own, never in a tree of the host.
func (b *builder) target(path string, dir bool) (int, error) {
	fd, err := b.open(path)
	if err != unix.ENOENT || !b.ours(path) {
		return fd, err
	}
	parent, err := b.target(policy.Parent(path), true)
	if err != nil {
		return -1, err
	}
	defer closeFD(parent)
	if err := makeEntry(parent, base(path), dir); err != nil {
		return -1, err
	}
	return openPath(parent, base(path))
}

// ours reports whether the deepest mount above path is a tmpfs made here.
func (b *builder) ours(path string) bool {
	for d := policy.Parent(path); ; d = policy.Parent(d) {
		if own, ok := b.made[d]; ok {
			return own
		}
		if d == "/" {
			return false
		}
	}
}

func makeEntry(parent int, name string, dir bool) error {
	var err error
	if dir {
		err = mkdirat(parent, name, 0o755)
	} else {
		err = mkfile(parent, name, 0o600)
	}
	if err == unix.EEXIST {
		err = nil
	}
	return err
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

func (b *builder) tmpfs(m sandbox.Mount) error {
	tree, ok := b.kept.temp[m.Target]
	if !ok || !m.Kept {
		var err error
		if tree, err = b.pool.folder(m.Mode); err != nil {
			return err
		}
		defer closeFD(tree)
	}
	if err := b.attach(tree, m.Target, true); err != nil {
		return err
	}
	b.made[m.Target] = true
	return nil
}

// newMount makes a detached file system of a kind, with options in pairs.
func newMount(kind string, attr int, options ...string) (int, error) {
	ctx, err := fsopen(kind)
	if err != nil {
		return -1, err
	}
	defer closeFD(ctx)
	for i := 0; i < len(options); i += 2 {
		if err := fsconfigString(ctx, options[i], options[i+1]); err != nil { // #nosec G602 -- pairs
			return -1, fmt.Errorf("option %s: %w", options[i], err)
		}
	}
	if err := fsconfigCreate(ctx); err != nil {
		return -1, err
	}
	return fsmount(ctx, attr)
}
