package policy

import (
	"strings"
	"unicode/utf8"
)

// Canon is the name under which a file system that ignores case would find
// name: letters folded as ext4 and HFS+ do, what they leave out left out, and
// the other spellings of FAT and NTFS (case A67).
func Canon(name string) string {
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
