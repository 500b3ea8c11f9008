package learn

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"bawn/internal/config"
	"bawn/internal/policy"
	"bawn/internal/session"
)

const home = "/home/u"

// try makes a policy as the program does, but of entries alone.
func try(entries []config.Entry) (policy.Policy, string) {
	data, err := config.AddEntries(nil, entries, "config.toml")
	if err != nil {
		return policy.Policy{}, err.Error()
	}
	c, err := config.ReadAlone(data, "config.toml", home, "/ws")
	if err != nil {
		return policy.Policy{}, err.Error()
	}
	pc := policy.Config{
		Tier: policy.Guarded, Workspace: "/ws", Homes: []string{home}, Guard: true, Network: c.Network(),
		Hidden: policy.Credentials([]string{home}, func(string) string { return "" }), Protected: policy.Protected("/ws"),
	}
	for _, it := range c.Folders() {
		if err := pc.CheckFolder(it.Text); err != nil {
			p, _ := policy.New(pc)
			return p, err.Error()
		}
		pc.AddDirs = append(pc.AddDirs, it.Text)
	}
	p, err := policy.New(pc)
	if err != nil {
		return policy.Policy{}, err.Error()
	}
	return p, ""
}

func facts(denials ...session.Denial) Facts {
	return Facts{
		Denials: denials, Try: try, Path: []string{"/usr/bin", "/opt/tool/bin"},
		Real:  func(p string) (string, error) { return p, nil },
		IsDir: func(p string) bool { return !strings.HasPrefix(p[strings.LastIndexByte(p, '/')+1:], "f") }, // f… are files
	}
}

// write is what the guard tells of a path, decided by the policy without entries.
func write(t testing.TB, path string) session.Denial {
	t.Helper()
	p, _ := try(nil)
	d := p.Decide(policy.Write{Path: path})
	if d.Verdict != policy.Deny {
		t.Fatalf("%s is not denied", path)
	}
	return session.Denial{Path: path, Rule: d.Rule, Count: 1}
}

func connect(t testing.TB, host string, port uint16) session.Denial {
	t.Helper()
	p, _ := try(nil)
	h, err := policy.ParseHost(host)
	if err != nil {
		t.Fatal(err)
	}
	d := p.Network().DecideName(h)
	if port != 0 {
		d = p.Decide(policy.Connect{Host: h, Port: port})
	}
	if d.Verdict == policy.Allow {
		t.Fatalf("%s is allowed", host)
	}
	return session.Denial{Host: h.String(), Port: port, Rule: d.Rule, Count: 1}
}

func keysOf(list []Proposal) (out []string) {
	for _, p := range list {
		mark := ""
		if p.Careful != "" {
			mark = "!"
		}
		out = append(out, strings.TrimPrefix(p.Key, "sandbox.")+" "+p.Value+mark)
	}
	return out
}

// An address that was asked for is told: proposed, with care, or why it never
// is. A name without a dot wants a yes of its own.
func TestProposeAddressesAndBareNames(t *testing.T) {
	for _, tt := range []struct {
		host string
		port uint16
		want []string
		left string
	}{
		{"8.8.8.8", 443, []string{"allowed_domains 8.8.8.8:443!"}, ""},
		{"2001:4860:4860::8888", 443, []string{"allowed_domains [2001:4860:4860::8888]:443!"}, ""},
		{"203.0.113.5", 80, []string{"allowed_domains 203.0.113.5:80!"}, ""},
		{"10.9.8.7", 5432, []string{"allowed_domains 10.9.8.7:5432!"}, ""},
		{"169.254.169.254", 80, nil, "never proposed"},
		{"buildhost", 80, []string{"allowed_domains buildhost:80!"}, ""},
		{"build.example", 80, []string{"allowed_domains build.example:80"}, ""},
	} {
		got, left := Propose(facts(connect(t, tt.host, tt.port)))
		if keys := keysOf(got); !slices.Equal(keys, tt.want) || tt.left != "" && !strings.Contains(fmt.Sprint(left), tt.left) || len(got)+len(left) == 0 {
			t.Errorf("%s: %q, %v", tt.host, keys, left)
		}
	}
}

