//go:build linux

package attach

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"bawn/internal/approval"
	"bawn/internal/policy"
	"bawn/internal/session"
)

// A question is read one way, or not at all; each of its yeses is one, for a
// scope of its own. An answer is a yes only where one was given.
func FuzzQuestion(f *testing.F) {
	x := Question{Dir: "/w", Foreign: session.Foreign{Command: "curl x", Dir: "/w/sub"}}
	x.Prompt = approval.Prompt{Title: "Allow it?", Object: "x.example:443", Notes: []string{"a", ""}, Rule: policy.Rule{ID: "r", Text: "why", Origin: policy.Origin{File: "/c", Line: 7}}}
	x.Prompt.Offers = []approval.Offer{{Scope: approval.Once, Text: "once"}, {Scope: approval.Session, Text: "session"}, {Scope: approval.Always, Text: "always"}}
	f.Add(x.encode())
	x.Prompt.Offers = append(x.Prompt.Offers[:1], x.Prompt.Offers[0])
	f.Add(x.encode())
	f.Add(encodeAnswer(approval.Answer{Scope: approval.Session, Given: true}))
	f.Add(encodeAnswer(approval.Answer{Scope: approval.Once, Reason: "x"}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if x, err := decodeQuestion(data); err == nil {
			if !bytes.Equal(x.encode(), data) {
				t.Fatalf("%q is %+v", data, x)
			}
			var scopes []approval.Scope
			for _, o := range x.Prompt.Offers {
				if o.Scope == approval.No || o.Scope > approval.Always || slices.Contains(scopes, o.Scope) {
					t.Fatalf("%q offers %+v", data, x.Prompt.Offers)
				}
				scopes = append(scopes, o.Scope)
			}
			if len(scopes) == 0 || !policy.IsClean(x.Dir) || x.Prompt.Title == "" {
				t.Fatalf("%q is %+v", data, x)
			}
		}
		if a, err := decodeAnswer(data); err == nil && (!bytes.Equal(encodeAnswer(a), data) || a.Scope != approval.No && !a.Given || a.Scope > approval.Always) {
			t.Fatalf("%q is %+v", data, a)
		}
	})
}

// Whatever an end writes, a message is within its bounds and what was written.
func FuzzMessage(f *testing.F) {
	f.Add([]byte{0, 0, 0, 3, msgAck, 'a', 'b'})
	f.Add([]byte{0, 0, 0, 0})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, msgRun})
	f.Fuzz(func(t *testing.T, data []byte) {
		const limit = 64
		if len(data) > 4096 {
			return // more than the socket takes at once
		}
		a, b := pair(t)
		if _, err := a.c.Write(data); err != nil {
			t.Fatal(err)
		}
		a.c.Close()
		defer b.c.Close()
		kind, body, files, err := b.receive(limit, func(byte) int { return 0 })
		if err != nil {
			return
		}
		if n := int(binary.BigEndian.Uint32(data)); n > limit || n != 1+len(body) || kind != data[4] || !bytes.Equal(body, data[5:4+n]) || len(files) != 0 {
			t.Fatalf("%q is %c %q", data, kind, body)
		}
	})
}
