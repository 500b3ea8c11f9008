package inside

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

const (
	// maxBody bounds what is read of a page before it is made text, and
	// maxHead its headers, in bytes.
	maxBody      = 8 << 20
	maxHead      = 64 << 10
	maxRedirects = 10
	fetchTime    = 6 * time.Minute // longer than a question waits
)

// curls are where curl is looked for. TLS of Go's own would cost every start of
// the program, which is once for each command.
var curls = []string{"/usr/bin/curl", "/bin/curl", "/usr/local/bin/curl"}

// fetch reads an address. In the sandbox the way leads through the session's
// egress, which decides about each host again, those of redirects too.
func fetch(r Request) (Answer, []byte) {
	ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
	defer cancel()
	a, kind, body, err := follow(ctx, r)
	if err != nil {
		return failed(err, ""), nil
	}
	if len(body) > maxBody {
		body, a.More = body[:maxBody], true
	}
	page := kind == "text/html" || kind == "application/xhtml+xml"
	if !textual(kind, body) {
		return failed(fmt.Errorf("%s is no text but %q, %d bytes; load it with bash", a.URL, a.Type, len(body)), ""), nil
	}
	if page && r.Format != "html" {
		text, cut := pageText(body, r.Format == "markdown")
		body, a.More = []byte(text), a.More || cut
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

// follow asks for an address and those that it leads to, one by one: each is
// looked at before it is asked for.
func follow(ctx context.Context, r Request) (a Answer, kind string, body []byte, err error) {
	at, err := url.Parse(r.URL)
	if err != nil {
		return a, "", nil, err
	}
	for range maxRedirects + 1 {
		h, body, err := get(ctx, r, at)
		if err != nil {
			return a, "", nil, err
		}
		next := h.location
		if h.status < 300 || h.status > 399 || h.status == 304 || next == "" {
			a = Answer{Status: h.status, Type: h.kind, URL: at.String()}
			kind, _, _ = strings.Cut(h.kind, ";")
			return a, strings.ToLower(strings.TrimSpace(kind)), body, nil
		}
		if at, err = at.Parse(next); err != nil {
			return a, "", nil, fmt.Errorf("a redirect: %w", err)
		}
		switch {
		case at.Scheme != "http" && at.Scheme != "https" || at.Hostname() == "":
			return a, "", nil, fmt.Errorf("a redirect to %q: it is http or https", at.Scheme)
		case at.User != nil:
			return a, "", nil, errors.New("a redirect to an address with a name or password in it")
		}
	}
	return a, "", nil, fmt.Errorf("more than %d redirects", maxRedirects)
}

// get is one request, by curl without settings of anybody's.
func get(ctx context.Context, r Request, at *url.URL) (head, []byte, error) {
	curl, err := program(r.Held)
	if err != nil {
		return head{}, nil, err
	}
	args := []string{
		"--disable", "--config", "-", "--silent", "--show-error", "--globoff", "--proto", "=http,https", "--suppress-connect-headers",
		"--user-agent", "bawn-fetch", "--header", "Accept: text/markdown, text/html;q=0.9, text/plain;q=0.8, */*;q=0.1", "--dump-header", "/dev/fd/3",
	}
	if r.Method == "HEAD" {
		args = append(args, "--head")
	}
	to := *at // how curl gets it
	switch {
	case r.Public: // not by a proxy either, which would choose the address
		pin, err := pinned(ctx, &to)
		if err != nil {
			return head{}, nil, err
		}
		args = append(append(args, "--noproxy", "*"), pin...)
	case r.Held: // the egress decides, but for what never gets there
		host, is, err := literal(at)
		if a, _ := netip.ParseAddr(host); err != nil && (!is || a.IsLoopback()) {
			return head{}, nil, err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, curl, args...)
	cmd.Env = clientEnv(os.Environ())
	// The address by a file: what is in it shows in no list of processes.
	cmd.Stdin = strings.NewReader("url = " + configQuote(to.String()) + "\n")
	var said bytes.Buffer
	cmd.Stderr = &said
	cmd.WaitDelay = time.Second
	heads, w, err := os.Pipe()
	if err != nil {
		return head{}, nil, err
	}
	defer heads.Close()
	cmd.ExtraFiles = []*os.File{w}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	w.Close()
	if err != nil {
		return head{}, nil, err
	}
	text := make(chan []byte, 1)
	go func() {
		b, _ := io.ReadAll(io.LimitReader(heads, maxHead+1)) // the end is that of curl
		if len(b) > maxHead {
			cancel()
		}
		text <- b
	}()
	body, err := io.ReadAll(io.LimitReader(out, maxBody+1))
	long := len(body) > maxBody
	if err != nil || long {
		cancel() // the rest is not wanted
	}
	ended := cmd.Wait()
	top := <-text
	h := parseHead(top)
	switch {
	case len(top) > maxHead:
		return head{}, nil, fmt.Errorf("the headers of %s are longer than %d KiB", at, maxHead>>10)
	case h.status == 0 || ended != nil && !long:
		if why := strings.TrimSpace(strings.ToValidUTF8(said.String(), "")); why != "" {
			return head{}, nil, errors.New(why)
		}
		return head{}, nil, fmt.Errorf("curl: %w", errors.Join(ended, context.Cause(ctx)))
	case err != nil:
		return head{}, nil, fmt.Errorf("reading %s: %w", at, err)
	case r.Method == "HEAD":
		body = nil // curl shows the headers as one
	}
	return h, body, nil
}

// program is the curl that is run. With held, not one of PATH that can be
// written here: commands write there too, and reach less.
func program(held bool) (string, error) {
	places := curls // which are the system's
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if filepath.IsAbs(dir) {
			places = append(places[:len(places):len(places)], filepath.Join(dir, "curl"))
		}
	}
	why := ""
	for i, c := range places {
		info, err := os.Stat(c)
		if err != nil || !info.Mode().IsRegular() || unix.Access(c, unix.X_OK) != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(c)
		if err != nil {
			continue
		}
		if held && i >= len(curls) && (unix.Access(real, unix.W_OK) == nil || unix.Access(filepath.Dir(real), unix.W_OK) == nil) {
			why = fmt.Sprintf(" (%s is not taken: commands can write it)", c)
			continue
		}
		return real, nil
	}
	return "", fmt.Errorf("there is no curl in PATH, which reads addresses here%s; install it, or use another program with bash", why)
}

// clientEnv is what curl is told of the environment: the way out, and whom it
// trusts. Of the rest some would load code (LD_PRELOAD, OPENSSL_CONF), from
// folders that commands may write to, or write down the keys.
func clientEnv(environ []string) (out []string) {
	for _, v := range environ {
		switch name, _, _ := strings.Cut(v, "="); strings.ToLower(name) {
		case "http_proxy", "https_proxy", "all_proxy", "no_proxy", "path", "home",
			"ssl_cert_file", "ssl_cert_dir", "curl_ca_bundle", "nix_ssl_cert_file":
			out = append(out, v)
		}
	}
	return out
}

// configQuote is a value in curl's own configuration.
func configQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", "", "\r", "").Replace(s) + `"`
}

// literal is a host in its plain form, and whether it is an address. One that is
// internal by what it says is refused: curl takes "127.1", "0x7f.1" and
// "2130706433" for addresses too, and names below localhost for the loopback.
func literal(at *url.URL) (host string, is bool, err error) {
	host = strings.ToLower(strings.TrimSuffix(at.Hostname(), "."))
	if a, err := netip.ParseAddr(host); err == nil {
		return host, true, public(a)
	}
	switch {
	case host == "localhost" || strings.HasSuffix(host, ".localhost"):
		err = &refusal{text: host + " is no public address (loopback)", real: host}
	case numeric(host):
		err = fmt.Errorf("the host %q is an address in no form that is taken; write it as four numbers", host)
	}
	return host, false, err
}

// pinned makes curl dial an address that was looked at, and no other: names
// may lead elsewhere a moment later. The address gets the form that is pinned.
func pinned(ctx context.Context, at *url.URL) ([]string, error) {
	host, is, err := literal(at)
	port := at.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[at.Scheme]
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
		return nil, fmt.Errorf("the port %q is none", port)
	}
	if is || err != nil {
		return nil, err
	}
	if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" || strings.HasSuffix(host, ".") { // curl may write it otherwise, and look it up
		return nil, fmt.Errorf("the host %q is not in its ASCII form", host)
	}
	at.Host = host + ":" + port
	addrs, err := (&net.Resolver{PreferGo: true}).LookupNetIP(ctx, "ip", host) // as the egress
	if err != nil {
		return nil, err
	}
	for _, a := range addrs {
		if err = public(a); err == nil {
			a = a.Unmap()
			return []string{"--resolve", host + ":" + port + ":" + map[bool]string{true: "[" + a.String() + "]", false: a.String()}[a.Is6()]}, nil
		}
	}
	return nil, err
}

// numeric reports a name whose last label is a number: it is an address, or
// nothing (url.spec.whatwg.org, "ends in a number").
func numeric(host string) bool {
	last := host[strings.LastIndexByte(host, '.')+1:]
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	hex, ok := strings.CutPrefix(last, "0x")
	return ok && strings.Trim(hex, "0123456789abcdef") == ""
}

// public refuses internal addresses.
func public(a netip.Addr) error {
	if class := policy.ClassOf(a); class != policy.Public {
		return &refusal{text: fmt.Sprintf("%s is no public address (%s)", a, class), real: a.String()}
	}
	return nil
}

// head is what is needed of a response's.
type head struct {
	status         int
	kind, location string
}

// parseHead reads the last of the heads that curl met on its way to the body;
// its status is 0 if there is none.
func parseHead(text []byte) (h head) {
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if rest, ok := strings.CutPrefix(line, "HTTP/"); ok {
			f := strings.Fields(rest)
			h = head{}
			if len(f) > 1 {
				h.status, _ = strconv.Atoi(f[1])
			}
			continue
		}
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); strings.ContainsFunc(value, unicode.IsControl) {
			continue // no value of HTTP has one, and a model would read it
		}
		switch strings.ToLower(name) {
		case "content-type":
			h.kind = value
		case "location":
			h.location = value
		}
	}
	return h
}

func textual(kind string, body []byte) bool {
	if bytes.IndexByte(body[:min(len(body), sniff)], 0) >= 0 {
		return false // whatever it is called; compressed, as it was not asked for
	}
	if strings.HasPrefix(kind, "text/") || strings.Contains(kind, "json") || strings.Contains(kind, "xml") || strings.Contains(kind, "javascript") {
		return true
	}
	return !strings.HasPrefix(kind, "image/") && !strings.HasPrefix(kind, "application/pdf")
}