func TestPropose(t *testing.T) {
	leads := func(to string, r policy.Rule, port uint16) session.Denial {
		return session.Denial{Host: "in.example", Port: port, Rule: policy.Rule{ID: r.ID, Text: "in.example leads to " + to}}
	}
	for _, tt := range []struct {
		name    string
		denials []session.Denial
		want    []string
		left    string // in the reasons
	}{
		{"one folder", []session.Denial{write(t, "/srv/out/f")}, []string{"allowed_paths /srv/out"}, ""},
		{"the folder itself", []session.Denial{write(t, "/srv/out")}, []string{"allowed_paths /srv/out"}, ""},
		{"not made yet", []session.Denial{write(t, "/srv/out/fnew/f")}, []string{"allowed_paths /srv/out"}, ""},
		{"one in another", []session.Denial{write(t, "/srv/out/a/f"), write(t, "/srv/out/f")}, []string{"allowed_paths /srv/out"}, ""},
		{"two beside one another", []session.Denial{write(t, "/srv/x/a/f"), write(t, "/srv/x/b/f")}, []string{"allowed_paths /srv/x/a", "allowed_paths /srv/x/b"}, ""},
		{"three", []session.Denial{write(t, "/srv/x/a/f"), write(t, "/srv/x/b/f"), write(t, "/srv/x/c/f")}, []string{"allowed_paths /srv/x"}, ""},
		{
			"three in a home", []session.Denial{write(t, home+"/a/f"), write(t, home+"/b/f"), write(t, home+"/c/f")},
			[]string{"allowed_paths /home/u/a", "allowed_paths /home/u/b", "allowed_paths /home/u/c"}, "",
		},
		{
			"three below the root", []session.Denial{write(t, "/data/a/f"), write(t, "/data/b/f"), write(t, "/data/c/f")},
			[]string{"allowed_paths /data/a", "allowed_paths /data/b", "allowed_paths /data/c"}, "",
		},
		{"a file of the home", []session.Denial{write(t, home+"/f")}, nil, `if "/home/u/f" is to be a folder, make it`},
		{"a folder of PATH", []session.Denial{write(t, "/opt/tool/bin/f")}, nil, "a folder of your PATH"},
		{"above one of PATH", []session.Denial{write(t, "/opt/tool/f")}, nil, "a folder of your PATH"},
		{"beside one of PATH", []session.Denial{write(t, "/opt/tool/out/f")}, []string{"allowed_paths /opt/tool/out"}, ""},
		{
			"three beside one of PATH", []session.Denial{write(t, "/opt/tool/a/f"), write(t, "/opt/tool/b/f"), write(t, "/opt/tool/c/f")},
			[]string{"allowed_paths /opt/tool/a", "allowed_paths /opt/tool/b", "allowed_paths /opt/tool/c"}, "",
		},
		{"programs of a person", []session.Denial{write(t, home+"/.local/bin/f"), write(t, home+"/bin/f")}, nil, "started from ~/bin"},
		{"what a login starts", []session.Denial{write(t, home+"/.config/autostart/f"), write(t, home+"/.config/systemd/user/f"), write(t, home+"/.config/systemd/f")}, nil, "started from ~/.config/systemd"},
		{"the system's folders", []session.Denial{write(t, "/usr/local/lib/x/f"), write(t, "/etc/cron.d/f")}, nil, "belongs to the system"},
		{"settings in a home", []session.Denial{write(t, home+"/.config/nvim/f")}, []string{"allowed_paths /home/u/.config/nvim!"}, ""},
		{"an agent's settings", []session.Denial{write(t, "/srv/o/.claude/hooks/f"), write(t, home+"/o/.Codex/f")}, nil, "a protected name (agent settings)"},
		{"bawn's settings", []session.Denial{write(t, "/srv/o/.bawn/f")}, nil, "bawn's settings"},
		{"beside them", []session.Denial{write(t, "/srv/o/.claude/other/f"), write(t, "/srv/o/git/hooks/f")}, []string{"allowed_paths /srv/o/.claude/other", "allowed_paths /srv/o/git/hooks"}, ""},
		{"what an editor runs", []session.Denial{write(t, "/srv/o/.vscode/f")}, []string{"allowed_paths /srv/o/.vscode!"}, ""},
		{"a shell's", []session.Denial{write(t, home+"/.config/zsh/f"), write(t, home+"/.config/fish/conf.d/f")}, nil, "outside the sandbox"},
		{"somebody else's home", []session.Denial{write(t, "/home/v/f"), write(t, "/root/.ssh/f"), write(t, "/home/v/bin/f")}, nil, "somebody else"},
		{"a folder of theirs", []session.Denial{write(t, "/home/v/shared/f")}, []string{"allowed_paths /home/v/shared"}, ""},
		{"the root", []session.Denial{write(t, "/f")}, nil, "it holds the home folder"},
		{"the system", []session.Denial{write(t, "/etc/f")}, nil, "shared by the whole system"},
		{"above a credential", []session.Denial{write(t, home+"/.config/f")}, nil, "it contains"},
		{"a credential", []session.Denial{write(t, home+"/.ssh/id"), {Path: home + "/.netrc", Read: true, FromText: true, Rule: write(t, home+"/.netrc").Rule}}, nil, "never proposed"},
		{"bawn's own", []session.Denial{write(t, home+"/.config/bawn/config.toml")}, nil, "never proposed"},
		{"a protected name", []session.Denial{{Path: "/ws/.git/hooks/x", Rule: policy.NameRule("git.hooks", "git hook")}}, nil, `# unprotect = ["git.hooks"]`},
		{"a protected place", []session.Denial{write(t, "/ws/.bashrc")}, nil, `# unprotect = ["/ws/.bashrc"]`},
		{
			"protected by a setting", []session.Denial{{Path: "/ws/d", Rule: policy.SettingRule("/ws/d", policy.ReadOnly, policy.Origin{File: "c.toml", Line: 3}).Rule()}},
			nil, "c.toml:3",
		},
		{"a host", []session.Denial{connect(t, "a.example", 443)}, []string{"allowed_domains a.example:443"}, ""},
		{"a name", []session.Denial{connect(t, "a.example", 0)}, []string{"allowed_domains a.example"}, ""},
		{"a public suffix", []session.Denial{connect(t, "github.io", 443)}, nil, "public suffix"},
		{"a look-alike", []session.Denial{connect(t, "xn--80ak6aa92e.example", 443)}, []string{"allowed_domains xn--80ak6aa92e.example:443!"}, ""},
		{"denied by a person", []session.Denial{{Host: "a.example", Port: 1, Rule: policy.Rule{ID: "answer:no"}}}, nil, "you denied it"},
		{"denied by a rule", []session.Denial{{Host: "a.example", Port: 1, Rule: policy.Rule{ID: "host:deny:a.example", Text: "a rule denies the host", Origin: policy.Origin{File: "c.toml", Line: 3}}}}, nil, "c.toml:3"},
		{"a private address", []session.Denial{connect(t, "10.1.2.3", 80)}, []string{"allowed_domains 10.1.2.3:80!"}, ""},
		{"a private name", []session.Denial{leads("10.1.2.3", connect(t, "10.1.2.3", 80).Rule, 80)}, []string{"allow_private in.example!"}, ""},
		{"loopback", []session.Denial{connect(t, "127.0.0.1", 5432)}, []string{"allowed_local_ports 5432!"}, ""},
		{"metadata", []session.Denial{connect(t, "169.254.169.254", 80)}, nil, "never proposed"},
		{"multicast", []session.Denial{connect(t, "224.0.0.1", 80)}, nil, "multicast"},
		{"an order", []session.Denial{connect(t, "a.example", 1), write(t, "/srv/o/f"), connect(t, "a.example", 1)}, []string{"allowed_paths /srv/o", "allowed_domains a.example:1"}, ""},
	} {
		got, left := Propose(facts(tt.denials...))
		if !slices.Equal(keysOf(got), tt.want) {
			t.Errorf("%s: %q, want %q (left %q)", tt.name, keysOf(got), tt.want, left)
		}
		if said := fmt.Sprintf("%+v", left); !strings.Contains(said, tt.left) || tt.left == "" && left != nil {
			t.Errorf("%s: left out is %s, want %q", tt.name, said, tt.left)
		}
	}
}

