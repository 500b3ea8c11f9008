package mcp

import (
	"net/url"
	"strings"
	"testing"
)

// Whatever a search service answers: at most so many, each a line of text and a
// web address, without control characters.
func FuzzFound(f *testing.F) {
	f.Add([]byte(`{"results":[{"title":"a\nb","url":"https://x.example/","content":"\u001b[31m"},{"url":"file:///etc/passwd"},{"url":"HTTP://x"}]}`))
	f.Add([]byte(`{"results":[{"title":"` + strings.Repeat("é", 400) + `","url":"http://x/"}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		list, err := found(body, 3)
		if err != nil {
			return
		}
		if len(list) > 3 {
			t.Fatalf("%d", len(list))
		}
		for _, one := range list {
			if u, err := url.Parse(one.URL); err == nil && u.Scheme != "http" && u.Scheme != "https" {
				t.Fatalf("%q", one.URL)
			}
			if s := one.Title + one.URL + one.Snippet; strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r == 0x9b || r == 0x202e }) {
				t.Fatalf("%q", s)
			}
		}
	})
}
