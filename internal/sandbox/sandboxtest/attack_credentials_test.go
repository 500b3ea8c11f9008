//go:build linux

package sandboxtest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

// plant makes a place as a file, or as a folder with a file "key" in it.
func plant(t *testing.T, path string, asFile bool) {
	t.Helper()
	if !asFile {
		path += "/key"
	}
	Write(t, path, "//r.example/:_authToken=SECRET\n[x]\npassword = SECRET\n")
}

// Every credential place that exists, as a file and as a folder, in every
// tier and mode: neither read nor written, and "permission denied", not "no
// such file". Its sibling is readable, and the open tier reads the secret.
func TestF4_ExistingCredentials(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, kind := range []string{"as-it-is", "swapped"} {
			b := New(t, l)
			places := secretPlaces(b.Home)
			if len(places) < 150 {
				t.Fatalf("only %d places", len(places))
			}
			if kind == "swapped" {
				// A file where the folder of bawn's settings belongs refuses
				// every run (TestC7_UnreadableSettings).
				places = slices.DeleteFunc(places, func(r policy.PathRule) bool { return r.Path == b.Home+"/.config/bawn" })
			}
			for _, r := range places {
				plant(t, r.Path, r.File == (kind == "as-it-is"))
				Write(t, r.Path+"-twin", "TWIN")
			}
			before := listing(t, b.Home)
			for _, m := range sandboxed {
				t.Run(kind+"/"+m.name, func(t *testing.T) {
					b.Flags = m.flags
					p := probeIn(t, b)
					for _, r := range places {
						attackPlace(t, p, b, r, r.File == (kind == "as-it-is"))
					}
					p.end()
				})
			}
			sameListing(t, before, listing(t, b.Home))
		}
	})
}

func attackPlace(t *testing.T, p *prober, b *Box, r policy.PathRule, asFile bool) {
	t.Helper()
	copied := asFile && (r.Path == b.Home+"/.npmrc" || r.Path == b.Home+"/.pypirc")
	if copied { // a copy without the login is there instead
		if text := p.text("read", r.Path); strings.Contains(text, "SECRET") {
			t.Errorf("%s shows %q", r.Path, text)
		}
	} else {
		p.want("EACCES", "read", r.Path)
	}
	if !asFile {
		p.want("EACCES", "list", r.Path)
		p.want("EACCES", "read", r.Path+"/key")
		p.want("EACCES", "stat", r.Path+"/key")
		p.want("EACCES", "write", r.Path+"/key")
		p.want("EACCES", "creat", r.Path+"/new")
		p.want("EACCES", "unlink", r.Path+"/key")
		p.want("EACCES|EXDEV", "rename", r.Path+"/key", b.Workspace+"/got")
		p.want(denied, "rmdir", r.Path)
		p.want("EACCES", "chdir", r.Path)
	}
	p.want("EACCES|EROFS|EISDIR", "write", r.Path)
	p.want(denied, "unlink", r.Path)
	p.want(denied, "chmod", r.Path)
	p.want(denied, "rename", r.Path, r.Path+"-moved")
	p.want(denied, "rename", r.Path, b.Workspace+"/got")
	p.want(denied, "exchange", r.Path, r.Path+"-twin")
	p.want(denied, "link", r.Path, b.Workspace+"/got")
	p.want(denied, "symlink", b.Workspace, r.Path)
	p.want("ok", "read", r.Path+"-twin")
}

// The open tier is the control: the same places are there to be read.
func TestF4_OpenTierReads(t *testing.T) {
	b := New(t, "native")
	b.Flags = []string{"--tier", "open"}
	plant(t, b.Home+"/.ssh", false)
	plant(t, b.Home+"/.netrc", true)
	p := probeIn(t, b)
	p.want("ok", "read", b.Home+"/.ssh/key")
	p.want("ok", "read", b.Home+"/.netrc")
	p.want("ok", "creat", b.Home+"/.ssh/new")
}

