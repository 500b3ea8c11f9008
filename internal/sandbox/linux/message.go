//go:build linux

package linux

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
	"bawn/internal/sandbox/linux/stage"
	"bawn/internal/sandbox/linux/stage/netns"
)

// eventReady never leaves this package.
const eventReady sandbox.EventKind = 0

// decode reads one message of the stage. Descriptors of a message that is
// not understood are closed.
func (p *process) decode(msg, oob []byte) (sandbox.Event, error) {
	fds := rights(oob)
	code := 0
	if len(msg) > 1 {
		code = int(msg[1])
	}
	switch {
	case msg[0] == stage.MsgReady:
		return sandbox.Event{Kind: eventReady, Reason: string(msg[1:])}, nil
	case msg[0] == stage.MsgStarted:
		return sandbox.Event{Kind: sandbox.EventStarted}, nil
	case msg[0] == stage.MsgStopped && len(msg) == 2:
		return sandbox.Event{Kind: sandbox.EventStopped, Code: code}, nil
	case msg[0] == stage.MsgExited && len(msg) == 2:
		p.exited.Store(true)
		return sandbox.Event{Kind: sandbox.EventExited, Code: code}, nil
	case msg[0] == stage.MsgFailed && len(msg) >= 2:
		return sandbox.Event{Kind: sandbox.EventFailed, Code: code, Reason: string(msg[2:])}, nil
	case msg[0] == stage.MsgTTY && len(fds) == 1:
		return sandbox.Event{Kind: sandbox.EventTTY, TTY: os.NewFile(uintptr(fds[0]), "terminal")}, nil
	case msg[0] == stage.MsgConnect && len(fds) == 1:
		return sandbox.Event{Kind: sandbox.EventConnected, File: os.NewFile(uintptr(fds[0]), "connection")}, nil
	case msg[0] == stage.MsgConnect && len(fds) == 0:
		return sandbox.Event{Kind: sandbox.EventConnected, Reason: string(msg[1:])}, nil
	case msg[0] == stage.MsgLost && len(fds) == 0:
		return sandbox.Event{Kind: sandbox.EventLost, Reason: string(msg[1:])}, nil
	case msg[0] == stage.MsgName && len(msg) > 2 && msg[1] == '=' && len(fds) == 0:
		if c, ok := nameCounts(string(msg[2:])); ok {
			return sandbox.Event{Kind: sandbox.EventCounts, Counts: c}, nil
		}
	case msg[0] == stage.MsgName && len(msg) > 2 && len(fds) == 0:
		if n, ok := nameEvent(string(msg[1:])); ok {
			return sandbox.Event{Kind: sandbox.EventName, Name: n}, nil
		}
	case msg[0] == stage.MsgProcess && len(fds) == 0:
		if seen := members(string(msg[1:])); len(seen) > 0 {
			return sandbox.Event{Kind: sandbox.EventProcesses, Processes: seen}, nil
		}
	case msg[0] == stage.MsgNetwork && len(msg) >= 2+code && code == len(fds):
		if net, ok := p.sockets(msg[2:2+code], fds); ok {
			net.Reason = string(msg[2+code:])
			return sandbox.Event{Kind: sandbox.EventNetwork, Net: net}, nil
		}
	}
	for _, fd := range fds {
		unix.Close(fd)
	}
	return sandbox.Event{}, fmt.Errorf("malformed message %q from the sandbox", msg[0])
}

// nameEvent reads what the guard said about one name.
func nameEvent(text string) (*sandbox.NameEvent, bool) {
	f := strings.Split(text[1:], "\x00")
	last := len(f) - 1
	if last < 8 || f[last] != "" {
		return nil, false
	}
	pid, err := strconv.Atoi(f[0])
	return &sandbox.NameEvent{
		Line:    ancestors(f[8:last]),
		Allowed: text[0] == '+', Failed: text[0] == '!', PID: pid, Command: f[1], Op: f[2], Path: f[3],
		Rule: policy.Rule{ID: f[4], Text: f[5], Lift: f[6]}, Reason: f[7],
	}, err == nil
}

