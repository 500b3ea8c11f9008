package mcp

import (
	"context"
	"encoding/json"
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
	defaultFound = 10
	maxFound     = 50
	// maxSnippet bounds what is shown of one result, in bytes of each field.
	maxSnippet = 1000
)

type searchIn struct {
	Query string `json:"query"`
	Max   int    `json:"max_results,omitempty" jsonschema:"default: 10"`
}

// Found is one result of a search: what a stranger wrote.
type Found struct {
	Title   string `json:"title"`
	URL     string `json:"url"`
	Snippet string `json:"snippet,omitempty"`
}

// SearchResult is what came of a search.
type SearchResult struct {
	Results []Found  `json:"results"`
	Denied  []Denied `json:"denied"`
}

// webSearch asks the search service of the user's settings, from inside: its
// host is allowed or not like any other.
func (s *server) webSearch(ctx context.Context, req *protocol.Request, in searchIn) (*protocol.Result, SearchResult, error) {
	none := SearchResult{Results: []Found{}, Denied: []Denied{}}
	if in.Max == 0 {
		in.Max = defaultFound
	}
	switch {
	case strings.TrimSpace(in.Query) == "" || len(in.Query) > 2000:
		return nil, none, errors.New("query has 1 to 2000 bytes")
	case in.Max < 1 || in.Max > maxFound:
		return nil, none, fmt.Errorf("max_results is %d: it is from 1 to %d", in.Max, maxFound)
	}
	sess, err := s.session(req.Client)
	if err != nil {
		return nil, none, err
	}
	at := s.o.Search + "?" + url.Values{"q": {in.Query}, "format": {"json"}}.Encode()
	if d, off := s.noNetwork(sess.Policy(), s.o.Search); off {
		none.Denied = append(none.Denied, d)
		return textResult(deniedText(none.Denied), true), none, nil
	}
	if err := s.pages.take(ctx, req); err != nil {
		return nil, none, err
	}
	r := inside.Request{Op: "fetch", URL: at, Method: "GET", Format: "text", Max: maxPage}
	return call(ctx, s, req,
		func(sess *session.Session) (*run, error) { return s.once(sess, r, nil, false, "web_search", in.Query) },
		func(done *run) (*protocol.Result, SearchResult, error) {
			if res := s.ended(done); res.Reason != "" {
				none.Denied = res.Denied
				return textResult(res.text(), true), none, nil
			}
			a, body, err := answer(done)
			if err != nil {
				return nil, none, err
			}
			out := SearchResult{Results: []Found{}, Denied: s.denied(done.denied)}
			if why := failedSearch(a); why != "" || len(out.Denied) > 0 {
				return textResult("[the search failed: "+policy.Escape(orElse(why, "it was refused"))+"]\n"+deniedText(out.Denied), true), out, nil
			}
			if out.Results, err = found(body, in.Max); err != nil {
				return nil, none, err
			}
			return textResult(foundText(out.Results), false), out, nil
		})
}

func failedSearch(a inside.Answer) string {
	switch {
	case a.Failed != "":
		return a.Failed
	case a.Status != 200:
		return fmt.Sprintf("the service answers with status %d", a.Status)
	case a.More:
		return "the answer is too long"
	}
	return ""
}

// found reads the answer of a service, in the form of SearXNG's
// (docs.searxng.org, "Search API").
func found(body []byte, most int) ([]Found, error) {
	var answer struct {
		Results []struct {
			Title   string `json:"title"`
			URL     string `json:"url"`
			Content string `json:"content"`
		} `json:"results"`
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return nil, errors.New("the search service's answer is not JSON as SearXNG has it; does it allow format=json?")
	}
	out := []Found{}
	for _, r := range answer.Results {
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" {
			continue
		}
		if out = append(out, Found{oneLine(r.Title), oneLine(r.URL), oneLine(r.Content)}); len(out) == most {
			break
		}
	}
	return out, nil
}

func oneLine(s string) string {
	if s = strings.Join(strings.Fields(s), " "); len(s) > maxSnippet {
		s = strings.ToValidUTF8(s[:maxSnippet], "") + "…"
	}
	return policy.Escape(s)
}

func foundText(list []Found) string {
	if len(list) == 0 {
		return "[nothing was found]\n"
	}
	var b strings.Builder
	for i, f := range list {
		fmt.Fprintf(&b, "%d. %s\n   %s\n", i+1, f.Title, f.URL)
		if f.Snippet != "" {
			fmt.Fprintf(&b, "   %s\n", f.Snippet)
		}
	}
	return b.String()
}
