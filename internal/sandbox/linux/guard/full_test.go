//go:build linux

package guard

import (
	"os"
	"testing"
)

// On a full disk a judged name keeps its old content, and what was to take it
// keeps its own.
func TestFullDisk(t *testing.T) {
	const script = `
cd small
echo old >x && mv x vetted || echo no rename with room
echo new >x
exec 3<x # so that nothing is free once its name is gone
dd if=/dev/zero of=fill bs=4k 2>/dev/null
mv x vetted 2>/dev/null && echo renamed
ln x other/vetted 2>/dev/null && echo linked
echo any 2>/dev/null >fixed && echo made
cat vetted x
cat other/vetted fixed 2>/dev/null
rm fill
mv x vetted; ln vetted y; ln y other/vetted; echo any >fixed
cat vetted other/vetted fixed
`
	for _, uid := range uids() {
		dir := tempDir(t, uid)
		if err := os.Mkdir(dir+"/small", 0o777); err != nil {
			t.Fatal(err)
		}
		r := box{
			guarded: true, uid: uid, dir: dir, env: []string{envSmall + "=" + dir + "/small"},
			args: []string{"/bin/bash", "-c", "mkdir small/other\n" + script},
		}.run(t)
		if want := "old\nnew\nnew\nnew\nright\n"; r.out != want {
			t.Errorf("uid %d: %q, want %q", uid, r.out, want)
		}
	}
}
