//go:build linux

package guard

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// benched are single trapped calls, each with what undoes it.
var benched = map[string]func(){
	"write-open": func() {
		fd, err := unix.Open("f", unix.O_WRONLY, 0)
		must(err)
		unix.Close(fd)
	},
	"create": func() {
		fd, err := unix.Open("n", unix.O_CREAT|unix.O_WRONLY|unix.O_EXCL, 0o644)
		must(err)
		unix.Close(fd)
		must(unix.Unlink("n"))
	},
	"mkdir": func() {
		must(unix.Mkdir("n", 0o755))
		must(unix.Rmdir("n"))
	},
	"rename": func() { must(unix.Renameat2(unix.AT_FDCWD, "f", unix.AT_FDCWD, "g", unix.RENAME_EXCHANGE)) },
	"read-open": func() {
		fd, err := unix.Open("f", unix.O_RDONLY, 0)
		must(err)
		unix.Close(fd)
	},
}

func benchAgent() {
	runtime.LockOSThread()
	n, err := strconv.Atoi(os.Getenv("N"))
	must(err)
	must(os.WriteFile("f", nil, 0o644))
	must(os.WriteFile("g", nil, 0o644))
	do := benched[os.Getenv("BENCH")]
	for range 20 {
		do()
	}
	start := time.Now()
	for range n {
		do()
	}
	fmt.Println(time.Since(start).Nanoseconds())
}

// serveLeast is the least guard that makes a file itself: it reads the path and
// asks nothing. What it costs is the kernel's part, which no guard can save.
func serveLeast(listener int) {
	var n notification
	path := make([]byte, unix.PathMax)
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), ioctlSetFlags, flagSyncWakeUp)
	for receive(listener, &n) == 0 || !hangup(listener) {
		flags := int(n.data.args[2])
		if n.data.nr != unix.SYS_OPENAT || flags&unix.O_CREAT == 0 {
			respond(listener, n.id, 0, true)
			continue
		}
		m, err := readProcess(int(n.pid), n.data.args[1], path)
		must(err)
		name, _, _ := strings.Cut(string(path[:m]), "\x00")
		fd, err := unix.Openat(unix.AT_FDCWD, name, flags|unix.O_CLOEXEC, uint32(n.data.args[3]))
		must(err)
		respondFD(listener, n.id, fd, flags)
	}
}

// BenchmarkCall reports what one call costs without and with the guard, on
// idle CPUs and on busy ones (one spinning process on each); a create also what
// it costs with the least guard there can be. TMPDIR says on which disk.
func BenchmarkCall(b *testing.B) {
	for _, busy := range []bool{false, true} {
		for _, name := range []string{"read-open", "write-open", "create", "mkdir", "rename"} {
			for _, mode := range []string{"free", "least", "guarded"} {
				if mode == "least" && name != "create" {
					continue
				}
				b.Run(fmt.Sprintf("busy=%v/%s/%s", busy, name, mode), func(b *testing.B) {
					if busy {
						for range runtime.NumCPU() {
							c := exec.Command("/bin/sh", "-c", "while :; do :; done")
							if err := c.Start(); err != nil {
								b.Fatal(err)
							}
							b.Cleanup(func() {
								_ = c.Process.Kill()
								_ = c.Wait()
							})
						}
					}
					r := box{guarded: mode == "guarded", least: mode == "least", uid: os.Getuid(), dir: tempDir(b, os.Getuid()), agent: "bench",
						env: []string{"BENCH=" + name, "N=" + strconv.Itoa(b.N)}}.run(b)
					ns, err := strconv.ParseFloat(strings.TrimSpace(r.out), 64)
					if err != nil {
						b.Fatal(r.out)
					}
					b.ReportMetric(float64(r.cpu.Nanoseconds())/float64(b.N), "cpu-ns/call")
					b.ReportMetric(ns/float64(b.N), "ns/call")
				})
			}
		}
	}
}
