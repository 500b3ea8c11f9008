//go:build linux

package stage

import (
	"fmt"
	"strings"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox/linux/guard"
)

// newTeller tells into a queue that nobody sends from.
func newTeller() *teller {
	t := newTellerFor(make(chan []byte, 2048))
	t.sent = make(chan struct{})
	return t
}

func event(path, reason string) guard.Event {
	return guard.Event{Op: guard.Create, Path: path, Rule: policy.Rule{ID: "name:x", Text: "text", Lift: "lift"}, Reason: reason}
}

// Many names of one kind do not keep one of another from being told.
func TestOneKindOfNamesLeavesRoomForTheOthers(t *testing.T) {
	kinds := map[byte]func(e *guard.Event){
		denied:  func(*guard.Event) {},
		watched: func(e *guard.Event) { e.Allowed, e.Rule.ID = true, "watch:x" },
		unable:  func(e *guard.Event) { e.Failed, e.Rule = true, policy.Rule{} },
	}
	for many, is := range kinds {
		told := newTeller()
		for i := range 1000 {
			e := event(fmt.Sprint("/w/", i), "")
			is(&e)
			told.note(e)
		}
		if n := len(told.queue); n != tellings[many] {
			t.Errorf("%c: %d are told, want %d", many, n, tellings[many])
		}
		for other, is := range kinds {
			before := len(told.queue)
			e := event("/w/other", "")
			is(&e)
			told.note(e)
			if said := len(told.queue) - before; other != many && said != 1 {
				t.Errorf("after %d of %c, one of %c is told %d times", 1000, many, other, said)
			}
		}
	}
}

// What a command wrote into a refused file cannot make the refusal too long to
// be told, nor can the line of its processes.
func TestLongRefusalIsTold(t *testing.T) {
	told := newTeller()
	e := event("/"+strings.Repeat("p", 4094), strings.Repeat("é", 60<<10))
	e.Command = strings.Repeat("c", 64)
	e.Rule.Text, e.Rule.Lift = strings.Repeat("t", 5000), strings.Repeat("l", 5000)
	for range 16 {
		e.Line = append(e.Line, guard.Ancestor{PID: 1 << 22, Parent: 1 << 22, Command: strings.Repeat("c", 64)})
	}
	told.note(e)
	if len(told.queue) != 1 {
		t.Fatal("it is not told")
	}
	msg := <-told.queue
	if len(msg) > maxName {
		t.Errorf("the message has %d bytes, want at most %d", len(msg), maxName)
	}
	f := strings.Split(string(msg[2:]), "\x00")
	if len(f) < 9 || f[3] != e.Path || f[4] != "name:x" || !strings.HasPrefix(f[7], "éé") || !strings.HasSuffix(f[7], "é…") {
		t.Errorf("told: %.200q", f)
	}
}

// Of what was denied every call is counted, told or not.
func TestDeniedCallsAreCounted(t *testing.T) {
	told := newTeller()
	for i := range 300 {
		for range 1 + i%2 {
			told.note(event(fmt.Sprint("/w/", i), ""))
		}
	}
	watch := event("/w/seen", "")
	watch.Allowed, watch.Rule.ID = true, "watch:x"
	told.note(watch)
	told.note(watch)
	f := strings.Split(string(told.counts()), "\x00")
	// 44 names beyond the bound, every other one twice, and 128 of the first 256.
	if f[0] != string([]byte{MsgName, counted})+"66" || len(f) != 130 || f[1] != "1 1" || f[128] != "255 1" || f[129] != "" {
		t.Errorf("%q", f)
	}
	if msg := newTeller().counts(); msg != nil {
		t.Errorf("nothing was denied: %q", msg)
	}
}
