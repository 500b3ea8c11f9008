//go:build linux

package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// Question is one of a process that runs commands by itself, for the person of
// a session.
type Question struct {
	Dir string // absolute: whose session is asked
	session.Foreign
}

func (x Question) encode() []byte {
	var e encoder
	e.text(x.Dir)
	e.text(x.Foreign.Command)
	e.text(x.Foreign.Dir)
	p := x.Prompt
	e.text(p.Title)
	e.text(p.Object)
	e.list(p.Notes)
	e.text(p.Rule.ID)
	e.text(p.Rule.Text)
	e.text(p.Rule.Origin.File)
	e.num(p.Rule.Origin.Line)
	e.num(len(p.Offers))
	for _, o := range p.Offers {
		e.num(int(o.Scope))
		e.text(o.Text)
	}
	return e
}

// maxOffers is how many ways to say yes a question has at most: a scope each.
const maxOffers = int(approval.Always)

// decodeQuestion reads what encode wrote; anything else is an error, and so is
// a question to which yes would be no answer.
func decodeQuestion(data []byte) (Question, error) {
	d := decoder{data: data}
	x := Question{Dir: d.text(), Foreign: session.Foreign{Command: d.text(), Dir: d.text()}}
	p := &x.Prompt
	p.Title, p.Object, p.Notes = d.text(), d.text(), d.list()
	p.Rule = policy.Rule{ID: d.text(), Text: d.text(), Origin: policy.Origin{File: d.text(), Line: d.num(1 << 30)}}
	for range d.num(maxOffers) {
		o := approval.Offer{Scope: approval.Scope(d.num(int(approval.Always))), Text: d.text()}
		if o.Scope == approval.No || slices.ContainsFunc(p.Offers, func(x approval.Offer) bool { return x.Scope == o.Scope }) {
			return Question{}, errMessage
		}
		p.Offers = append(p.Offers, o)
	}
	if err := d.end(); err != nil {
		return Question{}, err
	}
	if !policy.IsClean(x.Dir) || p.Title == "" || len(p.Offers) == 0 {
		return Question{}, errMessage
	}
	return x, nil
}

func encodeAnswer(a approval.Answer) []byte {
	var e encoder
	e.num(int(a.Scope))
	e.flag(a.Given)
	e.text(a.Reason)
	return e
}

func decodeAnswer(data []byte) (approval.Answer, error) {
	d := decoder{data: data}
	a := approval.Answer{Scope: approval.Scope(d.num(int(approval.Always))), Given: d.flag(), Reason: d.text()}
	if err := d.end(); err != nil {
		return approval.Answer{}, err
	}
	if a.Scope != approval.No && !a.Given {
		return approval.Answer{}, errMessage
	}
	return a, nil
}

// Ask puts a question to the person of a session: the one with this id, or with
// "" the newest whose workspace holds the folder. It waits for the answer, or
// until ctx ends, which withdraws the question. ErrNoSession if there is none.
func Ask(ctx context.Context, folders []string, id string, x Question) (a approval.Answer, err error) {
	if id != "" && !isID(id) {
		return a, fmt.Errorf("%q is not the id of a session", id)
	}
	body := x.encode()
	if len(body) >= maxFrame {
		return a, errors.New("the question is too long for a session")
	}
	err = each(folders, id, func(_ string, w *wire) (err error) {
		defer w.c.Close()
		stop := context.AfterFunc(ctx, func() { w.c.Close() })
		defer stop()
		if err := w.send(msgAsk, body); err != nil {
			return ErrNoSession
		}
		if err := w.taken(); err != nil {
			return err
		}
		kind, body, _, err := w.receive(maxFrame, func(byte) int { return 0 })
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || kind != msgAnswer:
			return errors.New("the session ended before there was an answer")
		}
		a, err = decodeAnswer(body)
		return err
	})
	return a, err
}

// relay shows a client's question in the session, as long as the client waits.
func (d *Door) relay(w *wire, x Question) {
	ctx, cancel := context.WithCancel(d.ctx)
	defer cancel()
	gone := make(chan struct{})
	go func() { // it has nothing more to say
		defer close(gone)
		_, _, _, _ = w.receive(1, func(byte) int { return 0 })
		cancel()
	}()
	x.Prompt.Notes = append(x.Prompt.Notes, "asked by bawn mcp, another process of yours: it has a policy of its own, and the answer holds there")
	a := d.s.Put(ctx, x.Foreign)
	_ = w.send(msgAnswer, encodeAnswer(a))
	w.c.Close()
	<-gone
}
