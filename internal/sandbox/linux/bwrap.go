//go:build linux

package linux

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
)

// bwrapPaths are the only places bubblewrap is taken from: one found through
// PATH could be the workspace's own.
var bwrapPaths = [...]string{"/usr/bin/bwrap", "/bin/bwrap"}

// overflowID is how ids without a mapping show (user_namespaces(7)).
const overflowID = 65534

// findBwrap returns the system's bubblewrap, or why there is none to trust.
func findBwrap() (string, error) {
	for _, p := range bwrapPaths {
		var st unix.Stat_t
		if err := unix.Stat(p, &st); err != nil {
			continue
		}
		// In a user namespace root's files belong to the overflow id.
		byRoot := st.Uid == 0 || st.Uid == overflowID
		if st.Mode&unix.S_IFMT != unix.S_IFREG || st.Mode&0o022 != 0 || !byRoot {
			return "", fmt.Errorf("%s is not a program that only root can change", p)
		}
		return p, nil
	}
	return "", fmt.Errorf("not installed (neither %s nor %s)", bwrapPaths[0], bwrapPaths[1])
}

// startBwrap lets bubblewrap build the boundary and run the stage in it. A
// socket that its owner removed between the look and the mount makes
// bubblewrap fail: without that mask it is tried once more.
func startBwrap(spec sandbox.Spec, stdio sandbox.Stdio) (sandbox.Process, error) {
	if err := unstaged(spec.Mounts, "bubblewrap makes no overlay that keeps what is written apart"); err != nil {
		return nil, err
	}
	mounts, plain := plainFolders(spec.Mounts)
	spec.Mounts = showInput(present(mounts), stdio.In)
	p, err := bwrapOnce(spec, stdio, plain)
	if errors.Is(err, sandbox.ErrUnavailable) {
		if now := present(spec.Mounts); len(now) < len(spec.Mounts) {
			spec.Mounts = now
			return bwrapOnce(spec, stdio, plain)
		}
	}
	return p, err
}

func bwrapOnce(spec sandbox.Spec, stdio sandbox.Stdio, plain bool) (sandbox.Process, error) {
	path, err := findBwrap()
	if err != nil {
		return nil, &sandbox.Unavailable{Mechanism: string(Bwrap), Reason: err.Error()}
	}
	if spec.Mounts, err = identify(spec.Mounts); err != nil {
		return nil, err
	}
	data, err := sandbox.MarshalSpec(spec)
	if err != nil {
		return nil, err
	}
	var own []int // descriptors to close once bwrap has them
	defer func() {
		for _, fd := range own {
			unix.Close(fd)
		}
	}()
	keep := func(fd int, err error) (uintptr, error) {
		if err == nil {
			own = append(own, fd)
		}
		return uintptr(fd), err
	}
	null, err := keep(unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0))
	if err != nil {
		return nil, err
	}
	exe, err := keep(unix.Open("/proc/self/exe", unix.O_PATH|unix.O_CLOEXEC, 0))
	if err != nil {
		return nil, unstartable(err)
	}
	out, capture, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer capture.Close()
	files := []uintptr{null, null, capture.Fd(), 0, 0, stdio.In.Fd(), stdio.Out.Fd(), stdio.Err.Fd(), exe}
	if spec.TTY {
		files[stage.StdioFD], files[stage.StdioFD+1], files[stage.StdioFD+2] = null, null, null
	}
	args, data2 := bwrapArgs(spec, firstDataFD)
	argFile, err := keep(specFile([]byte(strings.Join(args, "\x00") + "\x00")))
	if err != nil {
		out.Close()
		return nil, err
	}
	files = append(files, argFile)
	for _, d := range data2 {
		fd, err := keep(specFile([]byte(d)))
		if err == nil {
			_, err = unix.Seek(int(fd), 0, io.SeekStart)
		}
		if err != nil {
			out.Close()
			return nil, err
		}
		files = append(files, fd)
	}
	if _, err := unix.Seek(int(argFile), 0, io.SeekStart); err != nil {
		out.Close()
		return nil, err
	}
	p, err := launch(data, child{
		mechanism: Bwrap,
		path:      path,
		args:      []string{"bwrap", "--args", strconv.Itoa(stage.ExeFD + 1), "--", "/proc/self/fd/" + strconv.Itoa(stage.ExeFD)},
		files:     files,
		// No parent-death signal, and no --die-with-parent: bubblewrap killed
		// between its clone and the go-ahead to its child leaves that child
		// waiting for ever. The stage ends when the control socket closes or
		// bubblewrap does, and bubblewrap with the stage.
		sys: &syscall.SysProcAttr{Setsid: true},
	}, spec.Guard)
	if err != nil {
		out.Close()
		return nil, err
	}
	capture.Close()
	p.stderr, p.local, p.bwrap, p.apart = out, spec.Net.Local, true, true
	if plain {
		p.pending = append(p.pending, sandbox.Event{Kind: sandbox.EventNotice, Reason: bwrapPlain})
	}
	p.endOrphan()
	if err := p.await(Bwrap); err != nil {
		return nil, err
	}
	// The stage tied itself to bubblewrap before it spoke. Killed before that,
	// bubblewrap left it with nobody who would be told of a later end.
	if p.launcherKilled() {
		_ = p.Close()
		return nil, errors.New("bubblewrap was killed while the sandbox started")
	}
	return p, nil
}

