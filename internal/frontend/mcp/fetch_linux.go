package mcp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"bawn/internal/frontend/mcp/inside"
	"bawn/internal/frontend/mcp/protocol"
	"bawn/internal/policy"
	"bawn/internal/session"
)

const (
	defaultPage = 100 << 10 // bytes of a page that are shown
	maxPage     = 2 << 20
)

type fetchIn struct {
	URL      string `json:"url" jsonschema:"http or https"`
	Method   string `json:"method,omitempty" jsonschema:"GET (default) or HEAD"`
	Format   string `json:"format,omitempty" jsonschema:"of a page: markdown (default), text or html"`
	MaxBytes int    `json:"max_bytes,omitempty" jsonschema:"default: 102400"`
}

// FetchResult is what came of an address.
type FetchResult struct {
	URL       string   `json:"url"` // after redirects
	Status    int      `json:"status"`
	Type      string   `json:"content_type,omitempty"`
	Truncated bool     `json:"truncated"`
	Denied    []Denied `json:"denied"`
}

func (in *fetchIn) check() error {
	u, err := url.Parse(in.URL)
	if err != nil {
		return err
	}
	in.Method, in.Format = orElse(in.Method, "GET"), orElse(in.Format, "markdown")
	switch {
	case u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return fmt.Errorf("%q is no http or https address", in.URL)
	case u.User != nil:
		return errors.New("an address with a name or password in it is not fetched")
	case in.Method != "GET" && in.Method != "HEAD":
		return fmt.Errorf("method is %q: it is GET or HEAD", in.Method)
	case in.Format != "markdown" && in.Format != "text" && in.Format != "html":
		return fmt.Errorf("format is %q: it is markdown, text or html", in.Format)
	case in.MaxBytes < 0 || in.MaxBytes > maxPage:
		return fmt.Errorf("max_bytes is %d: it is at most %d", in.MaxBytes, maxPage)
	case in.MaxBytes == 0:
		in.MaxBytes = defaultPage
	}
	return nil
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// fetch reads an address from inside, by the session's way out: its hosts are
// the commands'.
func (s *server) fetch(ctx context.Context, req *protocol.Request, in fetchIn) (*protocol.Result, FetchResult, error) {
	return s.page(ctx, req, in, false)
}

// webFetch reads any public address, under its own permission (SPEC N8).
func (s *server) webFetch(ctx context.Context, req *protocol.Request, in fetchIn) (*protocol.Result, FetchResult, error) {
	return s.page(ctx, req, in, true)
}

// noNetwork is the denial of every address, where there is no network.
func (s *server) noNetwork(p policy.Policy, at string) (d Denied, off bool) {
	if !p.Sandboxed() || p.HasNetwork() {
		return d, false
	}
	return s.deniedBy("connect", at, p.NoNetwork()), true
}

func (s *server) page(ctx context.Context, req *protocol.Request, in fetchIn, web bool) (*protocol.Result, FetchResult, error) {
	if err := in.check(); err != nil {
		return nil, FetchResult{}, err
	}
	sess, err := s.session(req.Client)
	if err != nil {
		return nil, FetchResult{}, err
	}
	if d, off := s.noNetwork(sess.Policy(), in.URL); off {
		out := FetchResult{URL: in.URL, Denied: []Denied{d}}
		return textResult(deniedText(out.Denied), true), out, nil
	}
	name := "fetch"
	if web {
		name = "web_fetch"
	}
	if err := s.pages.take(ctx, req); err != nil {
		return nil, FetchResult{}, err
	}
	r := inside.Request{Op: "fetch", URL: in.URL, Method: in.Method, Format: in.Format, Max: in.MaxBytes, Public: web && !sess.Policy().Sandboxed(), Held: web && sess.Policy().Sandboxed()}
	return call(ctx, s, req,
		func(sess *session.Session) (*run, error) { return s.once(sess, r, nil, web, name, in.URL) },
		func(done *run) (*protocol.Result, FetchResult, error) {
			if res := s.ended(done); res.Reason != "" {
				res.Stdout = ""
				return textResult(res.text(), true), FetchResult{URL: in.URL, Denied: res.Denied}, nil
			}
			a, body, err := answer(done)
			if err != nil {
				return nil, FetchResult{}, err
			}
			const never = "nothing does for web_fetch; fetch is under the rules of the settings"
			if web { // no rule opens an internal address to it
				for i := range done.denied {
					if r := &done.denied[i].Rule; strings.HasPrefix(r.ID, "address:") {
						r.Lift = never
					}
				}
			}
			out := FetchResult{URL: a.URL, Status: a.Status, Type: a.Type, Truncated: a.More, Denied: s.denied(done.denied)}
			if a.Failed != "" {
				out.URL = in.URL
				if a.Denied && a.Real != "" && len(out.Denied) == 0 { // no egress was asked
					out.Denied = append(out.Denied, s.deniedBy("connect", a.Real, policy.Rule{ID: "address:internal", Text: a.Failed, Lift: never}))
				}
				return textResult("["+policy.Escape(a.Failed)+"]\n"+deniedText(out.Denied), true), out, nil
			}
			text := valid(body)
			if web && len(out.Denied) > 0 {
				text = "" // the refusal's page names a setting, which opens nothing here
			}
			if a.Status != 200 || a.URL != in.URL {
				text = fmt.Sprintf("[status %d, %s]\n%s", a.Status, policy.Escape(a.URL), text)
			}
			if a.More {
				text += "\n[it was cut: max_bytes]\n"
			}
			// A refusal of plain HTTP is a page that says so.
			return textResult(text+deniedText(out.Denied), len(out.Denied) > 0), out, nil
		})
}