// Places that do not exist at the start stay out of sight when the host
// makes them during the run, and cannot be made from inside. Where the host
// makes something harmless, the run sees it: the view is live.
func TestF4_CreatedDuringTheRun(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, c := range []struct {
			parents bool
			mode
		}{{true, sandboxed[0]}, {true, sandboxed[1]}, {false, sandboxed[0]}} {
			t.Run(fmt.Sprintf("parents=%v/%s", c.parents, c.name), func(t *testing.T) {
				b := New(t, l)
				b.Flags = c.flags
				mkdir(t, b.Home+"/docs")
				var places []policy.PathRule
				for _, r := range secretPlaces(b.Home) {
					// Inside writable caches a name is held from the next
					// command on (TestF4_A149_CacheSecretNextRun).
					if c.name == "guarded" && policy.Inside(r.Path, b.Home+"/.cache") {
						continue
					}
					if c.parents {
						Write(t, r.Path+"-twin", "TWIN")
					}
					places = append(places, r)
				}
				p := probeIn(t, b)
				for _, r := range places {
					p.want("ENOENT", "stat", r.Path)
					p.want("EROFS|EACCES|ENOENT", "creat", r.Path)
					p.want("EROFS|EACCES|ENOENT", "mkdir", r.Path)
					p.want("EROFS|EACCES|ENOENT", "symlink", b.Workspace, r.Path)
					p.want("EROFS|EACCES|ENOENT|EXDEV", "rename", b.Workspace, r.Path)
				}
				p.flush()
				for _, r := range places {
					plant(t, r.Path, r.File)
				}
				Write(t, b.Home+"/docs/later", "TWIN")
				Write(t, b.Workspace+"/later", "TWIN")
				for _, r := range places {
					p.want("ENOENT|EACCES", "read", r.Path)
					p.want("ENOENT|EACCES", "read", r.Path+"/key")
					p.want("EROFS|ENOENT|EACCES", "write", r.Path)
					p.want("EROFS|ENOENT|EACCES", "creat", r.Path+"/new")
					p.want("EROFS|ENOENT|EACCES", "unlink", r.Path)
				}
				if got := p.text("read", b.Home+"/docs/later") + p.text("read", b.Workspace+"/later"); got != "TWINTWIN" {
					t.Errorf("the harmless files read %q", got)
				}
			})
		}
	})
}

// A secret made inside a writable cache during a run is hidden from the next
// one on, and a command cannot move it out of the hidden name in between.
func TestF4_A149_CacheSecretNextRun(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		for _, f := range []string{"huggingface/token", "huggingface/stored_tokens", "git/credential/socket", "mozilla/x"} {
			Write(t, b.Home+"/.cache/"+f, "SECRET")
		}
		Write(t, b.Home+"/.cache/huggingface/hub/model", "MODEL")
		Write(t, b.Home+"/.cache/plain/x", "X")
		p := probeIn(t, b)
		cache := b.Home + "/.cache"
		p.want("EACCES", "read", cache+"/huggingface/token")
		p.want("EBUSY|EXDEV", "rename", cache+"/huggingface/token", cache+"/t")
		p.want("EBUSY", "rename", cache+"/huggingface", cache+"/h2")
		p.want("EBUSY", "rename", cache+"/git", cache+"/g2")
		p.want("EBUSY", "rename", cache+"/mozilla", cache+"/m2")
		p.want("EBUSY", "exchange", cache+"/huggingface", cache+"/plain")
		p.want("EBUSY|EROFS", "rename", cache, b.Home+"/c2")
		p.want("EBUSY|EXDEV|EROFS", "rename", cache, b.Workspace+"/c2")
		p.want("EXDEV|EACCES|EPERM|EROFS", "link", cache+"/huggingface/token", cache+"/huggingface/t2")
		// The cache itself works: the allowed twins.
		p.want("ok", "read", cache+"/huggingface/hub/model")
		p.want("ok", "creat", cache+"/huggingface/hub/new")
		p.want("ok", "rename", cache+"/huggingface/hub/new", cache+"/huggingface/new")
		p.want("ok", "rename", cache+"/plain", cache+"/plain2")
		p.end()
		p = probeIn(t, b)
		p.want("EACCES", "read", cache+"/huggingface/token")
		p.want("ENOENT", "read", cache+"/h2/token")
		p.want("ok", "read", cache+"/plain2/x")
	})
}

// The system's own secrets, which root could read.
func TestF4_SystemSecrets(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		p := probeIn(t, b)
		n := 0
		for _, r := range policy.Credentials(nil, func(string) string { return "" }) {
			if !exists(r.Path) {
				continue
			}
			n++
			p.want("EACCES", "read", r.Path)
			p.want("EACCES|EROFS|EISDIR", "write", r.Path)
			p.want(denied, "unlink", r.Path)
			if !r.File {
				p.want("EACCES", "list", r.Path)
				p.want(denied, "creat", r.Path+"/new")
			}
		}
		if n == 0 {
			t.Error("this machine has none of them")
		}
		p.want("ok", "read", "/etc/passwd")
		p.want("ok", "read", "/etc/hosts")
	})
}