// firstDataFD is where bubblewrap finds the first file with content: after the
// stage's descriptors and its own arguments.
const firstDataFD = stage.ExeFD + 2

// ShownBwrapArgs are the arguments that Start gives bubblewrap for a Spec, for
// a person to read.
func ShownBwrapArgs(spec sandbox.Spec) []string {
	mounts, _ := plainFolders(spec.Mounts)
	spec.Mounts = present(mounts)
	args, _ := bwrapArgs(spec, firstDataFD)
	return args
}

// present drops the masks, pins and replacements of names that are not there:
// bubblewrap would try to create them. Try says that nothing needs them then.
func present(mounts []sandbox.Mount) []sandbox.Mount {
	out := make([]sandbox.Mount, 0, len(mounts))
	for _, m := range mounts {
		if m.Try && (m.Op == sandbox.OpMask || m.Op == sandbox.OpPin || m.Op == sandbox.OpReplace) {
			var st unix.Stat_t
			if unix.Lstat(m.Target, &st) == unix.ENOENT {
				continue
			}
		}
		out = append(out, m)
	}
	return out
}

// identify notes which object each bind and pin means: bubblewrap follows
// links, so the stage compares what it finds. A source that has become a link
// is left out or ends the run, as under the native launcher.
func identify(mounts []sandbox.Mount) ([]sandbox.Mount, error) {
	out := make([]sandbox.Mount, 0, len(mounts))
	for _, m := range mounts {
		source := m.Source
		switch {
		case m.Op == sandbox.OpPin:
			source = m.Target
		case m.Op != sandbox.OpBind:
			out = append(out, m)
			continue
		}
		id, err := stage.Identity(source)
		switch {
		case err == unix.ENOSYS: // a filter's answer: this is a sandbox already
			return nil, &sandbox.Unavailable{Mechanism: string(Bwrap), Reason: "openat2: " + err.Error()}
		case err == nil:
			m.Data = id
			out = append(out, m)
		case !m.Try:
			return nil, fmt.Errorf("bind %q: %w", source, err)
		case m.Op == sandbox.OpPin && err != unix.ENOENT:
			return nil, fmt.Errorf("pin %q: %w", source, err)
		}
	}
	return out, nil
}

// endOrphan waits until the stage speaks or bubblewrap ends. Killed between
// its clone and the go-ahead to its child, bubblewrap leaves that child
// waiting for ever with the control socket open; it is in the same group.
func (p *process) endOrphan() {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil {
		return // it is gone already, or an old kernel: await reads on
	}
	defer unix.Close(fd)
	fds := []unix.PollFd{{Fd: int32(p.control), Events: unix.POLLIN}, {Fd: int32(fd), Events: unix.POLLIN}}
	for {
		if _, err := unix.Poll(fds, -1); err != unix.EINTR {
			break
		}
	}
	if fds[0].Revents == 0 && fds[1].Revents != 0 {
		_ = unix.Kill(-p.pid, unix.SIGKILL)
	}
}

