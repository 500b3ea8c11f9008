package tui

import (
	"fmt"

	"bawn/internal/policy"
	"bawn/internal/session"
)

// The tier is switched by Alt+S, on a page, or by a slash command: all of them
// go through these functions (SPEC T3 to T7).

// cycled is the tier after the one that holds.
func cycled(st session.State) policy.Tier {
	switch {
	case st.Tier == policy.Guarded:
		return policy.Airlock
	case st.Tier == policy.Open || st.Staged != nil: // nothing of open can be staged
		return policy.Guarded
	}
	return policy.Open
}

// NextTier goes to the next tier. If that must be asked about, it is the page
// to show; else note is what to tell the person.
func NextTier(s Session) (note string, ask Page) { return switchTo(s, cycled(s.State())) }

// switchTo goes to a tier, as NextTier does: open is asked about.
func switchTo(s Session, t policy.Tier) (note string, ask Page) {
	st := s.State()
	switch {
	case st.Mode != policy.NoMode:
		return fixedNote(st.Mode), NoPage
	case t == policy.Open && st.Staged != nil:
		return "Sandbox: still " + st.Tier.String() + ", as it is staged; /stage off first", NoPage
	case t == policy.Open && st.Tier != policy.Open:
		return "", OpenPage
	}
	return setTier(s, t), NoPage
}

func fixedNote(m policy.Mode) string {
	return fmt.Sprintf("Sandbox: %s is fixed for this session (--sandbox)", m)
}

func setTier(s Session, t policy.Tier) string {
	_, err := s.SetTier(t)
	now := s.State().Tier
	switch {
	case err != nil && now == t: // it holds, and could not be saved
		return fmt.Sprintf("Sandbox: %s (new commands), in this session only: %v", now, err)
	case err != nil:
		return fmt.Sprintf("Sandbox: still %s: %v", now, err)
	}
	return fmt.Sprintf("Sandbox: %s (new commands)", now)
}

// openDialog asks before there is no sandbox any more. Enter switches (SPEC
// T3): the person has just asked for it, and the guard drops earlier keys.
func (f *frame) openDialog(alone bool) *dialog {
	st := f.State()
	if st.Mode != policy.NoMode || st.Tier == policy.Open {
		if f.note = fixedNote(st.Mode); st.Mode == policy.NoMode {
			f.note = ""
		}
		return nil
	}
	return &dialog{
		heading: "Switch sandbox to open?",
		body:    []string{"Commands started from then on have no sandbox: all your files, all your credentials, the whole network."},
		brief:   []string{"No sandbox for new commands: all your files, credentials, network."},
		choices: choices{at: 1, all: []choice{
			{"n", "keep " + st.Tier.String(), nil},
			{"y", "switch to open", func() { f.note = setTier(f, policy.Open); f.refresh() }},
		}},
	}
}

// pickTier switches from a page.
func (f *frame) pickTier(t policy.Tier) {
	note, ask := switchTo(f, t)
	if f.note = note; ask == OpenPage {
		f.ask(f.openDialog(false))
	}
	f.refresh()
}

// cloneDialog suggests airlock (SPEC T6). Both answers are safe; Enter takes
// the stricter.
func (f *frame) cloneDialog() *dialog {
	if !f.State().FreshClone {
		return nil
	}
	answer := func(airlock bool) func() {
		return func() {
			if err := f.AnswerFreshClone(airlock); err != nil {
				f.note = err.Error()
				return
			}
			if f.note = ""; airlock {
				f.note = "Sandbox: airlock (new commands)"
			}
		}
	}
	return &dialog{
		heading: "Fresh clone: use airlock sandbox?",
		body: []string{
			"This folder was cloned less than a day ago and is not trusted.",
			"In airlock commands write here and nowhere else, and have no network. It holds for this session.",
		},
		brief: []string{"A new, untrusted clone. Airlock writes here alone, without network."},
		choices: choices{at: 1, all: []choice{
			{"n", "keep " + f.State().Tier.String(), answer(false)},
			{"y", "use airlock", answer(true)},
		}},
	}
}
