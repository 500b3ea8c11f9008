//go:build linux

package guard

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// programs are everyday scripts; each must leave the same tree behind.
var programs = map[string]string{
	"coreutils": `umask 027; mkdir -p a/b/c; echo x >a/x; cp -a a d; mv d e; ln e/x e/y; ln -s x e/z; install -m 755 a/x e/i
		touch -d @0 e/t; sed -i s/x/y/ e/y; truncate -s 5 e/i; dd if=/dev/zero of=e/dd bs=1k count=3 2>/dev/null; mkfifo e/p
		mktemp e/XXXXXX >/dev/null; rm e/??????; split -n 2 a/x e/s. ; sort -o a/x a/x; echo done | tee e/tee >/dev/null; rm -rf a/b`,
	"tar": `mkdir t; for i in $(seq 50); do echo $i >t/$i; done; ln t/1 t/hard; ln -s 1 t/soft; chmod 600 t/2; tar cf t.tar t; mkdir out
		tar xf t.tar -C out; tar xf t.tar -C out; tar czf t.tgz t; rm t.tgz; cp -r out o2; rm -rf out/t/3`,
	"git": `export HOME=$PWD; git init -q r; cd r; git config user.email a@b; git config user.name n; echo 1 >f; git add .; git commit -qm 1
		git branch x; echo 2 >f; git commit -qam 2; git checkout -q x; git worktree add -q ../w; git stash list; git tag t; git gc -q
		cd ..; git clone -q r c; cd c; git remote add o ../r; git fetch -q o`,
	"python": `python3 -c '
import os, tempfile, shutil, sqlite3, tarfile, pathlib
os.makedirs("p/q"); pathlib.Path("p/q/f").write_text("x"); os.replace("p/q/f", "p/g"); shutil.copytree("p", "c"); shutil.rmtree("p")
f = tempfile.NamedTemporaryFile(dir=".", delete=False); f.write(b"x"); f.close(); os.rename(f.name, "named")
tempfile.TemporaryFile(dir=".").write(b"x")
d = sqlite3.connect("db"); d.execute("pragma journal_mode=wal"); d.execute("create table t(x)"); d.execute("insert into t values(1)"); d.commit(); d.close()
os.close(os.open("direct", os.O_CREAT | os.O_RDWR | os.O_SYNC | os.O_APPEND, 0o640))'`,
	"node": `node -e '
const fs = require("fs"); fs.mkdirSync("n/m", {recursive: true}); fs.writeFileSync("n/f", "x", {mode: 0o600}); fs.renameSync("n/f", "n/g")
fs.appendFileSync("n/g", "y"); fs.symlinkSync("g", "n/l"); fs.linkSync("n/g", "n/h"); fs.truncateSync("n/h", 1); fs.cpSync("n", "o", {recursive: true})
fs.mkdtempSync("tmp-"); Promise.all([...Array(40).keys()].map(i => fs.promises.writeFile("o/" + i, "" + i)))'; rmdir tmp-*`,
	"gcc": `printf 'int main(void){return 0;}' >a.c; gcc -O1 -o a a.c && ./a && rm a`,
}

// treeOf lists names, kinds, modes and links below dir, and what is in small
// files but git's, which name times.
func treeOf(t *testing.T, dir string) string {
	var out strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		rel := strings.TrimPrefix(p, dir)
		inGit := strings.Contains(rel, "/.git/")
		if inGit && strings.Contains(rel, "/objects/") {
			return nil // named by times
		}
		fmt.Fprintf(&out, "%s %o", rel, st.Mode)
		if st.Mode&unix.S_IFMT == unix.S_IFREG && !inGit && st.Size < 100 {
			text, _ := os.ReadFile(p)
			fmt.Fprintf(&out, " %d %q", st.Nlink, strings.ReplaceAll(string(text), dir, "DIR"))
		}
		out.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestProgramsLeaveTheSameTree(t *testing.T) {
	for name, script := range programs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := exec.LookPath(strings.Fields(script)[0]); name == "node" && err != nil {
				t.Skip(err)
			}
			var trees [2]string
			for i, guarded := range []bool{false, true} {
				r, dir := sh(t, guarded, os.Getuid(), "set -e; "+script)
				if r.code != 0 {
					t.Fatalf("guarded %v: exit %d: %s", guarded, r.code, r.out)
				}
				if len(r.events) != 0 {
					t.Errorf("events %+v", r.events)
				}
				trees[i] = treeOf(t, dir)
			}
			if trees[0] != trees[1] {
				t.Errorf("free:\n%s\nguarded:\n%s", trees[0], trees[1])
			}
		})
	}
}
