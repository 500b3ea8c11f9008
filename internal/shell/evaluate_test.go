package shell

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// evaluating are texts in which bash runs what nobody sees: each leaves the
// file M behind.
var evaluating = []string{
	"read 'a[$(touch M)]' <<< 1", "builtin read 'a[$(touch M)]' <<< 1", `x='a[$(touch M)]'; read "$x" <<< 1`, "read RANDOM <<< 'a[$(touch M)]'",
	"test -v 'a[$(touch M)]'", "[ -v 'a[$(touch M)]' ]", "[ ! -v 'a[$(touch M)]' ]", "[ x = y -o -v 'a[$(touch M)]' ]", "command test -v 'a[$(touch M)]'", `x=-v; [ "$x" 'a[$(touch M)]' ]`,
	"[[ -v 'a[$(touch M)]' ]]", "x='a[$(touch M)]'; [[ -v $x ]]", "x='a[$(touch M)]'; [[ $x -eq 1 ]]", "x='a[$(touch M)]'; [[ ! ( x == x && 1 -lt x ) ]]",
	"printf -v 'a[$(touch M)]' x", "printf '-va[$(touch M)]' x", `x='-va[$(touch M)]'; printf "$x" y`,
	"a=(1); unset 'a[$(touch M)]'", "a=(1); unset -v 'a[$(touch M)]'", "let 'a[$(touch M)]'", "sleep 0 & wait -p 'a[$(touch M)]' $!",
	"declare 'a[$(touch M)]=1'", "typeset 'a[$(touch M)]=1'", "f() { local 'a[$(touch M)]=1'; }; f", "declare -n n='a[$(touch M)]'; echo $n", "declare -n n='a[$(touch M)]'; n=1", "declare -gn n='a[$(touch M)]'; n=1",
	"declare -i v; v='a[$(touch M)]'", "declare -i v; read v <<< 'a[$(touch M)]'", "f() { local -i v=$1; }; f 'a[$(touch M)]'", `"declare" -i 'v=a[$(touch M)]'`,
	"x='a[$(touch M)]'; echo ${!x}", "x='a[$(touch M)]'; b=(1); echo ${b[x]}", "x='a[$(touch M)]'; b=1; echo ${b:x}", "x='a[$(touch M)]'; b[x]=1", "x='a[$(touch M)]'; b=([x]=1)", "set -- 'a[$(touch M)]'; echo ${@:$1}",
	"x='a[$(touch M)]'; echo $((x))", "x='a[$(touch M)]'; echo $[x]", "x='a[$(touch M)]'; (( x ))", "x='a[$(touch M)]'; for ((x;0;)); do :; done",
	"RANDOM='a[$(touch M)]'", "OPTIND='a[$(touch M)]'", "HISTCMD='a[$(touch M)]'", "x='a[$(touch M)]'; RANDOM=x", "for RANDOM in 'a[$(touch M)]'; do :; done", "PS4='$(touch M)'; set -x; :", "x='$(touch M)'; echo ${x@P}",
	"x='a[$(touch M)]'; : {b[x]}>/dev/null", "x='a[$(touch M)]'; : {b[$x]}>/dev/null", "x='a[$(touch M)]'; { :; } {b[x]}>/dev/null", "source /dev/stdin <<< 'touch M'", ". <(echo touch M)", "bash /dev/stdin <<< 'touch M'",
}

// quiet are like them, and evaluate nothing.
var quiet = []string{
	"read -r line", "while read -r a b; do echo $a; done", "test -v x", "[ -n \"$x\" ]", "[ \"$x\" = y ]", "[ $# -eq 1 ]", "[[ -v x ]]", "[[ $x == y && -f $z ]]", "[[ $# -gt 1 ]]", "printf '%s\\n' \"$x\"", "printf -v x '%d' 3",
	"unset x y", "declare x=1", "declare -r -x y", "local x=$1", "export x=$y", "echo ${!x*} ${!a[@]} ${a[@]} ${a[1]} ${x:1:2} ${#x}", "a[1]=2", "a=(1 2)", "echo $((1+2)) $(($#*2))", "OPTIND=1", "PS4='+ '", "x 2>&1", "x {fd}>f", "x $y>f", "x {a,b}", ". ./lib.sh", "bash run.sh", "wait", "wait $pid",
}

// A text that evaluates what cannot be seen is never allowed by itself, and
// never leaves the sandbox; its twins run in auto mode.
func TestEvaluatedTextIsOpaque(t *testing.T) {
	p := Permissions{Mode: policy.AutoMode, Sandboxed: true, Rules: testRules(t, "allow read *", "allow test *", "allow unset *", "allow printf *")}
	open := Permissions{Rules: testRules(t, "deny curl *")}
	for _, text := range evaluating {
		dir := t.TempDir()
		cmd := exec.Command("bash", "--noprofile", "--norc", "-c", text)
		cmd.Dir = dir
		_ = cmd.Run()
		if _, err := os.Stat(filepath.Join(dir, "M")); err != nil {
			t.Errorf("%s: bash runs nothing hidden in it", text)
		}
		if d := p.Decide(OfText(text)); d.Verdict != policy.Ask {
			t.Errorf("%s: %+v", text, d)
		}
		if d := open.Ruled(OfText(text)); d.Verdict != policy.Ask {
			t.Errorf("%s, without a sandbox: %+v", text, d)
		}
	}
	for _, text := range quiet {
		if d := p.Decide(OfText(text)); d.Verdict != policy.Allow {
			t.Errorf("the twin %s: %+v", text, d)
		}
	}
	for _, name := range []string{"read", "unset", "let", "declare", "typeset", "local", "[", "[[", "mapfile", "wait", "source", "."} {
		if _, _, err := plain.ParseExclusion(name+" *", policy.Origin{}); err == nil {
			t.Errorf("%s can be excluded", name)
		}
	}
}