// A HOME that is not the password file's: neither home gives up its secrets. Nor
// where that file does not have the user, as with a directory service.
func TestF4_TwoHomes(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, entry := range []bool{true, false} {
			b := New(t, l)
			homes := filepath.Dir(b.Home) + "/homes"
			theirs, onto := homes+"/"+UserName, "/home"
			real := onto + "/" + UserName
			if os.Getuid() == 0 {
				theirs, onto, real = homes, "/root", "/root"
			}
			for _, h := range []string{b.Home, theirs} {
				plant(t, h+"/.ssh", false)
				plant(t, h+"/.netrc", true)
				Write(t, h+"/.cache/x", "X")
				Write(t, h+"/plain", "PLAIN")
			}
			over := []string{tool(t, "over"), homes, onto}
			if !entry {
				passwd := filepath.Dir(b.Home) + "/passwd"
				Write(t, passwd, "nobody:x:65534:65534::/nonexistent:/bin/sh\n")
				over = append(over, passwd, "/etc/passwd")
			}
			p := startProbe(t, b, append(slices.Clip(over), "--", Binary(), "run", "-q", "--launcher", l, "--", tool(t, "probe")))
			for _, h := range []string{b.Home, real} {
				p.want("EACCES", "read", h+"/.netrc")
				p.want("EACCES", "read", h+"/.ssh/key")
				p.want("EROFS|EACCES", "creat", h+"/.bash_profile")
				p.want("ok", "read", h+"/plain")
			}
			p.want("ok", "creat", b.Home+"/.cache/new")
			p.want("EROFS", "creat", real+"/.cache/new")
			p.end()
			// The control: the same, without bawn.
			p = startProbe(t, b, append(slices.Clip(over), "--", tool(t, "probe")))
			p.want("ok", "read", real+"/.ssh/key")
		}
	})
}

// Where variables put .config, .local/share and .cache, their credentials are
// hidden like those of the home's own, also those that the host makes later in
// a folder of the home.
func TestF4_MovedFolders(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		for _, m := range sandboxed {
			t.Run(m.name, func(t *testing.T) {
				b := New(t, l)
				b.Flags = m.flags
				conf, data, cache := b.Home+"/conf", filepath.Dir(b.Home)+"/data", b.Home+"/cache"
				b.Env = []string{"XDG_CONFIG_HOME=" + conf + "//", "XDG_DATA_HOME=" + data, "XDG_CACHE_HOME=" + cache}
				secrets := []string{conf + "/rclone/rclone.conf", conf + "/chromium/Cookies", data + "/gopass/x", cache + "/huggingface/token"}
				for _, f := range secrets {
					Write(t, f, "SECRET")
				}
				Write(t, conf+"/nvim/init.lua", "TWIN")
				Write(t, data+"/nvim/x", "TWIN")
				p := probeIn(t, b)
				for _, f := range secrets {
					p.want("EACCES", "read", f)
					p.want("EACCES", "write", f)
					p.want(denied, "rename", filepath.Dir(f), filepath.Dir(f)+"2")
				}
				p.want("ENOENT", "stat", conf+"/gh")
				p.flush()
				Write(t, conf+"/gh/hosts.yml", "SECRET")
				p.want("ENOENT|EACCES", "read", conf+"/gh/hosts.yml")
				p.want("ok", "read", conf+"/nvim/init.lua")
				p.want("ok", "read", data+"/nvim/x")
				p.end()
			})
		}
	})
}

// A tool's folder that a variable puts into the workspace is no reason to refuse
// it, until a credential lies there.
func TestF6_ToolFoldersInTheWorkspace(t *testing.T) {
	EachLauncher(t, func(t *testing.T, l string) {
		b := New(t, l)
		in := func(name string) string { return b.Workspace + "/." + name }
		b.Env = []string{"CARGO_HOME=" + in("cargo"), "GRADLE_USER_HOME=" + in("gradle"), "HF_HOME=" + in("hf"), "XDG_CACHE_HOME=" + in("cache")}
		for range 2 { // also with what the first run has made
			b.Run(t, "sh", "-c", "mkdir -p .cargo .gradle .hf .cache/go && echo x >.cargo/config.toml && echo x >.gradle/init.gradle").OK(t)
		}
		Write(t, in("cargo")+"/credentials.toml", "SECRET")
		if r := b.Run(t, "true"); r.Code != 125 || !strings.Contains(r.Stderr, "it contains "+in("cargo")+"/credentials.toml") {
			t.Errorf("with a credential: %d %q", r.Code, r.Stderr)
		}
	})
}

// A history that is thrown away hides no device.
func TestF4_HistoryIsNoDevice(t *testing.T) {
	b := New(t, "native")
	b.Env = []string{"HISTFILE=/dev/null"}
	b.Run(t, "sh", "-c", "echo x >/dev/null").OK(t)
	if r := b.Bawn(t, "check", "write", "/dev/null"); r.Code != 0 {
		t.Errorf("check: %d %q", r.Code, r.Stdout)
	}
}
