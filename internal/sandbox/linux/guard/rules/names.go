//go:build linux

package rules

import (
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// canon is policy.Canon, in short.
func canon(name string) string { return policy.Canon(name) }

// plainName is canon for names that are ordinary words (config, HEAD): where
// the file system tells Config from config, so must this.
func plainName(dir int, name, want string) bool {
	same, known := samePlain(dir, name, want)
	return same || !known
}

// samePlain is plainName for who has to know whether it could be found out.
func samePlain(dir int, name, want string) (same, known bool) {
	if name == want {
		return true, true
	}
	if canon(name) != strings.ToLower(want) {
		return false, true
	}
	return folds(dir)
}

// folds says whether names in dir may match in another spelling, and whether it
// could find out: a command can take the right to read the folder away.
var folds = foldsNames // tests have others: few disks have such folders

func foldsNames(dir int) (yes, known bool) {
	var fs unix.Statfs_t
	if unix.Fstatfs(dir, &fs) != nil {
		return true, false
	}
	switch uint32(fs.Type) {
	case unix.MSDOS_SUPER_MAGIC, unix.EXFAT_SUPER_MAGIC, 0x7366746e /* ntfs3 */, 0x5346544e /* ntfs */, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC,
		unix.V9FS_MAGIC, 0x482b /* hfs+ */, unix.FUSE_SUPER_MAGIC, 0x786f4256 /* vboxsf */, 0x62656572 /* no disk */ :
		return true, true
	}
	fd, err := unix.Openat(dir, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return true, false
	}
	defer unix.Close(fd)
	flags, err := unix.IoctlGetUint32(fd, unix.FS_IOC_GETFLAGS)
	if err != nil { // no such flags, then no such folders
		return false, err == unix.ENOTTY || err == unix.EOPNOTSUPP || err == unix.ENOSYS
	}
	const casefold = 0x40000000
	return flags&casefold != 0, true
}

func elements(path string) []string {
	path = strings.TrimPrefix(path, "/")
	if path == "" {
		return nil
	}
	return strings.Split(path, "/")
}

// has looks at name in dir without following a link. What cannot be looked at
// counts as there, of type 0.
func has(dir int, name string) (uint32, bool) {
	var s unix.Stat_t
	if err := unix.Fstatat(dir, name, &s, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return 0, err != unix.ENOENT && err != unix.ENOTDIR
	}
	return s.Mode & unix.S_IFMT, true
}
