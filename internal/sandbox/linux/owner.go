//go:build linux

package linux

import (
	"io"
	"net/netip"
	"os"
	"strconv"
	"strings"

	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/guard"
)

// maxOwners bounds how many processes of a sandbox are looked at.
const maxOwners = 4096

// Owner implements sandbox.Process: it finds the socket with this local
// address in the sandbox's network namespace, and the process that holds it.
func (p *process) Owner(peer netip.AddrPort) (pid int, command string) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.reaped {
		return 0, ""
	}
	inside := p.pid
	if p.kept != 0 {
		inside = pidOf(p.kept)
	}
	root := "/proc/" + strconv.Itoa(inside)
	if c := children(p.pid); p.bwrap && len(c) > 0 {
		inside = c[0] // bubblewrap itself stays outside
		root = "/proc/" + strconv.Itoa(inside)
	}
	inode := ""
	for _, f := range []string{"/net/tcp", "/net/tcp6"} {
		table, err := os.ReadFile(root + f)
		if err != nil {
			continue
		}
		if inode = socketInode(string(table), peer); inode != "" {
			break
		}
	}
	if inode == "" {
		return 0, ""
	}
	want := "socket:[" + inode + "]"
	queue := []int{inside}
	for n := 0; n < len(queue) && n < maxOwners; n++ {
		queue = append(queue, children(queue[n])...)
		dir := "/proc/" + strconv.Itoa(queue[n])
		fds, err := os.ReadDir(dir + "/fd")
		if err != nil {
			continue // gone, or not dumpable
		}
		for _, fd := range fds {
			if l, err := os.Readlink(dir + "/fd/" + fd.Name()); err == nil && l == want {
				return queue[n], name(dir)
			}
		}
	}
	return 0, ""
}

// name is what the process with this folder in /proc is called.
func name(dir string) string {
	comm, _ := os.ReadFile(dir + "/comm")
	exe, _ := os.Readlink(dir + "/exe")
	var line []byte
	if f, err := os.Open(dir + "/cmdline"); err == nil {
		line, _ = io.ReadAll(io.LimitReader(f, 4096))
		f.Close()
	}
	return guard.FullName(strings.TrimSuffix(string(comm), "\n"), exe, line)
}

// children are the processes that pid started and has not waited for.
func children(pid int) (out []int) {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	tasks, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	for _, t := range tasks {
		list, err := os.ReadFile(dir + "/" + t.Name() + "/children")
		if err != nil {
			continue
		}
		for _, f := range strings.Fields(string(list)) {
			if n, err := strconv.Atoi(f); err == nil {
				out = append(out, n)
			}
		}
	}
	return out
}

// socketInode finds a local address in a table of /proc/net (proc(5)).
func socketInode(table string, peer netip.AddrPort) string {
	for line := range strings.Lines(table) {
		f := strings.Fields(line)
		if len(f) < 10 {
			continue
		}
		if a, ok := sandbox.SocketAddr(f[1]); ok && a == peer && f[9] != "0" {
			return f[9]
		}
	}
	return ""
}
