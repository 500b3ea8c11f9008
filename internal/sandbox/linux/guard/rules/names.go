//go:build linux

package rules

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// canon is the name under which a file system that ignores case would find
// name: letters folded as ext4 and HFS+ do, what they leave out left out, and
// the other spellings of FAT and NTFS (case A67).
func canon(name string) string {
	plain := true
	for i := 0; i < len(name); i++ {
		if c := name[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' || c == ':' || c == '~' {
			plain = false
			break
		}
	}
	if !plain {
		var b strings.Builder
		for _, c := range name {
			switch {
			case c == ':': // an NTFS stream of the file
				if b.Len() > 0 {
					name = b.String()
					goto cut
				}
				b.WriteByte(':')
			case 'A' <= c && c <= 'Z':
				b.WriteByte(byte(c) | 0x20)
			case c < utf8.RuneSelf:
				b.WriteByte(byte(c))
			case ignorable(c):
			case c == 0x17f: // ſ
				b.WriteByte('s')
			case c == 0x212a: // Kelvin
				b.WriteByte('k')
			case 0xfb00 <= c && c <= 0xfb06:
				b.WriteString([...]string{"ff", "fi", "fl", "ffi", "ffl", "st", "st"}[c-0xfb00])
			default:
				b.WriteRune(c)
			}
		}
		name = b.String()
	}
cut:
	if n := len(name); n > 0 && (name[n-1] == '.' || name[n-1] == ' ') {
		if short := strings.TrimRight(name, ". "); short != "" {
			name = short
		}
	}
	if len(name) == 5 && strings.HasPrefix(name, "git~") && '1' <= name[4] && name[4] <= '4' {
		return ".git"
	}
	return name
}

// ignorable: code points that Unicode case folding leaves out of names.
func ignorable(c rune) bool {
	switch {
	case c == 0xad, c == 0x34f, c == 0x61c, c == 0x115f, c == 0x1160, c == 0x17b4, c == 0x17b5, c == 0x3164, c == 0xfeff, c == 0xffa0,
		0x180b <= c && c <= 0x180f, 0x200b <= c && c <= 0x200f, 0x202a <= c && c <= 0x202e, 0x2060 <= c && c <= 0x206f,
		0xfe00 <= c && c <= 0xfe0f, 0xfff0 <= c && c <= 0xfff8, 0x1bca0 <= c && c <= 0x1bca3, 0x1d173 <= c && c <= 0x1d17a,
		0xe0000 <= c && c <= 0xe0fff:
		return true
	}
	return false
}

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
