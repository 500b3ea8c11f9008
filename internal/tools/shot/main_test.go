//go:build linux

package main

import (
	"os/exec"
	"strings"
	"testing"
)

func TestShoot(t *testing.T) {
	svg, _, err := shoot(exec.Command("sh", "-c", "read x; echo \"[$x]\"; read y"), 40, 5, "# greet\n\ntype \"hi \\\"there\\\"\\r\"\nwait [hi\n", true)
	if err != nil || !strings.Contains(svg, "[hi &#34;there&#34;]") || !strings.Contains(svg, `fill="#fafafa"`) {
		t.Errorf("%v\n%s", err, svg)
	}
	for _, script := range []string{"click here", `type q`, "pause long"} {
		if _, _, err := shoot(exec.Command("cat"), 40, 5, script, false); err == nil || !strings.Contains(err.Error(), "line 1 of the script") {
			t.Errorf("%s: %v", script, err)
		}
	}
	if _, _, err := shoot(exec.Command("/nonexistent"), 40, 5, "", false); err == nil {
		t.Error("a program that is not there is pictured")
	}
}
