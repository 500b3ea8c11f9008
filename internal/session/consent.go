package session

import (
	"bawn/internal/approval"
	"bawn/internal/shell/plain"
)

// Consent words the question whether a command may start, and where.
func Consent(c Command, out Outcome, dir string) approval.Prompt {
	p := approval.Prompt{
		Title: "Run this command?", Object: c.String(), Rule: out.Decision.Rule, Notes: []string{out.Decision.Rule.Text},
		Offers: []approval.Offer{{Scope: approval.Once, Text: "run it"}},
	}
	if out.Place == Outside {
		p.Title = "Run this command outside the sandbox, with your own permissions?"
		p.Brief = "Run it outside the sandbox?"
		p.Object = plain.Quote(out.Program.Args)
		p.Notes = []string{"program: " + plain.Quote([]string{out.Program.Program}), "folder:  " + plain.Quote([]string{dir})}
		p.Offers[0].Text = "run it outside, this once"
	}
	return p
}

// webConsent words the question whether public hosts may be read.
func webConsent(c Command, out Outcome) approval.Prompt {
	return approval.Prompt{
		Title: "Let web_fetch read any public host until the session ends?", Brief: "Let web_fetch read any public host?", Object: c.String(), Rule: out.Decision.Rule,
		Notes:  []string{"what an address says can be told to its host; private addresses and denied hosts stay out of reach"},
		Offers: []approval.Offer{{Scope: approval.Session, Text: "until the session ends"}},
	}
}
