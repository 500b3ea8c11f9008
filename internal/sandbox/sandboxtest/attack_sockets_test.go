//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// F12, A85: sockets that host programs listen on, wherever they are, cannot
// be connected to; the sandbox's own can.
func TestF12_A85_HostSockets(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		root := filepath.Dir(b.Home)
		paths := []string{
			b.Home + "/top.sock", b.Home + "/.docker/run/docker.sock", b.Home + "/.config/app/s", b.Home + "/src/deep/s",
			b.Home + "/.gnupg/S.gpg-agent", b.Home + "/.cache/tool/s", b.Workspace + "/s", b.Workspace + "/sub/s",
			root + "/docker.sock", "/tmp/bawn-attack-" + filepath.Base(filepath.Dir(root)) + l,
		}
		host := probeOut(t, b)
		for _, s := range paths {
			mkdir(t, filepath.Dir(s))
			os.Remove(s)
			t.Cleanup(func() { os.Remove(s) })
			host.want("ok", "listen", s)
			host.want("ok", "connect", s) // the control
		}
		symlink(t, root+"/docker.sock", b.Workspace+"/link")
		host.flush()
		for _, m := range sandboxed {
			b.Flags = m.flags
			p := probeIn(t, b)
			for _, s := range append(paths, b.Workspace+"/link") {
				p.want("EACCES|ENOENT|ECONNREFUSED", "connect", s)
			}
			p.want("EBUSY|EROFS", "unlink", b.Workspace+"/s")
			p.want("EBUSY|EROFS", "rename", b.Workspace+"/s", b.Workspace+"/s2")
			p.want("EBUSY|EROFS|EXDEV|EPERM|EACCES", "link", b.Workspace+"/s", b.Workspace+"/s3")
			p.want("ok", "listen", "/tmp/own")
			p.want("ok", "connect", "/tmp/own")
			if m.name != "read-only" {
				own := b.Workspace + "/own-" + m.name
				p.want("ok", "listen", own)
				p.want("ok", "connect", own)
			}
			p.end()
		}
	})
}

// F12: a socket is found by every way to write its name, and by a name that is
// relative to the workspace, as servers started in it have.
func TestF12_SocketNames(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		mkdir(t, b.Workspace+"/sub")
		mkdir(t, b.Home+"/src")
		Write(t, b.Workspace+"/file", "")
		names := map[string]string{
			b.Workspace + "//double": b.Workspace + "/double", b.Workspace + "/./dot": b.Workspace + "/dot",
			b.Workspace + "/sub/../up": b.Workspace + "/up", b.Home + "//src/s": b.Home + "/src/s",
			"rel": b.Workspace + "/rel", "./rel2": b.Workspace + "/rel2", "sub/deep": b.Workspace + "/sub/deep",
		}
		host := probeOut(t, b) // in the workspace
		for name, path := range names {
			host.want("ok", "listen", name)
			host.want("ok", "connect", path) // the control
		}
		host.flush()
		for _, m := range sandboxed {
			b.Flags = m.flags
			p := probeIn(t, b)
			for _, path := range names {
				p.want("EACCES|ENOENT|ECONNREFUSED", "connect", path)
			}
			p.want("EBUSY|EROFS", "unlink", b.Workspace+"/rel")
			if m.name != "read-only" {
				p.want("ok", "listen", "own-"+m.name)
				p.want("ok", "connect", "own-"+m.name)
				p.want("ok", "write", b.Workspace+"/file", "x")
			}
			p.end()
		}
	})
}

