package seatbelt

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

var update = flag.Bool("update", false, "write the golden profiles")

func TestGolden(t *testing.T) {
	machines := map[string]func() *machine{
		"guarded":  func() *machine { return newMachine(policy.Guarded) },
		"airlock":  func() *machine { return newMachine(policy.Airlock) },
		"readonly": func() *machine { m := newMachine(policy.Guarded); m.config.Mode = policy.ReadOnlyMode; return m },
		"hosttemp": func() *machine { m := newMachine(policy.Guarded); m.config.Temp = policy.HostTemp; return m },
		"install":  installing,
	}
	for name, make := range machines {
		// Few names of each table, so that a person can read the whole.
		m := make()
		m.config.Hidden = slices.DeleteFunc(m.config.Hidden, func(r policy.PathRule) bool {
			return !slices.Contains([]string{home + "/.ssh", home + "/.netrc", home + "/Library/Keychains", home + "/.cache/huggingface/token"}, r.Path)
		})
		m.config.Caches = slices.DeleteFunc(m.config.Caches, func(r policy.PathRule) bool {
			return !slices.Contains([]string{home + "/.cache", home + "/.npm", home + "/go/pkg/mod"}, r.Path)
		})
		m.config.Protected = slices.DeleteFunc(m.config.Protected, func(r policy.PathRule) bool {
			return !strings.Contains(r.Path, "/.git/") && r.Path != ws+"/.bashrc" && r.Path != ws+"/.claude/settings.json"
		})
		text, path := m.text(t), "testdata/"+name+".sb"
		if *update {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if text != string(want) {
			t.Errorf("%s is not what the program writes now; go test -update writes it", path)
		}
	}
}

// F1, T1: what a tier writes.
func TestF1_WritablePlaces(t *testing.T) {
	for tier, caches := range map[policy.Tier]bool{policy.Guarded: true, policy.Airlock: false} {
		b := newMachine(tier).box(t)
		check(t, []pair{
			{"workspace", b.write(ws + "/a/b.go"), true},
			{"a folder in it", b.mkdir(ws + "/a"), true},
			{"remove", b.remove(ws + "/a/b.go"), true},
			{"home", b.write(home + "/x"), false},
			{"beside the workspace", b.write(ws + "2/x"), false},
			{"another project", b.write(home + "/other/x"), false},
			{"system", b.write("/usr/local/bin/x"), false},
			{"shared temp", b.write("/private/tmp/x"), false},
			{"the user's temp", b.write(temp + "/x"), false},
			{"its own temp", b.write(own + "/T/x"), true},
			{"the profile", b.change(temp + "/bawn-profile-1/p.sb"), false},
			{"cache", b.write(home + "/Library/Caches/go-build/ab"), caches},
			{"npm", b.write(home + "/.npm/_cacache/x"), caches},
			{"a cache that is not there", b.mkdir(home + "/.npm"), caches},
			{"modules", b.write(home + "/go/pkg/mod/cache/download/x"), caches},
			{"the module cache moved", b.move(home+"/go/pkg/mod", ws+"/mod", folder), false},
			{"device", b.change("/dev/null"), true},
			{"its own descriptors", b.change("/dev/fd/1"), true},
			{"a disk", b.read("/dev/rdisk0"), false},
		})
	}
}

func TestT7_ReadOnlyWritesNothing(t *testing.T) {
	m := newMachine(policy.Guarded)
	m.config.Mode = policy.ReadOnlyMode
	b := m.box(t)
	check(t, []pair{
		{"workspace", b.write(ws + "/x"), false}, {"remove", b.remove(ws + "/x"), false},
		{"cache", b.write(home + "/.npm/x"), false}, {"temp", b.write(own + "/x"), true}, {"read", b.read(ws + "/x"), true},
	})
}

// F4: credentials are neither read nor written; the rest is readable.
func TestF4_A149_Credentials(t *testing.T) {
	b := newMachine(policy.Guarded).box(t)
	for _, r := range newMachine(policy.Guarded).config.Hidden {
		if b.read(r.Path) || b.read(r.Path+"/x") || b.write(r.Path) || b.write(r.Path+"/x") || b.remove(r.Path) || b.link(r.Path, ws+"/y") {
			t.Errorf("%s can be read, written, removed or linked", r.Path)
		}
		if b.move(r.Path, ws+"/secret", folder) {
			t.Errorf("%s can be moved", r.Path)
		}
	}
	check(t, []pair{
		{"that it exists may be seen", b.stat(home + "/.ssh"), true},
		{"what it holds may not", b.stat(home + "/.ssh/id_ed25519"), false},
		{"the second name of the disk", b.read("/System/Volumes/Data/Users/dev/.ssh/id_ed25519"), false},
		{"the Hugging Face token in a cache", b.read(home + "/.cache/huggingface/token"), false},
		{"in another case", b.read(home + "/.cache/HuggingFace/Token"), false},
		{"moved within the cache", b.move(home+"/.cache/huggingface", home+"/.cache/h", folder), false},
		{"its neighbour", b.read(home + "/.cache/huggingface/hub/x"), true},
		{"home", b.read(home + "/notes.txt"), true},
		{"system", b.read("/private/etc/hosts"), true},
	})
}

// What is hidden is so under the second name that the disk has, wherever it lies.
func TestF4_SecondName(t *testing.T) {
	m := newMachine(policy.Guarded)
	for _, path := range []string{"/private/var/root/.ssh", "/opt/keys"} {
		m.config.Hidden = append(m.config.Hidden, policy.SettingRule(path, policy.Hidden, policy.Origin{}))
	}
	b := m.box(t)
	check(t, []pair{
		{"root's keys", b.read("/System/Volumes/Data/private/var/root/.ssh/id"), false},
		{"another place", b.read("/System/Volumes/Data/opt/keys/a"), false},
		{"the system's keychain", b.read("/System/Volumes/Data/Library/Keychains/System.keychain"), false},
		{"its neighbour", b.read("/System/Volumes/Data/opt/x"), true},
	})
}

// A run neither reads nor writes what another run is made of, whatever makes
// the place around it writable: a profile that is changed before it is applied
// would hold nothing.
func TestOtherRuns(t *testing.T) {
	const cache = "/private/var/folders/ab/xyz/C"
	m := newMachine(policy.Guarded)
	m.config.Temp = policy.HostTemp
	p, err := policy.New(m.config)
	if err != nil {
		t.Fatal(err)
	}
	text, err := Profile(p, m.host, Run{Hide: temp + "/bawn-profile-1"}) // as the backend has it then
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parseProfile(text)
	if err != nil {
		t.Fatal(err)
	}
	for what, b := range map[string]box{"tmp = host": {t, parsed}, "its own": newMachine(policy.Guarded).box(t)} {
		for _, path := range []string{temp + "/bawn-profile-2/profile.sb", temp + "/bawn-run-2/x", temp + "/BAWN-Profile-2/profile.sb", cache + "/bawn-run-2/x"} {
			if b.read(path) || b.change(path) || b.write(path) || b.remove(path) || b.link(path, temp+"/x") || b.move(policy.Parent(path), temp+"/x", folder) {
				t.Errorf("%s: %s can be read or changed", what, path)
			}
		}
		if what == "tmp = host" && (!b.write(temp+"/x") || !b.write(cache+"/x") || !b.read(temp+"/bawn-doctor-2/x")) {
			t.Errorf("%s: too much is refused", what)
		}
		if what != "tmp = host" && (!b.write(own+"/x") || !b.read(own+"/x")) {
			t.Errorf("%s: its own folder is closed", what)
		}
	}
}

// A142: no folder above a hidden or protected place is moved.
func TestA142_MovedParents(t *testing.T) {
	m := newMachine(policy.Guarded)
	m.config.Hidden = append(m.config.Hidden, policy.SettingRule(ws+"/conf/prod/keys", policy.Hidden, policy.Origin{}))
	b := m.box(t)
	check(t, []pair{
		{"~/.ssh", b.move(home+"/.ssh", ws+"/s", folder), false},
		{"the home", b.move(home, ws+"/h", folder), false},
		{"a hidden folder", b.move(ws+"/conf/prod/keys", ws+"/k", folder), false},
		{"the one above it", b.move(ws+"/conf/prod", ws+"/p", folder), false},
		{"in another case", b.move(ws+"/CONF/Prod", ws+"/p", folder), false},
		{"the one above that", b.move(ws+"/conf", ws+"/c", folder), false},
		{"the workspace", b.move(ws, own+"/w", folder), false},
		{"another folder", b.move(ws+"/confs", ws+"/c", folder), true},
		{"a file beside", b.move(ws+"/conf/x", ws+"/y", file), true},
	})
}

// F2, A53, A67, A149: git's control names, wherever they are, in any case.
func TestF2_A53_A67_A149_GitNames(t *testing.T) {
	b := newMachine(policy.Guarded).box(t)
	for _, root := range []string{ws, ws + "/deep/er", own + "/clone", home + "/.cache/x", ws + "/line\nend"} {
		for _, git := range []string{".git", ".GIT", ".gIt"} {
			for _, name := range []string{"hooks/pre-commit", "hooks", "HOOKS/x", "hoo\u212as/x", "config", "Config", "con\ufb01g", "config.lock", "config.worktree", "commondir", "gitdir", "config.worktree.lock"} {
				path := root + "/" + git + "/" + name
				if b.write(path) || b.change(path) || b.symlink(path) || b.mkdir(path) || b.remove(path) {
					t.Errorf("%q can be written or removed", path)
				}
				if b.move(ws+"/x", path, file) || b.move(path, ws+"/x", file) || b.link(ws+"/x", path) || b.link(path, ws+"/x") {
					t.Errorf("%q can be moved or linked", path)
				}
			}
			if at := root + "/" + git; b.mkdir(at) || b.symlink(at) || b.write(at) || b.move(ws+"/d", at, folder) || b.move(at, ws+"/d", folder) || b.remove(at) {
				t.Errorf("%q can be made or moved", at)
			}
		}
		for _, head := range []string{"HEAD", "head"} {
			if b.write(root+"/"+head) || b.symlink(root+"/"+head) || b.link(ws+"/x", root+"/"+head) || b.move(ws+"/x", root+"/"+head, file) {
				t.Errorf("%s in %s would make a bare repository", head, root)
			}
		}
		if !b.mkdir(root+"/Head") || !b.write(root+"/Head/index.tsx") || !b.write(root+"/HEADER") || !b.write(root+"/config") {
			t.Errorf("ordinary names in %s are closed", root)
		}
	}
	check(t, []pair{
		{"a module that is not there", b.mkdir(ws + "/.git/modules/evil"), false},
		{"one of a repository that nobody knows", b.mkdir(ws + "/nested/.git/modules/evil"), false},
		{"in another case", b.mkdir(ws + "/nested/.git/MODULES/evil"), false},
		{"its working trees", b.mkdir(ws + "/nested/.git/worktrees/evil"), false},
		{"moved there", b.move(ws+"/x", ws+"/.git/modules/evil", folder), false},
		{"a known module moved away", b.move(ws+"/.git/modules/sub", ws+"/m", folder), false},
		{"its config", b.write(ws + "/.git/modules/sub/config"), false},
		{"modules inside it", b.mkdir(ws + "/.git/modules/sub/modules/x"), false},
		{"a known working tree's gitdir", b.change(ws + "/.git/worktrees/wt/gitdir"), false},
		{"another's", b.mkdir(ws + "/.git/worktrees/new"), false},
		{"a name that HFS+ takes for .git", b.mkdir(ws + "/.g\u200cit"), false},
		{"and for hooks", b.write(ws + "/.git/ho\ufeffoks"), false},
	})
}

// What git does in ordinary work.
func TestF2_GitWorks(t *testing.T) {
	b := newMachine(policy.Guarded).box(t)
	var pairs []pair
	for _, git := range []string{ws + "/.git", ws + "/.git/modules/sub", ws + "/.git/worktrees/wt", ws + "/nested/.git"} {
		for _, name := range []string{"index.lock", "HEAD.lock", "COMMIT_EDITMSG", "objects/ab/cdef", "refs/heads/main.lock", "refs/heads/config", "refs/remotes/origin/HEAD", "logs/HEAD", "packed-refs.lock", "ORIG_HEAD", "info/exclude"} {
			pairs = append(pairs, pair{git + "/" + name, b.write(git + "/" + name), true})
		}
		pairs = append(pairs,
			pair{"index in " + git, b.move(git+"/index.lock", git+"/index", file), true},
			pair{"HEAD in " + git, b.move(git+"/HEAD.lock", git+"/HEAD", file), true},
			pair{"objects in " + git, b.mkdir(git + "/objects/ab"), true},
			pair{"a branch's folder in " + git, b.mkdir(git + "/refs/heads/hooks"), true},
			pair{"stash in " + git, b.write(git + "/refs/stash"), true},
			pair{"packs in " + git, b.link(git+"/objects/pack/tmp_x", git+"/objects/pack/x.pack"), true},
		)
	}
	// Package tools keep repositories in their caches.
	for _, store := range []string{home + "/.cargo/git/db/x-1", home + "/go/pkg/mod/cache/vcs/ab12", home + "/.cache/uv/git-v0/db/x"} {
		pairs = append(pairs,
			pair{"HEAD in " + store, b.write(store + "/HEAD"), true},
			pair{"config in " + store, b.write(store + "/.git/config"), true},
			pair{"it moved out", b.move(store, ws+"/x", folder), false},
			pair{"its file moved out", b.move(store+"/.git/hooks/x", ws+"/.git/hooks/x", file), false},
			pair{"the folder above moved", b.move(policy.Parent(store), ws+"/x", folder), false},
			pair{"made", b.mkdir(store), true},
		)
	}
	pairs = append(pairs, pair{"above the store", b.move(home+"/go/pkg/mod/cache", ws+"/x", folder), false},
		pair{"above the store, made", b.mkdir(home + "/go/pkg/mod/cache"), true})
	check(t, pairs)
}

// F2: settings of agents and shells at the root, existing or not.
func TestF2_ProtectedNames(t *testing.T) {
	b := newMachine(policy.Guarded).box(t)
	for _, n := range policy.ProtectedNames() {
		for _, name := range []string{n.Path, strings.ToUpper(n.Path)} {
			path := ws + "/" + name
			if b.write(path) || b.write(path+"/x") || b.symlink(path) || b.mkdir(path) || b.move(ws+"/x", path, folder) || b.remove(path) || b.link(path, ws+"/y") {
				t.Errorf("%s can be written, moved, removed or linked", path)
			}
			if !b.read(path) {
				t.Errorf("%s cannot be read", path)
			}
		}
		if dir := policy.Parent(ws + "/" + n.Path); dir != ws && (b.move(ws+"/x", dir, folder) || b.move(dir, ws+"/x", folder)) {
			t.Errorf("%s can be moved", dir)
		}
	}
	check(t, []pair{
		{"a neighbour", b.write(ws + "/.claude/notes.md"), true}, {"deeper", b.write(ws + "/sub/.bashrc"), true},
		{"a longer name", b.write(ws + "/.bashrc.bak"), true}, {"own settings", b.write(ws + "/.bawn/config.toml"), false},
	})
}

// Lifts open what they name and nothing else.
func TestF2_Lifts(t *testing.T) {
	for _, c := range []struct {
		lifted []string
		open   []string
		paths  map[string]bool
	}{
		{[]string{"git.hooks"}, nil, map[string]bool{"/n/.git/hooks/x": true, "/n/.git/config": false, "/n/.git": false}},
		{[]string{"git.config"}, nil, map[string]bool{"/n/.git/config": true, "/n/.git/hooks/x": false, "/n/.git/commondir": false}},
		{[]string{"git.pointer"}, nil, map[string]bool{"/n/.git/commondir": true, "/n/.git/config": false, "/n/.git": false}},
		{[]string{"git.layout", "git.pointer"}, nil, map[string]bool{"/n/.git": true, "/n/HEAD": true, "/n/.git/hooks": false}},
		{nil, []string{ws + "/n"}, map[string]bool{"/n/.git": true, "/n/.git/hooks/x": true, "/n/HEAD": true, "/m/.git": false, "/m/HEAD": false}},
	} {
		m := newMachine(policy.Guarded)
		m.config.Lifted, m.config.Unprotected = c.lifted, c.open
		b := m.box(t)
		for path, want := range c.paths {
			if got := b.write(ws + path); got != want {
				t.Errorf("%v %v: %s is allowed: %v", c.lifted, c.open, path, got)
			}
		}
	}
	m := newMachine(policy.Guarded)
	m.config.Lifted = []string{"git.config:remote.origin.url"}
	p, err := policy.New(m.config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Profile(p, m.host, Run{}); err == nil || !strings.Contains(err.Error(), "single key") {
		t.Errorf("a single key: %v", err)
	}
}

// N1, N4, N11, F12: the network, sockets of the host, other programs.
func TestN1_N11_F12_Reach(t *testing.T) {
	for tier, open := range map[policy.Tier]bool{policy.Guarded: true, policy.Airlock: false} {
		b := newMachine(tier).box(t)
		reach := func(addr string) bool { return b.may(subject{operation: "network-outbound", addr: addr}) }
		service := func(name string) bool { return b.may(subject{operation: "mach-lookup", name: name}) }
		socket := func(op, path string) bool { return b.may(subject{operation: op, socket: path}) }
		check(t, []pair{
			{"the egress", reach("localhost:51000"), open},
			{"a name server of the host", reach("localhost:53"), false},
			{"the network", reach("example.com:443"), false},
			{"a server", b.may(subject{operation: "network-bind", addr: "localhost:8080"}), open},
			{"its clients", b.may(subject{operation: "network-inbound", addr: "localhost:8080"}), open},
			{"a server for all", b.may(subject{operation: "network-bind", addr: "*:8080"}), false},
			{"certificates", service("com.apple.trustd.agent"), open},
			{"users", service("com.apple.system.opendirectoryd.libinfo"), true},
			{"keychain", service("com.apple.SecurityServer"), false},
			{"keychain, newer", service("com.apple.securityd.xpc"), false},
			{"LaunchServices", service("com.apple.coreservices.launchservicesd"), false},
			{"Apple Events", service("com.apple.coreservices.appleevents"), false},
			{"pasteboard", service("com.apple.pasteboard.1"), false},
			{"preferences", service("com.apple.cfprefsd.agent"), false},
			{"open", b.may(subject{operation: "lsopen"}), false},
			{"osascript", b.may(subject{operation: "appleevent-send"}), false},
			{"launchctl", b.may(subject{operation: "job-creation"}), false},
			{"resolver", socket("network-outbound", "/private/var/run/mDNSResponder"), false},
			{"docker", socket("network-outbound", "/private/var/run/docker.sock"), false},
			{"ssh-agent", socket("network-outbound", "/private/tmp/com.apple.launchd.x/Listeners"), false},
			{"a socket in the workspace", socket("network-outbound", ws+"/x.sock"), false},
			{"its own", socket("network-outbound", own+"/x.sock"), true},
			{"made", socket("network-bind", own+"/x.sock"), true},
			{"a process of its own", b.may(subject{operation: "signal", own: true}), true},
			{"another", b.may(subject{operation: "signal"}), false},
			{"what another is", b.may(subject{operation: "process-info*"}), false},
			{"environments", b.may(subject{operation: "sysctl-read", name: "kern.procargs2.17"}), false},
			{"processors", b.may(subject{operation: "sysctl-read", name: "hw.ncpu"}), true},
			{"its terminal", b.change("/dev/ttys007"), true},
			{"another terminal", b.change("/dev/ttys001"), false},
			{"what is typed there", b.read("/dev/ttys001"), false},
			{"one that it made", b.may(subject{operation: "file-write-data", path: "/dev/ttys012", extension: true}), true},
			{"exec", b.may(subject{operation: "process-exec", path: "/bin/ls"}), true},
			{"clone", b.file("file-clone", ws+"/x", file), false},
		})
	}
}

// B33: mktemp and Foundation take the folder that confstr names, which a
// variable moves into the run's own.
func TestB33_TemporaryFolders(t *testing.T) {
	b := newMachine(policy.Guarded).box(t)
	m := newMachine(policy.Guarded)
	m.config.Temp = policy.HostTemp
	host := m.box(t)
	check(t, []pair{
		{"own", b.write(own + "/tmp.Ab12"), true}, {"the user's", b.write(temp + "/tmp.Ab12"), false},
		{"tmp = host", host.write(temp + "/tmp.Ab12"), true}, {"/tmp, tmp = host", host.write("/private/tmp/x"), true},
		{"git names there", host.write("/private/tmp/x/.git/hooks/y"), false},
		{"own, moved", b.move(own, ws+"/t", folder), false},
		{"own, read", b.read(own + "/x"), true}, {"another run's", b.read(temp + "/bawn-run-2/x"), false}, {"its profile", b.read(temp + "/bawn-profile-2/profile.sb"), false}, {"another program's", b.read(temp + "/bawn-other"), true},
	})
}

// B46: a policy of any length is a file, never an argument.
func TestB46_LongPolicy(t *testing.T) {
	m := newMachine(policy.Guarded)
	for i := range 200 {
		path := ws + "/" + strings.Repeat("d", 200) + "/" + strings.Repeat("x", 200) + "/" + strings.Repeat("y", 200+i%50)
		m.config.Hidden = append(m.config.Hidden, policy.SettingRule(path+string(rune('a'+i%26)), policy.Hidden, policy.Origin{}))
	}
	if b := m.box(t); b.read(ws+"/"+strings.Repeat("d", 200)+"/"+strings.Repeat("x", 200)+"/"+strings.Repeat("y", 200)+"a") || !b.read(ws+"/d") {
		t.Error("the rules do not hold")
	}
}
