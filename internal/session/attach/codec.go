//go:build linux

package attach

import (
	"encoding/binary"
	"errors"
	"strings"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/session"
)

// Request is a command that a client wants to have run.
type Request struct {
	Command session.Command
	Dir     string   // absolute
	Env     []string // whole
	TTY     bool     // the three streams are one terminal
	Tier    policy.Tier
	// NoEgress asks for no way to the network, which any session can give.
	NoEgress bool
}

const (
	// maxRequest bounds a request, in bytes: twice what a command line and its
	// environment can have together.
	maxRequest = 4 << 20
	// maxFrame bounds every other message.
	maxFrame = 256 << 10
	maxItems = 1 << 16 // of a list
)

// Messages: a length of four bytes, a kind, and what belongs to it.
const (
	// of the client
	msgRun    = 'r' // a Request, with the three streams
	msgWhere  = 'w' // a folder: is it this session's?
	msgSignal = 's' // a number
	msgAck    = 'a' // the terminal is prepared
	msgAsk    = 'q' // a Question
	// of the session
	msgTaken   = 'k' // the folder is this session's, and what was asked for is under way
	msgOther   = 'o' // it is not: nothing runs
	msgRefused = 'x' // nothing runs, because
	msgTTY     = 't' // with the master
	msgStarted = 'b'
	msgStopped = 'p' // by a signal
	msgNotice  = 'n'
	msgEnded   = 'e' // code, reason, what came of it
	msgAnswer  = 'y' // to a Question
)

var errMessage = errors.New("malformed message")

// encoder writes fields one after the other; decoder reads them, and nothing
// else. A text has its length before it.
type encoder []byte

func (e *encoder) num(n int) { *e = binary.AppendUvarint(*e, uint64(n)) }

func (e *encoder) flag(on bool) {
	if on {
		e.num(1)
	} else {
		e.num(0)
	}
}

func (e *encoder) text(s string) {
	e.num(len(s))
	*e = append(*e, s...)
}

func (e *encoder) list(v []string) {
	e.num(len(v))
	for _, s := range v {
		e.text(s)
	}
}

type decoder struct {
	data []byte
	bad  bool
}

// num reads a number of at most limit, in its shortest form.
func (d *decoder) num(limit int) int {
	v, n := binary.Uvarint(d.data)
	if n <= 0 || v > uint64(limit) || n > 1 && d.data[n-1] == 0 {
		d.bad = true
		return 0
	}
	d.data = d.data[n:]
	return int(v)
}

func (d *decoder) flag() bool { return d.num(1) == 1 }

func (d *decoder) text() string {
	n := d.num(len(d.data))
	if d.bad || n > len(d.data) {
		d.bad = true
		return ""
	}
	s := string(d.data[:n])
	d.data = d.data[n:]
	return s
}

func (d *decoder) list() []string {
	n := d.num(maxItems)
	var out []string
	for range n {
		if d.bad {
			return nil
		}
		out = append(out, d.text())
	}
	return out
}

// end reports whether all was read, and nothing was wrong.
func (d *decoder) end() error {
	if d.bad || len(d.data) != 0 {
		return errMessage
	}
	return nil
}

func (r Request) encode() []byte {
	var e encoder
	e.list(r.Command.Args)
	e.text(r.Command.Text)
	e.flag(r.Command.IsText)
	e.text(r.Dir)
	e.list(r.Env)
	e.flag(r.TTY)
	e.num(int(r.Tier))
	e.flag(r.NoEgress)
	return e
}

// decodeRequest reads what encode wrote; anything else is an error, and so is
// what no command can have.
func decodeRequest(data []byte) (Request, error) {
	d := decoder{data: data}
	r := Request{Command: session.Command{Args: d.list(), Text: d.text(), IsText: d.flag()}}
	r.Dir, r.Env, r.TTY, r.Tier = d.text(), d.list(), d.flag(), policy.Tier(d.num(int(policy.Guarded)))
	r.NoEgress = d.flag()
	if err := d.end(); err != nil {
		return Request{}, err
	}
	whole := append(append([]string{r.Dir, r.Command.Text}, r.Command.Args...), r.Env...)
	for _, s := range whole {
		if strings.IndexByte(s, 0) >= 0 {
			return Request{}, errMessage
		}
	}
	if !policy.IsClean(r.Dir) || r.Command.IsText == (r.Command.Text == "") || !r.Command.IsText && (len(r.Command.Args) == 0 || r.Command.Args[0] == "") {
		return Request{}, errMessage
	}
	return r, nil
}

// ending is how a command ended, and what came of it.
type ending struct {
	code   int
	reason string
	session.Ended
}

func (x ending) encode() []byte {
	var e encoder
	e.num(x.code)
	e.text(x.reason)
	e.num(x.More)
	e.list(x.Written)
	e.num(len(x.Denials))
	for _, d := range x.Denials {
		e.text(d.Path)
		e.text(d.Host)
		e.num(int(d.Port))
		e.num(d.Count)
		e.num(d.PID)
		e.text(d.Command)
		e.text(d.Rule.ID)
		e.text(d.Rule.Text)
		e.text(d.Rule.Lift)
		e.text(d.Rule.Origin.File)
		e.num(d.Rule.Origin.Line)
	}
	return e
}

func decodeEnding(data []byte) (ending, error) {
	const many = 1 << 30
	d := decoder{data: data}
	x := ending{code: d.num(255), reason: d.text()}
	x.More, x.Written = d.num(many), d.list()
	for range d.num(maxItems) {
		if d.bad {
			break
		}
		one := session.Denial{Path: d.text(), Host: d.text(), Port: uint16(d.num(1<<16 - 1)), Count: d.num(many), PID: d.num(many), Command: d.text()}
		one.Rule = policy.Rule{ID: d.text(), Text: d.text(), Lift: d.text(), Origin: policy.Origin{File: d.text(), Line: d.num(many)}}
		x.Denials = append(x.Denials, one)
	}
	return x, d.end()
}

func (x ending) event() sandbox.Event {
	if x.reason != "" {
		return sandbox.Event{Kind: sandbox.EventFailed, Code: x.code, Reason: x.reason}
	}
	return sandbox.Event{Kind: sandbox.EventExited, Code: x.code}
}
