package inside

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"bawn/internal/policy"
)

const (
	// maxBody bounds what is read of a page before it is made text, in bytes.
	maxBody      = 8 << 20
	maxRedirects = 10
	fetchTime    = 6 * time.Minute // longer than a question waits
)

// fetch reads an address. In the sandbox the way leads through the session's
// egress, which decides about each host again, those of redirects too.
func fetch(r Request) (Answer, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return failed(err, ""), nil
	}
	req.Header.Set("User-Agent", "bawn-fetch")
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1")
	way := &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: true}
	if r.Public { // not by a proxy either, which would choose the address
		way.Proxy, way.DialContext = nil, (&net.Dialer{Control: public}).DialContext
	}
	client := &http.Client{
		Transport: way,
		CheckRedirect: func(next *http.Request, via []*http.Request) error {
			if len(via) >= maxRedirects {
				return fmt.Errorf("more than %d redirects", maxRedirects)
			}
			return checkURL(next.URL.Scheme, next.URL.User != nil)
		},
	}
	res, err := client.Do(req)
	if err != nil {
		return failed(err, ""), nil
	}
	defer res.Body.Close()
	a := Answer{Status: res.StatusCode, Type: res.Header.Get("Content-Type"), URL: res.Request.URL.String()}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxBody+1))
	if err != nil {
		return failed(fmt.Errorf("reading %s: %w", a.URL, err), ""), nil
	}
	if len(body) > maxBody {
		body, a.More = body[:maxBody], true
	}
	kind, _, _ := mime.ParseMediaType(a.Type)
	page := kind == "text/html" || kind == "application/xhtml+xml"
	if page && r.Format != "html" {
		body = []byte(pageText(body, r.Format == "markdown"))
	} else if !textual(kind, body) {
		return failed(fmt.Errorf("%s is no text but %q, %d bytes; load it with bash", a.URL, a.Type, len(body)), ""), nil
	}
	if len(body) > r.Max {
		cut := r.Max
		for cut > 0 && !utf8.RuneStart(body[cut]) {
			cut--
		}
		body, a.More = body[:cut], true
	}
	return a, body
}

// public refuses internal addresses, as they are dialled.
func public(_, address string, _ syscall.RawConn) error {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if class := policy.ClassOf(a.Addr()); class != policy.Public {
		return &refusal{text: fmt.Sprintf("%s is no public address (%s)", address, class), real: address}
	}
	return nil
}

func checkURL(scheme string, user bool) error {
	switch {
	case scheme != "http" && scheme != "https":
		return fmt.Errorf("a redirect to %s: it is http or https", scheme)
	case user:
		return fmt.Errorf("a redirect to an address with a name or password in it")
	}
	return nil
}

func textual(kind string, body []byte) bool {
	if strings.HasPrefix(kind, "text/") || strings.Contains(kind, "json") || strings.Contains(kind, "xml") || strings.Contains(kind, "javascript") {
		return true
	}
	head := body[:min(len(body), sniff)]
	return !strings.ContainsRune(string(head), 0) && !strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "application/pdf")
}
