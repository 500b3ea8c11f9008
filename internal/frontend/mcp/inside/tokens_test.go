package inside

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
	"pgregory.net/rapid"
)

// byLibrary are the tokens of a page as a library for all of HTML has them.
func byLibrary(page string) (out []token) {
	t := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := t.Next()
		switch kind {
		case html.ErrorToken:
			return out
		case html.TextToken:
			out = append(out, token{text: string(t.Text())})
		case html.StartTagToken, html.EndTagToken, html.SelfClosingTagToken:
			name, more := t.TagName()
			one := token{kind: map[html.TokenType]tokenKind{html.StartTagToken: startToken, html.EndTagToken: endToken, html.SelfClosingTagToken: emptyToken}[kind], text: string(name)}
			for more {
				var k, v []byte
				if k, v, more = t.TagAttr(); string(k) == "href" && one.href == "" && kind != html.EndTagToken {
					one.href = string(v)
				}
			}
			out = append(out, one)
		}
	}
}

// joined has no two texts beside each other, and of a tag what is looked at.
func joined(list []token) (out []token) {
	for _, t := range list {
		if n := len(out); n > 0 && t.kind == textToken && out[n-1].kind == textToken {
			out[n-1].text += t.text
			continue
		}
		if t.kind == endToken {
			t.href = ""
		}
		if t.kind != textToken || t.text != "" {
			out = append(out, t)
		}
	}
	return out
}

// Pages are taken apart as a library does it that knows all of HTML.
func TestTokens(t *testing.T) {
	pieces := []string{
		"<p>", "</p>", "<a href=x>", `<a href="y&amp;z">`, "<A HREF='q r'>", "<a class=c href = v >", "<br/>", "<br />", "<img src=a/b>", "</", "</>", "</ x>", "<", "< p>", "<3",
		"text", "a &amp; b", "&lt;", "&#65;&copy;", "&unknown;", "\n", " ", "<!-- c > d -->", "<!-->", "<!--->", "<!doctype html>", "<?php x ?>", "<script>if (a<b) {}</script>", "<script>", "</script>",
		"<style>p>a{}</style>", "<title>A &amp; <b></title>", "<textarea>&lt;<p></textarea>", "</SCRIPT >", "<input disabled>", "<a b=\"x>y\">", "<h1\nid=x\n>", "<p/ >", "é", "<a href>", "<a href=>", "-->",
	}
	rapid.Check(t, func(t *rapid.T) {
		page := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 12).Draw(t, "pieces"), "")
		var got []token
		for all := (tokens{page: []byte(page)}); ; {
			tok, ok := all.next()
			if !ok {
				break
			}
			got = append(got, tok)
		}
		got, want := joined(got), joined(byLibrary(page))
		if len(got) != len(want) {
			t.Fatalf("%q:\n%q\n%q", page, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("%q: token %d is %q, want %q", page, i, got[i], want[i])
			}
		}
	})
}
