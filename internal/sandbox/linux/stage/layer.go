//go:build linux

package stage

import (
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// maxLayers bounds the layers of one folder. Runs at the same time use one
// each, the first that is free; those beyond share the plain folder.
const maxLayers = 8

// layerMark is set on the folder of a layer whose file system was found fit.
const layerMark = "user.bawn.layer"

var errAllTaken = errors.New("as many runs at once as there are layers")

// layerMade is what layerTree returned for a step.
type layerMade struct {
	step, tree int
	plain, err error
}

// layerTree makes what an OpLayer shows, detached, while the host's folder can
// still be reached by its path and that of the layers is not yet read-only.
// plain says why there is no layer, and is nil with one.
func layerTree(m sandbox.Mount) (tree int, plain, err error) {
	if m.Op == sandbox.OpStaged {
		tree, _, err = stagedTree(m) // the lock ends with pid 1
		return tree, nil, err
	}
	lower, plain := openDir(m.Target)
	if plain == nil {
		defer closeFD(lower)
		if tree, plain = layerOver(lower, m.Source); plain == nil {
			return tree, nil, nil
		}
	}
	own, err := openDir(m.Source + "/" + sandbox.OwnFolder)
	if err != nil {
		return -1, plain, err
	}
	defer closeFD(own)
	tree, err = cloneFD(own, true)
	return tree, plain, err
}

func layerOver(lower int, store string) (int, error) {
	dir, err := openDir(store)
	if err != nil {
		return -1, err
	}
	defer closeFD(dir)
	for n := range maxLayers {
		tree, _, err := overlay(lower, dir, strconv.Itoa(n), nil)
		if err != unix.EBUSY {
			return tree, err
		}
	}
	return -1, errAllTaken
}

// overlay mounts the kernel's overlay with the layer of this name, or says
// EBUSY: what two mounts do that write one layer is undefined. lock is open
// and holds the layer for as long as it is. (index=on would make the kernel refuse, but writes
// a line into its log for each mount.) Redirects in what lies below are not
// followed (userxattr). Its end would write all of the disk's dirty files out,
// and wait (volatile: it does not, nor for an fsync in the cache); the mark by
// which the kernel would refuse the layer the next time is removed. root prepares
// the folder that the overlay's own root shows, if it is not nil.
func overlay(lower, store int, name string, root func(upper int) error) (tree, lock int, err error) {
	layer, err := folderIn(store, name)
	if err != nil {
		return -1, -1, err
	}
	defer func() {
		if err != nil {
			closeFD(layer)
		}
	}()
	if err := unix.Flock(layer, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		if err == unix.EWOULDBLOCK {
			err = unix.EBUSY
		}
		return -1, -1, err
	}
	if err := fit(layer); err != nil {
		return -1, -1, err
	}
	upper, err := folderIn(layer, "upper")
	if err != nil {
		return -1, -1, err
	}
	defer closeFD(upper)
	if root != nil {
		if err := root(upper); err != nil {
			return -1, -1, err
		}
	}
	work, err := folderIn(layer, "work")
	if err != nil {
		return -1, -1, err
	}
	defer closeFD(work)
	for _, mark := range [...]string{"work/incompat/volatile/dirty", "work/incompat/volatile", "work/incompat"} {
		err := unix.Unlinkat(work, mark, 0)
		if err == unix.EISDIR {
			err = unix.Unlinkat(work, mark, unix.AT_REMOVEDIR)
		}
		if err != nil && err != unix.ENOENT {
			return -1, -1, err
		}
	}
	ctx, err := fsopen("overlay")
	if err != nil {
		return -1, -1, fmt.Errorf("the kernel's overlay: %w", err)
	}
	defer closeFD(ctx)
	for _, o := range [...][2]string{
		{"lowerdir", fdPath(lower)}, {"upperdir", fdPath(upper)}, {"workdir", fdPath(work)},
	} {
		if err := fsconfigString(ctx, o[0], o[1]); err != nil {
			return -1, -1, fmt.Errorf("the kernel's overlay: option %s: %w", o[0], err)
		}
	}
	for _, flag := range [...]string{"userxattr", "volatile"} {
		if err := fsconfigFlag(ctx, flag); err != nil {
			return -1, -1, fmt.Errorf("the kernel's overlay: option %s: %w", flag, err)
		}
	}
	if err := fsconfigCreate(ctx); err != nil {
		if err == unix.EBUSY {
			return -1, -1, err
		}
		return -1, -1, fmt.Errorf("the kernel's overlay: %w%s", err, said(ctx))
	}
	tree, err = fsmount(ctx, attrBase)
	return tree, layer, err
}

// folderIn opens a folder that may have to be made, by no link.
func folderIn(dir int, name string) (int, error) {
	if err := mkdirat(dir, name, 0o700); err != nil && err != unix.EEXIST {
		return -1, err
	}
	how := unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC,
		Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | unix.RESOLVE_BENEATH,
	}
	return openat2(dir, name, &how)
}

// fit looks once whether the file system can hold a layer. Where it lacks one
// of these the kernel mounts an overlay that loses what is removed.
func fit(layer int) error {
	var b [1]byte
	if n, _ := unix.Fgetxattr(layer, layerMark, b[:]); n == 1 {
		return nil
	}
	buf := make([]byte, 4096)
	n, err := unix.ReadDirent(layer, buf)
	if err != nil {
		return err
	}
	const kind = 18 // offset of d_type in struct linux_dirent64
	if n <= kind || buf[kind] == unix.DT_UNKNOWN {
		return errors.New("the file system of the state folder does not tell the kinds of its files")
	}
	if err := unix.Fsetxattr(layer, layerMark, []byte{'1'}, 0); err != nil {
		return fmt.Errorf("the file system of the state folder: user attributes: %w", err)
	}
	return nil
}

// content says whose files a path shows, as far as layers are concerned.
type content uint8

const (
	hostContent content = iota
	layerContent
	ownContent // nothing of the host's
)

// in finds the deepest mount above path.
func (b *builder) in(path string) content {
	for d := policy.Parent(path); d != "/"; d = policy.Parent(d) {
		if _, ok := b.made[d]; ok {
			return b.content[d]
		}
	}
	return hostContent
}

// noteLayer keeps what a layer's mount shows, and what is to be said of it.
func (b *builder) noteLayer(target string, plain error) {
	b.content[target] = layerContent
	if plain == nil {
		return
	}
	b.content[target] = ownContent
	if plain != unix.ENOENT { // a tool that was never used outside
		b.plain[target] = plain
	}
}

// layerNotes says, in lines, which caches have no layer.
func layerNotes(plain map[string]error) []byte {
	var out []byte
	for target, why := range plain {
		out = fmt.Appendf(out, "private caches: %s begins without the host's content: %v\n", target, why)
	}
	return out
}