// launcherKilled reports whether a signal has ended bubblewrap: at the command's
// end, which may be near already, it exits. It is not reaped.
func (p *process) launcherKilled() bool {
	const killed, dumped = 2, 3 // CLD_KILLED, CLD_DUMPED (siginfo(2))
	for {
		var info unix.Siginfo
		err := unix.Waitid(unix.P_PID, p.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if err != unix.EINTR {
			return err == nil && info.Signo != 0 && (info.Code == killed || info.Code == dumped)
		}
	}
}

// launcherOutput is what bubblewrap said about its failure, on one line.
func (p *process) launcherOutput() string {
	if p.stderr == nil {
		return ""
	}
	b, _ := io.ReadAll(io.LimitReader(p.stderr, 4096))
	line, _, _ := strings.Cut(strings.TrimSpace(string(b)), "\n")
	return strings.TrimPrefix(line, "bwrap: ")
}

// bwrapArgs turns a Spec into bubblewrap's arguments. Files with content are
// passed as descriptors from firstFD on; data holds them in order.
func bwrapArgs(spec sandbox.Spec, firstFD int) (args, data []string) {
	add := func(a ...string) { args = append(args, a...) }
	perms := func(m sandbox.Mount) string { return fmt.Sprintf("%04o", m.Mode) }
	add("--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup-try",
		"--as-pid-1", "--cap-drop", "ALL", "--ro-bind", "/", "/")
	skeleton := map[string]bool{}
	for _, m := range cheapest(spec.Mounts) {
		switch m.Op {
		case sandbox.OpTmpfs:
			add("--perms", perms(m), "--tmpfs", m.Target)
		case sandbox.OpSkeleton:
			kind := "--tmpfs"
			if skeleton[policy.Parent(m.Target)] {
				kind = "--dir"
			}
			skeleton[m.Target] = true
			add("--perms", perms(m), kind, m.Target)
		case sandbox.OpBind, sandbox.OpPin:
			opt, source := "--ro-bind", m.Source
			if m.Op == sandbox.OpPin {
				source = m.Target
			}
			if m.Write {
				opt = "--bind"
			}
			if m.Try {
				opt += "-try"
			}
			add(opt, source, m.Target)
		case sandbox.OpDir:
			add("--perms", perms(m), "--dir", m.Target)
		case sandbox.OpFile:
			add("--perms", perms(m), "--file", strconv.Itoa(firstFD+len(data)), m.Target)
			data = append(data, m.Data)
		case sandbox.OpReplace:
			add("--perms", perms(m), "--ro-bind-data", strconv.Itoa(firstFD+len(data)), m.Target)
			data = append(data, m.Data)
		case sandbox.OpSymlink:
			add("--symlink", m.Data, m.Target)
		case sandbox.OpMask:
			switch {
			case m.Dir:
				add("--perms", "0000", "--tmpfs", m.Target, "--remount-ro", m.Target)
			case m.Try:
				// bubblewrap mounts it without devices, so an open fails.
				add("--ro-bind-try", os.DevNull, m.Target)
			default:
				add("--ro-bind", os.DevNull, m.Target)
			}
		case sandbox.OpSeal:
			add("--remount-ro", m.Target)
		case sandbox.OpProc:
			add("--proc", m.Target)
		case sandbox.OpDev:
			add("--dev", m.Target, "--perms", "1777", "--tmpfs", m.Target+"/shm", "--remount-ro", m.Target)
		}
	}
	return append(args, "--chdir", spec.Dir), data
}

// cheapest puts the steps in the order in which bubblewrap reads the least: it
// reads the list of all mounts at each bind and each remount, so those come first
// that read most for what they add to it. Steps below one folder of the root stay
// as they are, and none of them shows in those below another.
func cheapest(mounts []sandbox.Mount) []sandbox.Mount {
	type group struct {
		top          string
		steps        []sandbox.Mount
		reads, lines int
	}
	var groups []*group
	at := map[string]*group{}
	for _, m := range mounts {
		top, _, _ := strings.Cut(m.Target[1:], "/")
		if top == "" {
			return mounts
		}
		g := at[top]
		if g == nil {
			g = &group{top: top}
			at[top], groups = g, append(groups, g)
		}
		reads, lines := 1, 1
		switch m.Op {
		case sandbox.OpTmpfs, sandbox.OpProc:
			reads = 0
		case sandbox.OpSkeleton, sandbox.OpDir, sandbox.OpFile, sandbox.OpSymlink:
			reads, lines = 0, 0 // of skeletons the outermost is a mount
		case sandbox.OpSeal:
			lines = 0
		case sandbox.OpDev:
			reads, lines = 7, 9 // its nodes are binds
		}
		g.steps, g.reads, g.lines = append(g.steps, m), g.reads+reads, g.lines+lines
	}
	slices.SortStableFunc(groups, func(a, b *group) int { return b.reads*a.lines - a.reads*b.lines })
	out := make([]sandbox.Mount, 0, len(mounts))
	for _, g := range groups {
		out = append(out, g.steps...)
	}
	return out
}
