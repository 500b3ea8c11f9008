//go:build unix

package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// locks finds where the guards' lock may lie. A link in its own place is not
// followed: it would be no file that commands cannot reach.
func (in *inspector) locks(paths []string) {
	for _, l := range paths {
		if dir, err := RealPath(filepath.Dir(l)); err == nil {
			in.host.Locks = append(in.host.Locks, filepath.Join(dir, filepath.Base(l)))
		}
	}
}

// system gathers what does not depend on the policy's paths: the kernel's
// folders, /run, the resolver file and the host's sockets.
func (in *inspector) system(dirs []string) {
	for _, d := range []string{"/tmp", "/var/tmp", "/run"} {
		in.kind(d)
	}
	in.host.ResolvConf = in.systemFile("/etc/resolv.conf")
	in.host.HostsFile = in.systemFile("/etc/hosts")
	if name, err := os.Hostname(); err == nil && !strings.ContainsAny(name, " \t\n#") {
		in.host.Hostname = name
	}
	for _, d := range []string{"/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/opengl-driver-32"} {
		switch in.kind(d) {
		case KindLink:
			if l, err := os.Readlink(d); err == nil {
				in.host.Links[d] = l
				in.host.RunBinds = append(in.host.RunBinds, d)
			}
		case KindDir:
			in.host.RunBinds = append(in.host.RunBinds, d)
		}
	}
	in.sockets(dirs)
	in.host.Shut = shutKernelFiles("/proc", os.Getuid(), os.Geteuid())
}

// shutKernelFiles are those of Plan's kernel files that their owner and mode keep
// from the command. It has this process's uid, the only one of its user namespace,
// with no capability and no way to one, so that modes decide: another user's file
// without any bit for group and others is neither opened nor given a mode. The
// sandbox's /proc is another mount of the same entries: a mask that a container
// put over one is none of them.
func shutKernelFiles(proc string, uids ...int) map[string]bool {
	var root unix.Stat_t
	if slices.Contains(uids, 0) || unix.Lstat(proc, &root) != nil {
		return nil
	}
	out := make(map[string]bool, 8)
	for _, f := range slices.Concat(procReadOnly[:], policy.KernelFiles()) {
		var st unix.Stat_t
		if unix.Lstat(proc+strings.TrimPrefix(f, "/proc"), &st) != nil {
			continue
		}
		if st.Uid == 0 && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Mode&0o077 == 0 && st.Dev == root.Dev {
			out[f] = true
		}
	}
	return out
}

// runUser is the runtime folder: it is made only where the system would make it.
func (in *inspector) runUser(c *policy.Config) {
	if dir := "/run/user/" + strconv.Itoa(os.Getuid()); in.getenv("XDG_RUNTIME_DIR") == dir {
		in.host.RunUser, c.RunUser = dir, dir
	}
}

// systemFile is the file that a name in /etc is or leads to: one that exists,
// or one below /run, where the sandbox makes it.
func (in *inspector) systemFile(path string) string {
	switch in.kind(path) {
	case KindFile:
		return path
	case KindLink:
		f, err := RealPath(path)
		if err == nil && f != "/run" && (policy.Inside(f, "/run") || in.kind(f) == KindFile) {
			return f
		}
	}
	return ""
}

// sockets reads the paths of the unix sockets that somebody has bound: a
// read-only bind does not stop a connect (docs/facts.md), so each
// that stays visible is masked. A relative name is looked for where a server
// of the project starts: in the writable folders' tops.
func (in *inspector) sockets(dirs []string) {
	data, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		name := boundName(line)
		switch {
		case name == "" || name[0] == '@' || seen[name]: // unnamed or abstract: another network namespace
			continue
		case name[0] == '/':
			in.socket(name)
		default:
			for _, d := range dirs {
				in.socket(d + "/" + name)
			}
		}
		seen[name] = true
	}
}

// boundName is the name in a line of /proc/net/unix: what follows seven columns
// and a space.
func boundName(line string) string {
	for range 7 {
		line = strings.TrimLeft(line, " ")
		i := strings.IndexByte(line, ' ')
		if i < 0 {
			return ""
		}
		line = line[i:]
	}
	return strings.TrimSuffix(line[1:], "\n")
}

// socket notes the socket that path leads to, which may be written in any way
// ("//", ".."): the kernel keeps the name as its owner gave it.
func (in *inspector) socket(path string) {
	if policy.Inside(path, "/run") || policy.Inside(path, "/var/run") {
		return
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil || policy.Inside(real, "/run") || in.host.Kinds[real] == KindOther && slices.Contains(in.host.Sockets, real) {
		return
	}
	if st, err := os.Lstat(real); err == nil && st.Mode()&os.ModeSocket != 0 && !closedToCommand(real) {
		in.host.Kinds[real] = KindOther
		in.host.Sockets = append(in.host.Sockets, real)
	}
}

// closedToCommand reports whether a folder on the way to path is closed to the
// command although it is open to this process: root's command has none of
// root's privileges, so a private folder of another user keeps it out, and the
// stage, which could not get there either, could not mask anything in it.
func closedToCommand(path string) bool {
	if os.Getuid() != 0 {
		return false // this process would not have found it
	}
	groups, _ := os.Getgroups()
	groups = append(groups, os.Getgid())
	for d := policy.Parent(path); ; d = policy.Parent(d) {
		var st unix.Stat_t
		if unix.Stat(d, &st) != nil {
			return false
		}
		search := uint32(0o001)
		switch {
		case st.Uid == 0:
			search = 0o100
		case slices.Contains(groups, int(st.Gid)):
			search = 0o010
		}
		if uint32(st.Mode)&search == 0 {
			_, err := unix.Getxattr(d, "system.posix_acl_access", nil)
			return err != nil // an access list may open it
		}
		if d == "/" {
			return false
		}
	}
}

// copies makes the versions without credentials of the settings that npm and
// pip tools must be able to read (DECISIONS "Home").
func (in *inspector) copies(homes []string) {
	for _, h := range homes {
		in.copyOf(h+"/.npmrc", cleanNpmrc)
		in.copyOf(h+"/.pypirc", cleanPypirc)
	}
}

func (in *inspector) copyOf(path string, clean func(string) string) {
	if in.kind(path) != KindFile {
		return
	}
	if data, err := readSmall(path); err == nil {
		in.host.Copies[path] = clean(data)
	}
}

// readSmall reads a settings file of at most 64 KiB.
func readSmall(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if st.Size() > 64<<10 {
		return "", os.ErrInvalid
	}
	buf := make([]byte, st.Size())
	n, err := io.ReadFull(f, buf)
	if err != nil && n < len(buf) {
		return "", err
	}
	return string(buf), nil
}
