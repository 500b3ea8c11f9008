package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// xsysNumbers reads one architecture's numbers from the source of
// golang.org/x/sys/unix, for architectures other than the test's own as well.
func xsysNumbers(t *testing.T, a Arch) map[string]uint32 {
	t.Helper()
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output()
	if err != nil {
		t.Fatalf("find golang.org/x/sys: %v", err)
	}
	file := filepath.Join(strings.TrimSpace(string(dir)), "zsysnum_linux_"+a.Name+".go")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]uint32{}
	for _, m := range regexp.MustCompile(`(?m)^\s*SYS_(\w+)\s*=\s*(\d+)$`).FindAllStringSubmatch(string(text), -1) {
		n, err := strconv.ParseUint(m[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		out[strings.ToLower(m[1])] = uint32(n)
	}
	// The start of a range of numbers, no call.
	delete(out, "arch_specific_syscall")
	if len(out) < 300 {
		t.Fatalf("%s: only %d numbers", file, len(out))
	}
	return out
}

func TestNumbersEqualXSys(t *testing.T) {
	for _, a := range Arches {
		want := xsysNumbers(t, a)
		for _, s := range Syscalls() {
			n, has := s.Number(a)
			w, wants := want[s.Name]
			if has != wants || has && n != w {
				t.Errorf("%s %s: have %d (%v), x/sys has %d (%v)", a.Name, s.Name, n, has, w, wants)
			}
			delete(want, s.Name)
		}
		for name, n := range want {
			t.Errorf("%s %s = %d is new: decide about it in base.go and add it to syscalls.tbl", a.Name, name, n)
		}
	}
}

func TestParseTableRefuses(t *testing.T) {
	for _, text := range []string{
		"read 0", "read 0 63 1", "read x 63", "read -1 63", "read 0 63\nread 1 64", "read 0 63\nwrite 0 64", "read 0 63\nwrite 1 63",
	} {
		if _, err := parseTable(text); err == nil {
			t.Errorf("accepted %q", text)
		}
	}
	got, err := parseTable("# comment\n\nopen 2 - # none\n")
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if _, ok := got[0].Number(Arches[1]); ok {
		t.Error("open has a number on arm64")
	}
}