// members reads what was seen of the processes.
func members(text string) (out []sandbox.Ancestor) {
	for text != "" {
		var one string
		one, text, _ = strings.Cut(text, "\x00")
		f := strings.SplitN(one, " ", 4)
		if len(f) < 4 {
			return nil
		}
		pid, err1 := strconv.Atoi(f[0])
		parent, err2 := strconv.Atoi(f[1])
		count, err3 := strconv.Atoi(f[2])
		if err1 != nil || err2 != nil || err3 != nil {
			return nil
		}
		out = append(out, sandbox.Ancestor{PID: pid, Parent: parent, Command: f[3], Count: count})
	}
	return out
}

// nameCounts reads how often calls were denied that were not told one by one.
func nameCounts(text string) (*sandbox.NameCounts, bool) {
	f := strings.Split(text, "\x00")
	last := len(f) - 1
	more, err := strconv.Atoi(f[0])
	if last < 1 || f[last] != "" || err != nil || more < 0 {
		return nil, false
	}
	c := &sandbox.NameCounts{More: more}
	for _, pair := range f[1:last] {
		number, times, _ := strings.Cut(pair, " ")
		n, err1 := strconv.Atoi(number)
		again, err2 := strconv.Atoi(times)
		if err1 != nil || err2 != nil || n < 0 || again < 1 {
			return nil, false
		}
		c.Again = append(c.Again, sandbox.NameAgain{Number: n, Times: again})
	}
	return c, true
}

// ancestors reads the line of processes behind it.
func ancestors(fields []string) (out []sandbox.Ancestor) {
	for _, f := range fields {
		pid, rest, _ := strings.Cut(f, " ")
		parent, command, _ := strings.Cut(rest, " ")
		p, err1 := strconv.Atoi(pid)
		pp, err2 := strconv.Atoi(parent)
		if err1 == nil && err2 == nil {
			out = append(out, sandbox.Ancestor{PID: p, Parent: pp, Command: command})
		}
	}
	return out
}

// rights are the descriptors that came with a message.
func rights(oob []byte) []int {
	if len(oob) == 0 {
		return nil
	}
	var out []int
	cms, err := unix.ParseSocketControlMessage(oob)
	if err != nil {
		return nil
	}
	for i := range cms {
		fds, err := unix.ParseUnixRights(&cms[i])
		if err == nil {
			out = append(out, fds...)
		}
	}
	return out
}

// sockets puts the descriptors where their kinds say. It takes over all of
// them or, if false, none: whoever closed them twice would close another's.
func (p *process) sockets(kinds []byte, fds []int) (*sandbox.Sockets, bool) {
	count := map[netns.Kind]int{}
	for _, k := range kinds {
		count[netns.Kind(k)]++
	}
	if count[netns.Proxy] > 1 || count[netns.TUN] > 1 || count[netns.Relay] > 1 || count[netns.LocalPort] > len(p.local) ||
		count[netns.Proxy]+count[netns.TUN]+count[netns.Relay]+count[netns.LocalPort]+
			count[netns.DNSPacket]+count[netns.DNSStream] != len(kinds) {
		return nil, false
	}
	s := &sandbox.Sockets{Local: map[uint16]*os.File{}}
	for i, k := range kinds {
		f := os.NewFile(uintptr(fds[i]), "sandbox socket")
		switch netns.Kind(k) {
		case netns.Proxy:
			s.Proxy = f
		case netns.TUN:
			s.TUN = f
		case netns.Relay:
			s.Relay = f
		case netns.DNSPacket:
			s.DNSPackets = append(s.DNSPackets, f)
		case netns.DNSStream:
			s.DNSStreams = append(s.DNSStreams, f)
		case netns.LocalPort:
			s.Local[p.local[len(s.Local)]] = f
		}
	}
	return s, true
}
