//go:build linux

package sandboxtest

import "testing"

// No signal from inside ends or stops pid 1, however it is sent, and the
// command's exit code stays its own.
func TestPid1_Signals(t *testing.T) {
	const prog = `
import ctypes, os, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
child = os.fork()
if child == 0:
    while True: signal.pause()
for n in range(1, 65):
    os.kill(1, n)
for n in range(1, 65):
    for code in (-1, -3, -60):
        info = (ctypes.c_int * 32)(n, 0, code)
        libc.syscall(%d, 1, n, info)                 # rt_sigqueueinfo: a forged cause
        libc.syscall(%d, 1, 1, n, info)              # rt_tgsigqueueinfo
    libc.syscall(%d, 1, 1, n)                        # tgkill
# The twin: the same call ends a process of our own.
os.kill(child, 11)
assert os.waitpid(child, 0)[1] & 0x7f == 11
assert os.path.exists("/proc/1/stat")
state = open("/proc/1/stat").read().rsplit(")", 1)[1].split()[0]
print("alive", state in "SR")
sys.exit(42)
`
	numbers := map[string][]any{"x86_64": {129, 297, 234}, "aarch64": {138, 240, 131}}
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		r := b.Run(t, "python3", "-c", sprintf(prog, numbers[machine(t)]...))
		if r.Code != 42 || r.Stdout != "alive True\n" || r.Stderr != "" {
			t.Errorf("exit %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
		}
	})
}

// Orphans are reaped: none stays a zombie.
func TestPid1_ReapsOrphans(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		r := b.Sh(t, `i=0
while [ $i -lt 100 ]; do (true &) ; i=$((i+1)); done
while ps -eo stat | grep -q '^Z'; do sleep 0.01; done
echo reaped; exit 9`)
		if r.Code != 9 || r.Stdout != "reaped\n" || r.Stderr != "" {
			t.Errorf("exit %d, stdout %q, stderr %q", r.Code, r.Stdout, r.Stderr)
		}
	})
}
