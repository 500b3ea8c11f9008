//go:build unix

package session

import (
	"net"
	"strconv"

	"bawn/internal/approval"
	"bawn/internal/hostname"
	"bawn/internal/policy"
)

// prompt words the question. Nothing wider than the host and port is offered,
// and to be kept, than what a rule can say: the name with all below it.
func (q *questions) prompt(c policy.Connect, asked policy.Decision) (approval.Prompt, policy.HostRule) {
	host, warning := hostname.Display(c.Host)
	_, literal := c.Host.Addr()
	at := net.JoinHostPort(host, strconv.Itoa(int(c.Port)))
	until := "the command ends"
	if q.asker == nil {
		until = "the session ends"
	}
	p := approval.Prompt{
		Title: "The command wants to connect to a host that is not on the list. Allow it?", Brief: "Connect to a host not on the list?", Object: at, Rule: asked.Rule,
		Offers: []approval.Offer{
			{Scope: approval.Once, Text: "this connection"},
			{Scope: approval.Session, Text: at + " until " + until, Brief: "until " + until},
		},
	}
	if owner := hostname.Registrable(c.Host); !literal && owner != host {
		p.Notes = append(p.Notes, "it belongs to "+owner)
	}
	if warning != "" {
		p.Notes = append(p.Notes, "careful: it "+warning)
	}
	rule, err := hostname.ParseRule(at, policy.Origin{File: "answer"})
	if err != nil || hostname.CheckRule(rule) != nil || q.save == nil {
		return p, policy.HostRule{} // what many owners share is not for keeping
	}
	text, brief := "always: "+rule.String(), "always (saved)"
	if !literal {
		text += " and all names below it"
		brief += ", and names below it"
	}
	p.Offers = append(p.Offers, approval.Offer{Scope: approval.Always, Text: text + " (saved in your settings)", Brief: brief})
	return p, rule
}
