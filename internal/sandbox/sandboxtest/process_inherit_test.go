//go:build linux

package sandboxtest

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func sprintf(format string, a ...any) string { return fmt.Sprintf(format, a...) }

// machine is the kernel's name of the architecture.
func machine(t *testing.T) string {
	t.Helper()
	var u unix.Utsname
	if err := unix.Uname(&u); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimRight(u.Machine[:], "\x00"))
}

// What a process has from its parent, it has inside as well.
func TestInherited(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, text := range []string{
			"umask 0027; %s sh -c 'umask; mkdir -p d; touch f; stat -c %%a d f; rm -r d f'",
			"umask 0; %s sh -c 'umask'",
			"%s sh -c 'ulimit -Sa'",
			"%s sh -c 'ulimit -Ha'",
			"ulimit -Sn 357; ulimit -Hn 2000; %s sh -c 'ulimit -Sn; ulimit -Hn'",
			"ulimit -c 0; ulimit -s 4096; ulimit -t 100; %s sh -c 'ulimit -a'",
			"nice -n 5 true; renice -n 7 $$ >/dev/null; %s nice",
			"%s cat /proc/self/oom_score_adj /proc/self/timerslack_ns",
			"taskset -pc 0 $$ >/dev/null; %s grep Cpus_allowed_list /proc/self/status",
			"%s sh -c 'id -u; id -g; id -un'",
			"%s sh -c 'pwd -P; pwd -L; echo $PWD'",
			"mkdir -p real; ln -sfn real link; cd link; %s sh -c 'pwd -P; pwd -L; echo $PWD; /bin/pwd'",
			"cd link; unset PWD; %s sh -c 'pwd -P'",
			"PWD=/wrong; export PWD; %s sh -c 'pwd -L'",
			"exec -a other true; %s sh -c 'tr \"\\0\" \"\\n\" </proc/$$/cmdline'",
		} {
			outside := b.hostShell(t, fmt.Sprintf(text, "env"))
			inside := b.hostShell(t, fmt.Sprintf(text, "bawn"))
			if inside != outside || inside.Code != 0 {
				t.Errorf("%s\ninside  %+v\noutside %+v", text, inside, outside)
			}
		}
	})
}

// -C sets the folder and PWD, by the name that was given.
func TestWorkingFolder(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		const show = "sh -c 'echo $PWD; pwd -L; pwd -P'"
		ws := b.Workspace
		r := b.hostShell(t, "mkdir -p real/sub; ln -s real link; B='"+Binary()+" run --launcher "+l+"'; "+
			"$B -C real "+show+"; $B --cd=link/sub -- "+show+"; cd link; $B -C sub "+show).OK(t)
		want := []string{
			ws + "/real", ws + "/real", ws + "/real",
			ws + "/link/sub", ws + "/link/sub", ws + "/real/sub",
			ws + "/link/sub", ws + "/link/sub", ws + "/real/sub",
		}
		if got := strings.Split(strings.TrimSpace(r.Stdout), "\n"); strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	})
}

// Arguments pass as bytes.
func TestArguments(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		args := []string{"", "a b", "new\nline", "\xff\xfe\x80", "'\"\\$`*", "\x1b[31m", "--", "-c", "ü", strings.Repeat("x", 120<<10), ""}
		for i := range 5000 {
			args = append(args, fmt.Sprint("n", i))
		}
		r := b.Run(t, append([]string{"python3", "-c", "import os,sys; os.write(1, b'')\nfor a in sys.argv[1:]: sys.stdout.buffer.write(os.fsencode(a)+b'\\0')"}, args...)...).OK(t)
		if r.Stdout != strings.Join(args, "\x00")+"\x00" {
			t.Errorf("%d bytes of arguments came back, or other ones", len(r.Stdout))
		}
		// More than the kernel takes fails before bawn starts, as outside.
		if r := b.Run(t, "cat", "/proc/self/cmdline").OK(t); r.Stdout != "cat\x00/proc/self/cmdline\x00" {
			t.Errorf("argv[0]: %q", r.Stdout)
		}
	})
}

// The environment passes as it is, in its order, but for what the scrub takes
// and bawn adds at the end.
func TestEnvironment(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		b.Env = []string{"Z=1", "A=", "EQ=a=b", "BYTES=\xff\xfe", "LINES2=a\nb", "lower=x", "odd name=1", "1=2", "M.y=1", "_=keep"}
		want := b.Environ()
		// What has no name cannot be judged: it stays outside with the secrets.
		b.Env = append([]string{"GITHUB_TOKEN=not-for-the-command", "no name"}, b.Env...)
		r := b.Run(t, "cat", "/proc/self/environ").OK(t)
		got := strings.Split(strings.TrimSuffix(r.Stdout, "\x00"), "\x00")
		if len(got) < len(want) || strings.Join(got[:len(want)], "\x00") != strings.Join(want, "\x00") {
			t.Errorf("got  %q\nwant %q", got, want)
		}
		for _, e := range got[min(len(want), len(got)):] {
			name, _, _ := strings.Cut(e, "=")
			if !strings.HasPrefix(e, "BAWN_") && !strings.HasSuffix(strings.ToUpper(name), "_PROXY") && e != "NODE_USE_ENV_PROXY=1" {
				t.Errorf("added: %q", e)
			}
		}
		// Of two values of one name the first stays: the scrub and every
		// program read the same one.
		b.Env = nil
		r = b.hostShell(t, `python3 -c 'import ctypes,os,sys
a=[os.fsencode(x) for x in sys.argv[1:]]
A=(ctypes.c_char_p*(len(a)+1))(*a); E=(ctypes.c_char_p*5)(b"PATH=/usr/bin:/bin", b"BAWN_LOG=off", b"X=one", b"X=two")
ctypes.CDLL(None).execve(a[0], A, E)' `+Binary()+" run --launcher "+l+" -- cat /proc/self/environ")
		if !strings.Contains(r.Stdout, "X=one\x00") || strings.Contains(r.Stdout, "X=two") {
			t.Errorf("duplicates: %q %s", r.Stdout, r.Stderr)
		}
	})
}

// Nothing but the three streams is open at the start of the command.
func TestA70_OnlyThreeDescriptors(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		secret := b.Home + "/secret"
		if err := os.WriteFile(secret, []byte("s3cret"), 0o600); err != nil {
			t.Fatal(err)
		}
		r := b.hostShell(t, "exec 5<"+secret+" 63<"+secret+"; env sh -c 'echo /proc/self/fd/*; cat <&5'; bawn sh -c 'echo /proc/self/fd/*; cat <&5'")
		const three = "/proc/self/fd/0 /proc/self/fd/1 /proc/self/fd/2 /proc/self/fd/3\n"
		outside, inside, _ := strings.Cut(r.Stdout, "s3cret")
		if !strings.Contains(outside, "/5 ") || inside != three || r.Code == 0 {
			t.Errorf("outside %q, inside %q, exit %d", outside, inside, r.Code)
		}
	})
}
