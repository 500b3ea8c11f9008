package plain

import (
	"fmt"
	"strings"

	"bawn/internal/policy"
)

// LiftAsk is what lifts a denial that was a question, where nobody could be
// asked.
const LiftAsk = "run it on a terminal, without --no-prompt"

// Outside is one program to run outside the sandbox. It gets the supervisor's
// own environment and folder, never a state that an earlier run left behind,
// and no shell in between.
type Outside struct {
	Program string   // absolute and real: what is executed
	Args    []string // Args[0] is the name it was called by
}

// Exceptions are the commands that may leave the sandbox (SPEC C3, C4). They
// come from the user's and the managed config only, which the caller vouches
// for. The zero value has none.
type Exceptions struct {
	Exclude []Exclusion
	Hatches []Hatch
}

// Facts are what a run knows of itself. The zero value lets nothing out.
type Facts struct {
	Tier   policy.Tier
	Mode   policy.Mode
	CanAsk bool // somebody answers questions
}

// Exclusion is a pattern that was found fit to let commands out after a
// question. The zero value matches nothing.
type Exclusion struct{ pattern Pattern }

// Hatch is an absolute program that runs outside without a question. The zero
// value matches nothing.
type Hatch struct {
	path   string
	origin policy.Origin
}

// ParseExclusion reads one entry of exclude. The warning, if any, says what
// else the pattern lets out.
func ParseExclusion(text string, o policy.Origin) (x Exclusion, warning string, err error) {
	p, err := ParsePattern(text, o)
	if err != nil {
		return Exclusion{}, "", err
	}
	name := p.words[0]
	switch {
	case strings.HasPrefix(name, "/"):
		return Exclusion{}, "", fmt.Errorf("pattern %q: a program by its path belongs in escape_hatch_binaries", text)
	case strings.Contains(name, "/"):
		return Exclusion{}, "", fmt.Errorf("pattern %q: %q depends on the working folder; only a bare name can be excluded", text, name)
	case strings.Contains(name, ":"):
		return Exclusion{}, "", fmt.Errorf("pattern %q: %q is not the name of a program; words are separated by spaces", text, name)
	case keyword(name):
		return Exclusion{}, "", fmt.Errorf("pattern %q: %q is part of the shell, not a program", text, name)
	case !p.any && len(p.words) == 1:
		warning = fmt.Sprintf("exclude %q holds for %s without arguments only; %q is any arguments", text, name, name+" *")
	}
	if why := widens(p); why != "" {
		warning = strings.TrimPrefix(warning+"; ", "; ") + fmt.Sprintf("exclude %q lets more out than it names: %s", text, why)
	}
	return Exclusion{p}, warning, nil
}

// ParseHatch reads one entry of escape_hatch_binaries.
func ParseHatch(path string, o policy.Origin) (h Hatch, warning string, err error) {
	if !policy.IsClean(path) || path == "/" || !policy.AllVisible(path) {
		return Hatch{}, "", fmt.Errorf("escape hatch %q is not the absolute path of a program", path)
	}
	if w, ok := wide(path[strings.LastIndexByte(path, '/')+1:]); ok {
		warning = fmt.Sprintf("escape hatch %q lets more out than it names: %s", path, w.why)
	}
	return Hatch{path, o}, warning, nil
}

// DecideText answers whether shell text runs outside: Ask (an exclusion: one
// question, then outside), Allow (an escape hatch), or Deny, which means that
// it goes into the sandbox like any other. Only Ask and Allow come with an
// Outside, which alone may then be run: never the text.
func (e Exceptions) DecideText(text string, f Facts, v View) (Outside, policy.Decision) {
	args, ok := Words(text)
	if !ok {
		return Outside{}, stays("exclude:compound", "only a single plain command can leave the sandbox")
	}
	return e.Decide(args, f, v)
}

// Decide answers the same for a command given as its words.
func (e Exceptions) Decide(args []string, f Facts, v View) (Outside, policy.Decision) {
	if len(args) == 0 {
		return Outside{}, stays("exclude:none", "there is no command")
	}
	for _, h := range e.Hatches {
		if h.path != "" && args[0] == h.path {
			return h.decide(args, f, v)
		}
	}
	near := Exclusion{}
	for _, x := range e.Exclude {
		if x.pattern.Match(args) {
			return x.decide(args, f, v)
		}
		if len(x.pattern.words) > 0 && x.pattern.words[0] == args[0] {
			near = x
		}
	}
	if len(near.pattern.words) > 0 {
		d := stays("exclude:arguments", fmt.Sprintf("exclude %q is for other arguments", near.pattern))
		d.Rule.Lift = fmt.Sprintf("exclude = [%q]", Quote(args[:1])+" *")
		d.Rule.Origin = near.pattern.origin
		return Outside{}, d
	}
	return Outside{}, stays("exclude:none", "no exclusion or escape hatch names this command")
}

func (x Exclusion) decide(args []string, f Facts, v View) (Outside, policy.Decision) {
	id := "exclude:" + x.pattern.String()
	rule := policy.Rule{ID: id, Origin: x.pattern.origin}
	if d, ok := f.bars(rule); ok {
		return Outside{}, d
	}
	program, err := v.Look(args[0])
	if err != nil {
		rule.Text = "it is excluded, but " + err.Error()
		return Outside{}, policy.Decision{Rule: rule}
	}
	rule.Text = fmt.Sprintf("runs %s outside the sandbox, with your own permissions and environment", Quote([]string{program}))
	return Outside{program, append([]string(nil), args...)}, policy.Decision{Verdict: policy.Ask, Rule: rule}
}

func (h Hatch) decide(args []string, f Facts, v View) (Outside, policy.Decision) {
	rule := policy.Rule{ID: "hatch:" + h.path, Origin: h.origin}
	if d, ok := f.bars(rule); ok {
		return Outside{}, d
	}
	program, err := v.At(h.path)
	if err != nil {
		rule.Text = "it is an escape hatch, but " + err.Error()
		return Outside{}, policy.Decision{Rule: rule}
	}
	rule.Text = "an escape hatch: runs outside the sandbox, with your own permissions and environment"
	return Outside{program, append([]string(nil), args...)}, policy.Decision{Verdict: policy.Allow, Rule: rule}
}

// bars is why nothing at all leaves the sandbox in this run.
func (f Facts) bars(rule policy.Rule) (policy.Decision, bool) {
	switch {
	case f.Mode != policy.NoMode:
		rule.Text = "with a fixed --sandbox mode nothing leaves the sandbox"
		rule.Lift = "run without --sandbox"
	case f.Tier == policy.Open:
		rule.Text = "the open tier has no sandbox to leave"
	case f.Tier != policy.Guarded:
		rule.Text = "in airlock nothing leaves the sandbox"
		rule.Lift = "--tier guarded"
	case !f.CanAsk:
		rule.Text = "with nobody to ask, nothing leaves the sandbox"
		rule.Lift = LiftAsk
	default:
		return policy.Decision{}, false
	}
	return policy.Decision{Rule: rule}, true
}

func stays(id, text string) policy.Decision {
	return policy.Decision{Rule: policy.Rule{ID: id, Text: text}}
}
