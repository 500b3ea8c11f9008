//go:build linux

package guard

import (
	"encoding/gob"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// The model: two boxes, one guarded and one not, carry out the same random
// calls, each in a tree of its own. Every result and the trees must be equal.

// modelOp is one raw system call; strings are written to memory as they are.
type modelOp struct {
	Kind  string
	A, B  string // paths
	D, E  int    // directory descriptors: -1 the current folder, else a slot
	Flags int
	Mode  uint32
	Keep  int // slot for an opened descriptor, -1: close
}

func (o modelOp) String() string {
	return fmt.Sprintf("%s(%d %q, %d %q, flags %#o, mode %#o, keep %d)", o.Kind, o.D, o.A, o.E, o.B, o.Flags, o.Mode, o.Keep)
}

type modelReply struct {
	Results []string
	Tree    []string
}

const (
	modelSlots = 4
	slotBase   = 100
)

func modelAgent() {
	runtime.LockOSThread()
	in, out := gob.NewDecoder(os.Stdin), gob.NewEncoder(os.Stdout)
	for {
		var ops []modelOp
		if err := in.Decode(&ops); err == io.EOF {
			return
		} else {
			must(err)
		}
		unix.Umask(0o022)
		const tree = "/tree"
		must(os.Mkdir(tree, 0o755))
		must(os.Chdir(tree))
		for i := range modelSlots {
			fd, err := unix.Open(".", unix.O_RDONLY|unix.O_DIRECTORY, 0)
			must(err)
			must(unix.Dup3(fd, slotBase+i, 0))
			unix.Close(fd)
		}
		var r modelReply
		for _, o := range ops {
			r.Results = append(r.Results, o.run())
			if tooDeep() {
				break
			}
		}
		for i := range modelSlots {
			unix.Close(slotBase + i)
		}
		must(os.Chmod("/", 0o755)) // a call may have closed it
		must(os.Chdir("/"))
		r.Tree = snapshot()
		empty()
		must(out.Encode(r))
	}
}

// tooDeep reports that the next call could reach below PATH_MAX, where the
// kernel knows no path of a folder and the guard refuses all.
func tooDeep() bool {
	at := func(link string) bool {
		path, err := os.Readlink("/proc/self/" + link)
		return err != nil || len(path) > 2000
	}
	for i := range modelSlots {
		if at("fd/" + strconv.Itoa(slotBase+i)) {
			return true
		}
	}
	return at("cwd")
}

func cstr(s string) uintptr {
	b := append([]byte(s), 0)
	pin.Pin(&b[0])
	return uintptr(unsafe.Pointer(&b[0]))
}

var pin runtime.Pinner

func slot(d int) uintptr {
	switch {
	case d == -1:
		return ^uintptr(99) // AT_FDCWD
	case d < 0:
		return uintptr(d)
	}
	return uintptr(slotBase + d)
}

// run makes the call and describes what came of it.
func (o modelOp) run() string {
	defer pin.Unpin()
	at := func(p string) uintptr {
		if p == "\x00bad" {
			return 8 // no such address
		}
		p = strings.ReplaceAll(p, "$PID", strconv.Itoa(os.Getpid()))
		return cstr(p)
	}
	a, b, d, e, flags, mode := at(o.A), at(o.B), slot(o.D), slot(o.E), uintptr(o.Flags), uintptr(o.Mode)
	var errno syscall.Errno
	var fd uintptr
	do := func(nr uintptr, args ...uintptr) {
		var x [6]uintptr
		copy(x[:], args)
		fd, _, errno = unix.Syscall6(nr, x[0], x[1], x[2], x[3], x[4], x[5])
	}
	switch o.Kind {
	case "openat":
		do(unix.SYS_OPENAT, d, a, flags|unix.O_NONBLOCK, mode)
		if errno == 0 {
			return o.opened(int(fd))
		}
	case "mkdirat":
		do(unix.SYS_MKDIRAT, d, a, mode)
	case "mknodat":
		do(unix.SYS_MKNODAT, d, a, mode, 0)
	case "symlinkat":
		do(unix.SYS_SYMLINKAT, b, d, a)
	case "linkat":
		do(unix.SYS_LINKAT, d, a, e, b, flags)
	case "renameat2":
		do(unix.SYS_RENAMEAT2, d, a, e, b, flags)
	case "renameat":
		do(unix.SYS_RENAMEAT, d, a, e, b)
	case "truncate":
		do(unix.SYS_TRUNCATE, a, mode)
	case "unlinkat":
		do(unix.SYS_UNLINKAT, d, a, flags)
	case "fchmodat":
		// Through /proc/self/fd a device of the host may be meant: /dev/null
		// with another mode breaks every other program.
		var st unix.Stat_t
		_, _, e := unix.Syscall6(unix.SYS_NEWFSTATAT, d, a, uintptr(unsafe.Pointer(&st)), 0, 0, 0)
		if e == 0 && st.Mode&unix.S_IFMT != unix.S_IFREG && st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return "a device"
		}
		// The guard needs /proc, by whatever path.
		var proc unix.Stat_t
		if must(unix.Stat("/proc", &proc)); e == 0 && st.Dev == proc.Dev {
			return "in /proc"
		}
		do(unix.SYS_FCHMODAT, d, a, mode)
	case "chdir":
		do(unix.SYS_CHDIR, a)
	case "umask":
		do(unix.SYS_UMASK, mode)
	default:
		var st unix.Stat_t
		if o.Kind == "creat" && unix.Stat(strings.ReplaceAll(o.A, "$PID", strconv.Itoa(os.Getpid())), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFIFO {
			return "would wait"
		}
		nr, args := oldCall(o.Kind, a, b, flags, mode)
		do(nr, args...)
		if errno == 0 && (o.Kind == "open" || o.Kind == "creat") {
			return o.opened(int(fd))
		}
	}
	return errno.Error()
}

// opened describes a descriptor, writes to it and keeps or closes it.
func (o modelOp) opened(fd int) string {
	var st unix.Stat_t
	must(unix.Fstat(fd, &st))
	fl, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	must(err)
	cloexec, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	must(err)
	text := fmt.Sprintf("open mode %o flags %#o cloexec %d", st.Mode, fl&^unix.O_NOFOLLOW, cloexec)
	if st.Mode&unix.S_IFMT == unix.S_IFREG {
		text += fmt.Sprintf(" links %d size %d", st.Nlink, st.Size)
		n, err := unix.Write(fd, []byte("text"))
		text += fmt.Sprint(" wrote ", n, err)
	}
	if o.Keep >= 0 {
		must(unix.Dup3(fd, slotBase+o.Keep, 0))
	}
	unix.Close(fd)
	return text
}

// walk visits what the calls can have made: all but /proc and /dev.
func walkTree(visit func(p string, dir bool, err error)) {
	must(filepath.WalkDir("/", func(p string, d fs.DirEntry, err error) error {
		if p == "/proc" || p == "/dev" {
			return fs.SkipDir
		}
		visit(p, err == nil && d.IsDir(), err)
		if err != nil && d != nil && d.IsDir() {
			return fs.SkipDir
		}
		return nil
	}))
}

// snapshot describes it.
func snapshot() []string {
	var out []string
	inodes := map[uint64]int{}
	walkTree(func(p string, _ bool, err error) {
		var st unix.Stat_t
		if e := unix.Lstat(p, &st); e != nil {
			out = append(out, fmt.Sprintf("%q %v", p, e))
			return
		}
		id, ok := inodes[st.Ino]
		if !ok {
			id = len(inodes)
			inodes[st.Ino] = id
		}
		line := fmt.Sprintf("%q mode %o links %d #%d owner %d:%d", p, st.Mode, st.Nlink, id, st.Uid, st.Gid)
		switch st.Mode & unix.S_IFMT {
		case unix.S_IFREG:
			b, err := os.ReadFile(p)
			line += fmt.Sprintf(" %q %v", b, err != nil)
		case unix.S_IFLNK:
			s, _ := os.Readlink(p)
			line += " " + strings.ReplaceAll(s, "/"+strconv.Itoa(os.Getpid())+"/", "/$PID/")
		}
		if err != nil {
			line += " unreadable"
		}
		out = append(out, line)
	})
	return out
}

// empty removes it.
func empty() {
	walkTree(func(p string, dir bool, _ error) { // the first walk opens folders for the second
		if dir {
			_ = os.Chmod(p, 0o755)
		}
	})
	entries, err := os.ReadDir("/")
	must(err)
	for _, e := range entries {
		if n := e.Name(); n != "proc" && n != "dev" {
			must(os.RemoveAll("/" + n))
		}
	}
}

// modelNames is small so that calls meet.
var modelNames = []string{
	"a", "b", "c", "d", "\xff\xfe", "vet", ".", "..", strings.Repeat("n", 255), strings.Repeat("n", 256),
}

func drawPath(t *rapid.T, label string) string {
	name := rapid.OneOf(rapid.SampledFrom(modelNames[:5]), rapid.SampledFrom(modelNames))
	n := rapid.SampledFrom([]int{1, 1, 1, 1, 2, 2, 2, 3, 4}).Draw(t, label+" depth")
	var parts []string
	for range n {
		parts = append(parts, name.Draw(t, label))
	}
	p := strings.Join(parts, rapid.SampledFrom([]string{"/", "/", "/", "//", "/./"}).Draw(t, "sep"))
	switch rapid.IntRange(0, 29).Draw(t, label+" form") {
	case 0:
		p = ""
	case 1, 2, 3:
		p += "/"
	case 4:
		p += "//"
	case 5, 6:
		p = "/tree/" + p
	case 7:
		p = "/proc/self/cwd/" + p
	case 8:
		p = "/proc/thread-self/cwd/" + p
	case 9:
		p = "/proc/self/fd/10" + rapid.SampledFrom([]string{"0", "1", "2", "3", "9"}).Draw(t, "fd")
	case 10:
		p = "/dev/fd/100/" + p
	case 11:
		p = "/proc/$PID/root/tree/" + p
	case 12:
		p = rapid.SampledFrom([]string{"/", "//", "/proc/self", "/proc/self/comm", "/proc", "/dev/null", "/dev/tty",
			"/proc/1/cwd/x", "/proc/self/mem",
			"/dev/stdin", "/proc/mounts", "/dev/ptmx", strings.Repeat("x/", 2100), "/no/such"}).Draw(t, "special")
	case 13:
		p = "\x00bad"
	}
	return p
}

func drawOp(t *rapid.T) modelOp {
	o := modelOp{Keep: -1, D: -1, E: -1}
	kinds := []string{
		"openat", "openat", "openat", "openat", "mkdirat", "mkdirat", "mknodat", "symlinkat", "symlinkat", "linkat", "linkat",
		"renameat2", "renameat2", "renameat", "truncate", "unlinkat", "fchmodat", "chdir", "umask",
	}
	kinds = append(kinds, oldNames...)
	o.Kind = rapid.SampledFrom(kinds).Draw(t, "kind")
	o.A = drawPath(t, "a")
	o.B = drawPath(t, "b")
	if rapid.IntRange(0, 3).Draw(t, "at") == 0 {
		o.D = rapid.IntRange(-2, modelSlots).Draw(t, "d")
		o.E = rapid.IntRange(-2, modelSlots).Draw(t, "e")
	}
	o.Mode = rapid.SampledFrom([]uint32{0o644, 0o755, 0o777, 0o2775, 0o1777, 0o4755, 0o700, 0o600, 0o400, 0}).Draw(t, "mode")
	pick := func(from []int, label string) int {
		var f int
		for range rapid.IntRange(0, 3).Draw(t, label+" n") {
			f |= rapid.SampledFrom(from).Draw(t, label)
		}
		return f
	}
	switch o.Kind {
	case "openat", "open":
		o.Flags = rapid.SampledFrom([]int{0, 1, 1, 2, 2, 3}).Draw(t, "access") | pick([]int{
			unix.O_CREAT, unix.O_CREAT, unix.O_CREAT, unix.O_EXCL, unix.O_TRUNC, unix.O_APPEND, unix.O_NOFOLLOW, unix.O_DIRECTORY,
			unix.O_CLOEXEC, unix.O_SYNC, unix.O_NOATIME, unix.O_PATH, unix.O_TMPFILE, unix.O_DIRECT, unix.O_NOCTTY,
		}, "flag")
		if rapid.IntRange(0, 2).Draw(t, "keep") == 0 {
			o.Keep = rapid.IntRange(0, modelSlots-1).Draw(t, "slot")
		}
	case "mknodat", "mknod":
		o.Mode |= rapid.SampledFrom([]uint32{0, unix.S_IFREG, unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFDIR, unix.S_IFCHR, unix.S_IFLNK, 0o170000}).Draw(t, "type")
	case "linkat":
		o.Flags = pick([]int{unix.AT_SYMLINK_FOLLOW, unix.AT_SYMLINK_FOLLOW, unix.AT_SYMLINK_NOFOLLOW}, "flag")
	case "renameat2":
		o.Flags = pick([]int{unix.RENAME_NOREPLACE, unix.RENAME_EXCHANGE, unix.RENAME_EXCHANGE, 8}, "flag")
	case "unlinkat":
		o.Flags = pick([]int{unix.AT_REMOVEDIR}, "flag")
	case "fchmodat":
		if strings.HasPrefix(o.A, "/proc") || strings.HasPrefix(o.A, "/dev") {
			o.A = "a" // the guard needs /proc, and devices are the machine's
		}
	case "umask":
		o.Mode = rapid.SampledFrom([]uint32{0, 0o22, 0o77, 0o27, 0o777}).Draw(t, "mask")
	}
	return o
}

// noName reports that both calls were refused, if for another reason, to make,
// move or remove names in /proc, where there can be none.
func (o modelOp) noName(free, guarded string) bool {
	refused := func(s string) bool { return s == unix.EPERM.Error() || s == unix.EACCES.Error() }
	// To remove one there is refused for what it is, or before that is seen.
	kind := o.Kind == "unlinkat" && (free == unix.ENOTDIR.Error() || free == unix.EISDIR.Error())
	const fds = "/proc/self/fd/"
	return (strings.HasPrefix(o.A, fds) || strings.HasPrefix(o.B, fds)) && (refused(free) || kind) && refused(guarded)
}

// agentPair is a model agent on either side.
type agentPair [2]struct {
	enc *gob.Encoder
	dec *gob.Decoder
}

func startAgents(t testing.TB, uid int) (p agentPair) {
	for i := range p {
		b := box{guarded: i == 1, uid: uid, dir: "/", agent: "model", env: []string{envRoot + "=" + tempDir(t, uid)}}
		cmd := b.cmd()
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stderr = os.Stderr
		null, err := os.OpenFile("/dev/null", os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles = []*os.File{null}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		null.Close()
		t.Cleanup(func() {
			in.Close()
			_ = cmd.Wait()
		})
		p[i].enc, p[i].dec = gob.NewEncoder(in), gob.NewDecoder(out)
	}
	return p
}

func (p agentPair) run(ops []modelOp) (r [2]modelReply, err error) {
	for i := range p {
		if err := p[i].enc.Encode(ops); err != nil {
			return r, err
		}
	}
	for i := range p {
		if err := p[i].dec.Decode(&r[i]); err != nil {
			return r, fmt.Errorf("side %d: %w", i, err)
		}
	}
	return r, nil
}

// TestModel makes -rapid.checks sequences of calls; BAWN_GUARD_MODEL_OPS
// lengthens each (default 60).
func TestModel(t *testing.T) {
	length := 60
	if s := os.Getenv("BAWN_GUARD_MODEL_OPS"); s != "" {
		length, _ = strconv.Atoi(s)
	}
	for _, uid := range uids() {
		t.Run(strconv.Itoa(uid), func(t *testing.T) {
			agents := startAgents(t, uid)
			total := 0
			fine := 0
			rapid.Check(t, func(t *rapid.T) {
				ops := rapid.SliceOfN(rapid.Custom(drawOp), length/2, length).Draw(t, "ops")
				r, err := agents.run(ops)
				if err != nil {
					t.Fatal(err)
				}
				if len(r[0].Results) != len(r[1].Results) {
					t.Fatalf("%d calls, guarded %d", len(r[0].Results), len(r[1].Results))
				}
				for i := range r[0].Results {
					o := ops[i]
					free, guarded := r[0].Results[i], r[1].Results[i]
					if free != guarded && !o.noName(free, guarded) {
						t.Fatalf("call %d %v: %q, guarded %q", i, o, free, guarded)
					}
					if strings.HasPrefix(free, "open ") || free == syscall.Errno(0).Error() {
						fine++
					}
				}
				total += len(r[0].Results)
				if a, b := strings.Join(r[0].Tree, "\n"), strings.Join(r[1].Tree, "\n"); a != b {
					t.Fatalf("trees differ:\n%s\nguarded:\n%s", a, b)
				}
			})
			t.Logf("%d calls, %d succeeded", total, fine)
		})
	}
}
