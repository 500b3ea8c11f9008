//go:build unix

package session

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox"
)

// Where commands share the host's loopback the egress listens there, for those
// who know the run's secret; without a network nothing listens.
func TestHostLoopback(t *testing.T) {
	for tier, open := range map[policy.Tier]bool{policy.Guarded: true, policy.Airlock: false} {
		p, err := policy.New(policy.Config{Tier: tier, Workspace: "/work/x", Homes: []string{"/home/u"}})
		if err != nil {
			t.Fatal(err)
		}
		n, err := (&Egress{Secret: "abc"}).open(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer n.close()
		proxy := ""
		for _, e := range n.set {
			if v, ok := strings.CutPrefix(e, "HTTP_PROXY="); ok {
				proxy = v
			}
		}
		u, err := url.Parse(proxy)
		if password, _ := u.User.Password(); err != nil || password != "abc" || u.Hostname() != "127.0.0.1" {
			t.Fatalf("the proxy is %q, %v", proxy, err)
		}
		if n.inside.Proxy || n.inside.Transparent || n.inside.Local != nil {
			t.Errorf("the sandbox is asked for %+v", n.inside)
		}
		if open == (u.Host == sandbox.ProxyAddr) {
			t.Errorf("%v: the proxy is at %s", tier, u.Host)
		}
		if !open {
			continue
		}
		for user, want := range map[*url.Userinfo]int{u.User: 403, nil: 407, url.UserPassword("bawn", "abd"): 407} {
			at := &url.URL{Scheme: "http", Host: u.Host, User: user}
			tr := &http.Transport{Proxy: http.ProxyURL(at), DisableKeepAlives: true}
			res, err := (&http.Client{Transport: tr}).Get("http://evil.test/")
			if err != nil || res.StatusCode != want {
				t.Errorf("as %v: %v, %v, want %d", user, res, err, want)
			} else {
				res.Body.Close()
			}
		}
	}
}

func TestHostLoopbackPublishesNothing(t *testing.T) {
	p, err := policy.New(policy.Config{Tier: policy.Guarded, Workspace: "/work/x"})
	if err != nil {
		t.Fatal(err)
	}
	var refused *policy.RefusedError
	if _, err := (&Egress{Secret: "abc", Publish: []Publish{{Port: 80}}}).open(p, nil); !errors.As(err, &refused) {
		t.Errorf("got %v", err)
	}
}