// F12: the system's sockets live in /run, which is the sandbox's own.
func TestF12_RunSockets(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		run := filepath.Dir(b.Home) + "/run"
		uid := fmt.Sprint(os.Getuid())
		var paths []string
		for _, s := range []string{"/docker.sock", "/dbus/system_bus_socket", "/systemd/resolve/io.systemd.Resolve", "/nscd/socket", "/avahi-daemon/socket", "/user/" + uid + "/bus"} {
			mkdir(t, filepath.Dir(run+s))
			paths = append(paths, "/run"+s)
		}
		paths = append(paths, "/var/run/docker.sock")
		b.Env = []string{"XDG_RUNTIME_DIR=/run/user/" + uid, "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/" + uid + "/bus"}
		host := startProbe(t, b, []string{tool(t, "over"), run, "/run", "--", tool(t, "probe")})
		for _, s := range paths[:6] {
			host.want("ok", "listen", s)
			host.want("ok", "connect", s)
		}
		host.flush()
		p := startProbe(t, b, []string{tool(t, "over"), run, "/run", "--", Binary(), "run", "-q", "--launcher", l, "--", tool(t, "probe")})
		for _, s := range paths {
			p.want("ENOENT|EACCES", "connect", s)
		}
		p.want("ok", "listen", "/run/user/"+uid+"/own")
		p.want("ok", "connect", "/run/user/"+uid+"/own")
		p.end()
		if exists(run + "/user/" + uid + "/own") {
			t.Error("a socket made inside arrived on the host")
		}
	})
}

// A85: a real session bus, at its address and through the environment.
func TestA85_SessionBus(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		sock := filepath.Dir(b.Home) + "/bus"
		Write(t, filepath.Dir(b.Home)+"/bus.conf", `<busconfig><type>session</type><listen>unix:path=`+sock+`</listen>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy></busconfig>`)
		bus := exec.Command("dbus-daemon", "--config-file="+filepath.Dir(b.Home)+"/bus.conf", "--nofork", "--print-address")
		out, err := bus.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := bus.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = bus.Process.Kill(); _ = bus.Wait() })
		if _, err := out.Read(make([]byte, 512)); err != nil { // the address: it listens
			t.Fatal(err)
		}
		b.Env = []string{"DBUS_SESSION_BUS_ADDRESS=unix:path=" + sock}
		send := []string{"dbus-send", "--session", "--print-reply", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.ListNames"}
		ctl := exec.Command(send[0], send[1:]...)
		ctl.Env = b.Environ()
		if text, err := ctl.CombinedOutput(); err != nil || !strings.Contains(string(text), "org.freedesktop.DBus") {
			t.Fatalf("control: %v %s", err, text)
		}
		byAddress := append([]string{"dbus-send", "--bus=unix:path=" + sock}, send[2:]...)
		for _, argv := range [][]string{send, byAddress} {
			if r := b.Run(t, argv...); r.Code == 0 || strings.Contains(r.Stdout, "org.freedesktop") {
				t.Errorf("the bus answered: %+v", r)
			}
		}
	})
}

// A88: the host's ssh-agent, in a folder that stays visible.
func TestA88_SSHAgent(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		sock := filepath.Dir(b.Home) + "/agent.sock"
		agent := exec.Command("ssh-agent", "-D", "-a", sock)
		out, err := agent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := agent.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = agent.Process.Kill(); _ = agent.Wait() })
		if _, err := out.Read(make([]byte, 512)); err != nil {
			t.Fatal(err)
		}
		b.Env = []string{"SSH_AUTH_SOCK=" + sock, "SSH_AGENT_PID=1"}
		ctl := exec.Command("ssh-add", "-l")
		ctl.Env = b.Environ()
		if text, _ := ctl.CombinedOutput(); !strings.Contains(string(text), "no identities") {
			t.Fatalf("control: %s", text)
		}
		r := b.Sh(t, `echo "[$SSH_AUTH_SOCK]"; ssh-add -l; SSH_AUTH_SOCK=`+sock+` ssh-add -l; true`)
		if !strings.Contains(r.Stdout, "[]") || strings.Contains(r.Stdout+r.Stderr, "no identities") {
			t.Errorf("the agent is there: %+v", r)
		}
	})
}

// A90: abstract sockets belong to the network namespace.
func TestA90_AbstractSockets(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		name := fmt.Sprintf("bawn-attack-%d-%s", os.Getpid(), l)
		host := probeOut(t, b)
		host.want("ok", "listenabstract", name)
		host.want("ok", "abstract", name)
		host.flush()
		for _, m := range sandboxed {
			b.Flags = m.flags
			p := probeIn(t, b)
			p.want("ECONNREFUSED", "abstract", name)
			p.want("ok", "listenabstract", name+"-own")
			p.want("ok", "abstract", name+"-own")
			p.end()
		}
	})
}
