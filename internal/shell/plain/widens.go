package plain

import "strings"

// wideProgram is one that runs what its arguments, or files that the sandbox
// may write, tell it to: excluding it excludes that too (A128).
type wideProgram struct {
	names string // separated by spaces
	// files: even fixed arguments run code that lies in the workspace.
	files bool
	why   string
}

var widePrograms = [...]wideProgram{
	{"sh bash dash zsh ksh mksh fish csh tcsh pwsh busybox toybox", true, "a shell runs any command"},
	{"python python2 python3 pypy pypy3 node nodejs deno bun perl ruby php lua luajit tclsh Rscript julia java osascript", true, "an interpreter runs any code"},
	{"env nice nohup timeout time stdbuf setsid ionice chrt taskset xargs parallel watch entr find fd sudo su doas pkexec runuser setpriv unshare nsenter chroot flock script expect strace ltrace gdb lldb", false, "it runs whatever program its arguments name"},
	{"docker podman nerdctl buildah lima limactl colima multipass vagrant", false, "a container can mount and change any file of the host (run -v /:/host)"},
	{"docker-compose podman-compose", true, "the compose file decides what is mounted and run"},
	{"kubectl helm oc ansible ansible-playbook terraform tofu pulumi", false, "it runs programs that its arguments and files name"},
	{"ssh scp sftp rsync mosh", false, "its options run any program (-o ProxyCommand=…, -e)"},
	{"git hg svn jj gh glab", false, "options, aliases and the repository's own settings run any program (-c alias.x='!…')"},
	{"make gmake bmake ninja just task rake ant mvn gradle gradlew cmake meson bazel buck2 scons nix nix-shell direnv pre-commit", true, "it runs what files in the workspace say, and sandboxed commands may write those"},
	{"npm pnpm yarn npx pnpx bunx corepack composer bundle gem cargo go pip pip3 uv uvx pipx poetry hatch tox nox pytest jest vitest dotnet swift mix sbt stack cabal dune", true, "it runs scripts of the workspace and of packages, and sandboxed commands may write those"},
	{"vim vi nvim ex view emacs nano less more man most awk gawk mawk nawk sed ed tar zip rg sort", false, "its own commands or options run programs or write files"},
	{"systemctl systemd-run launchctl crontab at batch dbus-send busctl gdbus tmux screen xdg-open open", false, "it makes another process, outside every sandbox, run a program"},
	{"cp mv ln install dd tee rm chmod chown truncate curl wget", false, "it writes wherever its arguments say"},
	{"bawn claude codex gemini opencode copilot aider cursor-agent", false, "it starts commands of its own"},
}

func wide(name string) (wideProgram, bool) {
	for _, w := range widePrograms {
		for n := range strings.FieldsSeq(w.names) {
			if n == name || w.files && versioned(name, n) {
				return w, true
			}
		}
	}
	return wideProgram{}, false
}

// versioned reports whether name is base with a version at its end, as
// python3.12 is python.
func versioned(name, base string) bool {
	rest, ok := strings.CutPrefix(name, base)
	return ok && rest != "" && strings.Trim(rest, "-.0123456789") == ""
}

// widens says what else an exclusion lets out; "" for nothing known.
func widens(p Pattern) string {
	if w, ok := wide(p.words[0]); ok && (p.any || w.files) {
		return w.why
	}
	return ""
}
