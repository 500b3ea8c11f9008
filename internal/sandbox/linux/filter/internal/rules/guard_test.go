package rules

import (
	"strings"
	"testing"
)

// What Guard stops, written a second time, in pairs with what must stay free.
func TestGuardJudges(t *testing.T) {
	const dir, tmpfile = 0o200000, 0o20000000
	stops := map[string]bool{}
	for _, n := range strings.Fields(`creat mkdir mkdirat mknod mknodat symlink symlinkat link linkat rename renameat
		renameat2 truncate`) {
		stops[n] = true
	}
	for _, a := range Arches {
		m := compiled(t, Guard(), a)
		removals := compiled(t, GuardRemovals(), a)
		judge := func(name string, args [6]uint64, want Action) {
			nr, ok := Number(name, a)
			if !ok {
				return
			}
			if got := m.verdict(t, Call{a.Audit, nr, args}); got != want {
				t.Errorf("%s %s(%x): %v, want %v", a.Name, name, args, got, want)
			}
			switch name {
			case "unlink", "unlinkat", "rmdir":
				want = Notify
			}
			if got := removals.verdict(t, Call{a.Audit, nr, args}); got != want {
				t.Errorf("%s %s(%x) with removals: %v, want %v", a.Name, name, args, got, want)
			}
		}
		for _, s := range Syscalls() {
			want := Allow
			switch {
			case stops[s.Name]:
				want = Notify
			case s.Name == "openat2":
				want = Errno(enosys)
			case s.Name == "umask":
				want = Notify
			}
			judge(s.Name, [6]uint64{}, want)
		}
		for flags, want := range map[uint64]Action{
			0: Allow, dir: Allow, 0o2000000: Allow, hi: Allow, 0o2000: Allow,
			1: Notify, 2: Notify, 3: Notify, 0o100: Notify, 0o1000: Notify, hi | 1: Notify,
			0o2000000 | 1: Notify, tmpfile | dir | 2: Notify,
			0o10000000: Allow, 0o10000000 | 2: Allow, 0o10000000 | 0o1101: Allow,
		} {
			judge("open", [6]uint64{1, flags}, want)
			judge("openat", [6]uint64{1, 1, flags}, want)
		}
		judge("ioctl", [6]uint64{3, 0x40086602}, Errno(eopnotsupp))
		judge("ioctl", [6]uint64{3, hi | 0x40086602}, Errno(eopnotsupp))
		judge("ioctl", [6]uint64{3, 0x80086601}, Allow) // FS_IOC_GETFLAGS
		// fork, vfork and posix_spawn; threads of glibc and Go; one of the two alone.
		const fs, thread = 0x200, 0x10000
		for flags, want := range map[uint64]Action{
			17: Allow, 0x4111: Allow, 0x3d0f00: Allow, 0x50f00: Allow, fs | thread | hi: Allow,
			fs: Notify, fs | 17: Notify, thread: Notify, 0x3d0f00 &^ fs: Notify, hi | fs: Notify,
		} {
			judge("clone", [6]uint64{flags}, want)
		}
		for flags, want := range map[uint64]Action{0: Allow, 0x400: Allow, fs: Notify, fs | 0x400: Notify, hi | fs: Notify} {
			judge("unshare", [6]uint64{flags}, want)
		}
	}
}
