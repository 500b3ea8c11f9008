package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
	"bawn/internal/session/launch"
	"bawn/internal/shell/plain"
)

// leaving is one command that is about to run outside the sandbox.
type leaving struct {
	Program string
	Args    []string
	Dir     string
	Rule    policy.Rule
	Asked   bool // a person said yes to this one
}

// logLeaving is told of every command before it runs outside: a command that
// cannot be noted does not run.
func (f *runFlags) logLeaving(l leaving, p policy.Policy) error {
	how := "escape hatch"
	if l.Asked {
		how = "approved"
	}
	line := plain.Quote(append([]string{l.Program}, l.Args[1:]...))
	if err := f.log.decided(line, policy.Decision{Verdict: policy.Allow, Rule: policy.Rule{ID: l.Rule.ID, Text: how, Origin: l.Rule.Origin}}); err != nil {
		return err
	}
	if err := f.log.start(f.command, p, "outside"); err != nil {
		return err
	}
	f.tell(session.Result{}, nil, nil)
	if !f.quiet {
		warn("outside the sandbox (%s, %s, %s): %s", how, l.Rule.ID, l.Rule.Origin, line)
	}
	return nil
}

// errChanged: what was checked is no longer what would run.
var errChanged = errors.New("it was changed while bawn looked at it")

// program is a file to run outside, held by descriptors.
type program struct {
	path   string
	file   *os.File // O_PATH: what was checked
	dir    *os.File // the folder it lies in
	byPath bool     // another program opens it by its path
}

func (p *program) close() {
	p.file.Close()
	p.dir.Close()
}

