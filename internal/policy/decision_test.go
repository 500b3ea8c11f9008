package policy

import (
	"errors"
	"fmt"
	"testing"
)

// The zero value of each type is the strictest.
func TestZeroValues(t *testing.T) {
	var (
		p Policy
		d Decision
		r PathRule
		m TempMode
	)
	if p.Tier() != Airlock || p.Mode() != NoMode || p.Temp() != PrivateTemp || !p.Sandboxed() || m != PrivateTemp {
		t.Errorf("zero Policy: %v %v %v", p.Tier(), p.Mode(), p.Temp())
	}
	if d.Verdict != Deny || r.Access != Hidden {
		t.Errorf("zero Decision: %v, zero PathRule: %v", d.Verdict, r.Access)
	}
	for _, a := range []Action{Read{"/"}, Write{"/"}, Read{"/etc/passwd"}, Write{"/tmp/x"}, nil} {
		if d := p.Decide(a); d.Verdict != Deny || d.Rule.ID == "" || d.Rule.Text == "" {
			t.Errorf("zero Policy decides %#v: %+v", a, d)
		}
	}
}

func TestTierNames(t *testing.T) {
	for _, tier := range []Tier{Airlock, Guarded, Open} {
		if got, err := ParseTier(tier.String()); err != nil || got != tier {
			t.Errorf("%v: %v, %v", tier, got, err)
		}
	}
	for _, s := range []string{"", "Open", " open", "guarded ", "none", "tier(1)", "read-only"} {
		if got, err := ParseTier(s); err == nil || got != Airlock {
			t.Errorf("ParseTier(%q): %v, %v", s, got, err)
		}
	}
	if s := Tier(9).String(); s != "tier(9)" {
		t.Errorf("unknown tier: %q", s)
	}
}

func TestModes(t *testing.T) {
	for m, tier := range map[Mode]Tier{ReadOnlyMode: Airlock, WorkspaceWrite: Guarded, DangerFullAccess: Open} {
		if got, err := ParseMode(m.String()); err != nil || got != m {
			t.Errorf("%v: %v, %v", m, got, err)
		}
		if m.Tier() != tier {
			t.Errorf("%v follows %v, want %v", m, m.Tier(), tier)
		}
	}
	for _, m := range []Mode{NoMode, 99} {
		if m.Tier() != Airlock {
			t.Errorf("mode %d follows %v", m, m.Tier())
		}
	}
	for _, s := range []string{"", "readonly", "Read-Only", "guarded", "mode(1)"} {
		if got, err := ParseMode(s); err == nil || got != NoMode {
			t.Errorf("ParseMode(%q): %v, %v", s, got, err)
		}
	}
}

func TestWords(t *testing.T) {
	for want, v := range map[string]fmt.Stringer{
		"deny": Deny, "ask": Ask, "allow": Allow,
		"hidden": Hidden, "read-only": ReadOnly, "private": Private, "read-write": ReadWrite,
		"built in": Origin{}, "f.toml": Origin{File: "f.toml"}, "f.toml:7": Origin{"f.toml", 7},
	} {
		if got := v.String(); got != want {
			t.Errorf("%#v: %q, want %q", v, got, want)
		}
	}
	if Verdict(9).String() != "deny" || Access(9).String() != "hidden" {
		t.Error("an unknown value has the name of a wide one")
	}
}

func TestRefusedError(t *testing.T) {
	err := fmt.Errorf("start: %w", &RefusedError{What: `workspace "/"`, Why: "too wide", Lift: "use -C"})
	var r *RefusedError
	if !errors.Is(err, ErrRefused) || !errors.As(err, &r) || errors.Is(errors.New("x"), ErrRefused) {
		t.Error("ErrRefused does not tell refusals from failures")
	}
	if got := r.Error(); got != `workspace "/": too wide; use -C` {
		t.Error(got)
	}
	if got := (&RefusedError{What: "a", Why: "b"}).Error(); got != "a: b" {
		t.Error(got)
	}
}

func TestHasControl(t *testing.T) {
	for s, want := range map[string]bool{"": false, "a b é プ": false, "a\nb": true, "\x1b[2J": true, "\x7f": true, "a\x00": true} {
		if HasControl(s) != want {
			t.Errorf("HasControl(%q) = %v", s, !want)
		}
	}
}