func TestAnswersAreProposed(t *testing.T) {
	f := facts()
	h, _ := policy.ParseHost("a.example")
	f.Answered = []policy.Connect{{Host: h, Port: 443}}
	got, left := Propose(f)
	if want := []string{"allowed_domains a.example:443"}; !slices.Equal(keysOf(got), want) || left != nil {
		t.Errorf("%q, %v", keysOf(got), left)
	}
}

func TestBounded(t *testing.T) {
	var all []session.Denial
	for i := range 300 {
		all = append(all, connect(t, fmt.Sprintf("h%d.example", i), 443))
	}
	got, left := Propose(facts(all...))
	if len(got) != maxProposals || len(left) != 1 || !strings.Contains(left[0].What, "236 more") {
		t.Errorf("%d proposals, %v", len(got), left)
	}
}

// Whatever was refused: all proposals together open what each was made for, and
// no credential, protected name or start-up file.
func TestProposalsOpenNoMore(t *testing.T) {
	dirs := []string{"/srv", "/srv/a", "/srv/a/b", "/data", "/data/x", home, home + "/p", home + "/p/q", home + "/.config", home + "/.config/app", home + "/.ssh", "/etc", "/", "/ws/.claude"}
	secrets := []string{home + "/.ssh/id", home + "/.netrc", home + "/.config/gh/hosts.yml", home + "/.config/bawn/config.toml", home + "/.bashrc", "/ws/.bashrc", "/etc/passwd", "/usr/bin/x", "/etc/shadow"}
	base, _ := try(nil)
	rapid.Check(t, func(rt *rapid.T) {
		var all []session.Denial
		for range rapid.IntRange(0, 12).Draw(rt, "n") {
			path := strings.TrimPrefix(rapid.SampledFrom(dirs).Draw(rt, "dir")+"/"+rapid.SampledFrom([]string{"f1", "f2", "d1", "d2"}).Draw(rt, "name"), "/")
			path = "/" + path
			if d := base.Decide(policy.Write{Path: path}); d.Verdict == policy.Deny {
				all = append(all, session.Denial{Path: path, Rule: d.Rule})
			}
		}
		got, _ := Propose(facts(all...))
		var entries []config.Entry
		for _, p := range got {
			entries = append(entries, p.Entry)
		}
		with, why := try(entries)
		if why != "" {
			rt.Fatalf("%q do not hold together: %s", keysOf(got), why)
		}
		for _, p := range got {
			for _, path := range p.For {
				if !allows(with, path) {
					rt.Fatalf("%s stays denied with %q", path, keysOf(got))
				}
			}
		}
		for _, s := range secrets {
			if allows(with, s) {
				rt.Fatalf("%s is open with %q", s, keysOf(got))
			}
		}
	})
}

// What would not help is not proposed.
func TestTriedFirst(t *testing.T) {
	f := facts(connect(t, "a.example", 443), write(t, "/srv/out/f"))
	f.Try = func([]config.Entry) (policy.Policy, string) { return try(nil) }
	if got, left := Propose(f); got != nil || len(left) != 2 || left[0].Why != "the settings that hold would still refuse it" {
		t.Errorf("%q, %v", keysOf(got), left)
	}
}