// openProgram opens what package plain found, and checks that it is what it
// was found to be: the name has not been made to lead elsewhere since, and if
// it is a script, what reads it is out of reach for sandboxed commands too.
func openProgram(path string, v plain.View) (*program, error) {
	open := func(at int, name string) (*os.File, error) {
		fd, err := unix.Openat(at, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
	dir, err := open(unix.AT_FDCWD, filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	file, err := open(int(dir.Fd()), filepath.Base(path))
	if err != nil {
		dir.Close()
		return nil, err
	}
	p := &program{path: path, file: file, dir: dir}
	if err := p.check(v); err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// link is where a descriptor's file lies.
func link(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

func (p *program) check(v plain.View) error {
	for f, want := range map[*os.File]string{p.file: p.path, p.dir: filepath.Dir(p.path)} {
		at, err := os.Readlink(link(f))
		if err != nil {
			return err
		}
		if at != want {
			return errChanged
		}
	}
	// Only now: what the descriptors hold is below folders that are checked.
	if real, err := v.At(p.path); err != nil {
		return err
	} else if real != p.path {
		return errChanged
	}
	if err := oneName(p.path, link(p.file), link(p.dir)); err != nil {
		return err
	}
	return p.checkScript(v)
}

// systemTrees hold what the machine's own packages install, where some files
// have several names; no user's cache is linked there.
var systemTrees = [...]string{"/usr", "/bin", "/sbin", "/nix/store"}

// oneName refuses a file that the user could write by a name which is not in
// its folder. Package managers link programs to files of their caches, which
// sandboxed commands write, and where a file's other names are nobody can tell.
// file and dir lead to what lies at the real path.
func oneName(path, file, dir string) error {
	for _, tree := range systemTrees {
		if policy.Inside(path, tree) {
			return nil
		}
	}
	var st unix.Stat_t
	if err := unix.Stat(file, &st); err != nil {
		return err
	}
	if st.Nlink < 2 || int(st.Uid) != os.Geteuid() && unix.Faccessat(unix.AT_FDCWD, file, unix.W_OK, unix.AT_EACCESS) != nil {
		return nil
	}
	names, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	here := uint64(0)
	for _, n := range names {
		var other unix.Stat_t
		if n.Type().IsRegular() && unix.Lstat(dir+"/"+n.Name(), &other) == nil && other.Dev == st.Dev && other.Ino == st.Ino {
			here++
		}
	}
	if here < uint64(st.Nlink) {
		return errors.New("the file has another name elsewhere (a hard link), by which a sandboxed command may have changed it; a copy in its place can run")
	}
	return nil
}

// maxScript is how much of a file the kernel reads to find what runs it.
const maxScript = 256

// maxInterpreters is how many scripts may run one another, as in the kernel.
const maxInterpreters = 5

// checkScript checks what a script names in its first line.
func (p *program) checkScript(v plain.View) error {
	f, err := os.Open(link(p.file))
	if err != nil {
		return nil // not readable: no interpreter could read it either
	}
	defer f.Close()
	binary, err := checkInterpreter(f, v, maxInterpreters)
	p.byPath = !binary
	return err
}

// checkInterpreter checks what the first line of a file names, and what that
// names in its turn. Every program in between is one that runs. It reports
// whether the file is no text for an interpreter.
func checkInterpreter(f *os.File, v plain.View, left int) (binary bool, err error) {
	buf := make([]byte, maxScript)
	n, _ := f.ReadAt(buf, 0)
	binary = bytes.HasPrefix(buf[:n], []byte("\x7fELF"))
	text, script := bytes.CutPrefix(buf[:n], []byte("#!"))
	if !script {
		return binary, nil
	}
	if left == 0 {
		return false, errors.New("too many scripts run one another")
	}
	line, _, whole := bytes.Cut(text, []byte("\n"))
	words := strings.Fields(string(line))
	if !whole && n == maxScript || len(words) == 0 {
		return false, errors.New("its first line does not say clearly what runs it")
	}
	if !filepath.IsAbs(words[0]) {
		return false, fmt.Errorf("%q, which runs it, depends on the working folder", words[0])
	}
	if err := checkRunner(v.At, words[0], v, left); err != nil {
		return false, err
	}
	if filepath.Base(words[0]) != "env" {
		return false, nil
	}
	words = words[1:]
	if len(words) > 0 && words[0] == "-S" {
		words = words[1:]
	}
	if len(words) == 0 || strings.HasPrefix(words[0], "-") || strings.ContainsRune(words[0], '=') {
		return false, errors.New("its first line does not say clearly what runs it")
	}
	check := v.Look
	if filepath.IsAbs(words[0]) {
		check = v.At
	}
	return false, checkRunner(check, words[0], v, left)
}

// checkRunner checks a program that runs a script.
func checkRunner(find func(string) (string, error), name string, v plain.View, left int) error {
	real, err := find(name)
	if err != nil {
		return fmt.Errorf("what runs it: %w", err)
	}
	if err := oneName(real, real, filepath.Dir(real)); err != nil {
		return fmt.Errorf("what runs it, %q: %w", real, err)
	}
	f, err := os.Open(real)
	if err != nil {
		return nil // not readable, so no script
	}
	defer f.Close()
	if _, err := checkInterpreter(f, v, left-1); err != nil {
		return fmt.Errorf("%q, which runs it: %w", name, err)
	}
	return nil
}

// exec becomes the program.
func (p *program) exec(args, env []string) error {
	path, err := p.executable()
	if err != nil {
		return err
	}
	return syscall.Exec(path, args, env)
}

// executable is the path to execute until close. The kernel looks its name up
// once more, but in the folder that was checked, in which no sandboxed command
// can write; a script's path is what its interpreter opens.
func (p *program) executable() (string, error) {
	var held, now unix.Stat_t
	if err := unix.Fstat(int(p.file.Fd()), &held); err != nil {
		return "", err
	}
	if err := unix.Fstatat(int(p.dir.Fd()), filepath.Base(p.path), &now, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return "", err
	}
	if held.Dev != now.Dev || held.Ino != now.Ino {
		return "", errChanged
	}
	if p.byPath {
		return p.path, nil
	}
	return link(p.dir) + "/" + filepath.Base(p.path), nil
}

// decide says what becomes of the command. What would run outside is held by
// the program that it returns, or refused.
func (f *runFlags) decide(facts launch.Facts) (session.Outcome, *program) {
	out := launch.Decide(f.command, facts)
	if out.Place != session.Outside {
		return out, nil
	}
	prog, err := openProgram(out.Program.Program, facts.View)
	if err != nil {
		rule := out.Decision.Rule
		rule.Text = fmt.Sprintf("%q would run outside the sandbox, but %v", out.Program.Program, err)
		rule.Lift = "--no-prompt runs it in the sandbox"
		return session.Outcome{Decision: policy.Decision{Rule: rule}}, nil
	}
	return out, prog
}

// runOutside asks if it must, notes it, and becomes the program: with the
// environment and folder that bawn was started with, and no shell between.
func (f *runFlags) runOutside(a approval.Asker, out session.Outcome, prog *program, p policy.Policy) int {
	if err := f.report.check(p); err != nil {
		return fail(err)
	}
	answer, yes := consent(a, f.command, out, f.folder(p))
	if !yes {
		return f.refused(policy.Decision{Rule: policy.Rule{ID: answerRule(answer), Text: answer.Reason, Lift: "--no-prompt runs it in the sandbox"}})
	}
	l := leaving{prog.path, out.Program.Args, f.folder(p), out.Decision.Rule, answer.Given}
	if err := f.logLeaving(l, p); err != nil {
		return fail(err)
	}
	if err := os.Chdir(f.folder(p)); err != nil {
		return fail(err)
	}
	return notRun(prog.path, prog.exec(out.Program.Args, hostEnv(f)))
}
