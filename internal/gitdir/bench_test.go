package gitdir

import (
	"fmt"
	"testing"
)

func BenchmarkDiscover(b *testing.B) {
	base := tempDir(b)
	plain := repository(b, base+"/plain")
	git(b, plain, "remote", "add", "origin", "https://example.invalid/x")
	main := repository(b, base+"/main")
	git(b, main, "worktree", "add", "-q", "../wt")
	large := repository(b, base+"/large")
	for i := range 100 {
		g := fmt.Sprintf("%s/.git/modules/deps/s%d", large, i)
		git(b, base, "init", "-q", "--bare", g)
		git(b, base, "config", "-f", g+"/config", "core.worktree", fmt.Sprintf("../../../../deps/s%d", i))
		write(b, fmt.Sprintf("%s/deps/s%d/.git", large, i), fmt.Sprintf("gitdir: ../../.git/modules/deps/s%d\n", i))
	}
	for name, dir := range map[string]string{
		"none": mkdir(b, base+"/none"), "plain": plain, "worktree": base + "/wt", "modules100": large,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Discover(dir); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParseConfig(b *testing.B) {
	m := repository(b, tempDir(b)+"/m")
	data := []byte(readFile(b, m+"/.git/config"))
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := parseConfig(data); err != nil {
			b.Fatal(err)
		}
	}
}
