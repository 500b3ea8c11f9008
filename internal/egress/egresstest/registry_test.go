//go:build linux

package egresstest

import (
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bawn/internal/policy"
	"bawn/internal/sandbox/sandboxtest"
)

// registry is the host that a client of this machine is set up to use, as the
// client itself says: no test writes it down.
func registry(t *testing.T, args ...string) (base string, flags []string) {
	t.Helper()
	out, err := exec.Command(args[0], args[1:]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ = strings.Cut(strings.TrimSpace(string(out)), ",")
	u, err := url.Parse(base)
	if err != nil || u.Hostname() == "" {
		t.Fatalf("%q names no registry", args)
	}
	host := u.Hostname()
	flags = []string{"--allow-domain", u.Host}
	// A machine may lead the name to an address that is not a public one.
	addrs, err := net.DefaultResolver.LookupNetIP(t.Context(), "ip", host)
	if err != nil {
		t.Fatal("the registry's name does not resolve")
	}
	for _, a := range addrs {
		if a = a.Unmap(); policy.ClassOf(a) != policy.Public {
			flags = append(flags, "--allow-domain", policy.HostAddr(a).String())
		}
	}
	return base, flags
}

// clientEnv is what of this machine's environment the clients need to trust
// its registries.
func clientEnv() (out []string) {
	for _, e := range os.Environ() {
		name, _, _ := strings.Cut(e, "=")
		if strings.Contains(name, "CERT") || strings.Contains(name, "CA_") || strings.HasSuffix(name, "CAINFO") {
			out = append(out, e)
		}
	}
	return out
}

// N1, B52: packages are installed from the registry by clients that use the
// proxy and by clients that do not; with no rule for its host they are not.
func TestN1_Registries(t *testing.T) {
	t.Parallel()
	npm, npmFlags := registry(t, "npm", "config", "get", "registry")
	goproxy, goFlags := registry(t, "go", "env", "GOPROXY")
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			b := sandboxtest.New(t, way.launcher)
			b.Env = append(clientEnv(), "npm_config_registry="+npm, "GOPROXY="+goproxy, "GOFLAGS=-mod=mod -modcacherw", "GOSUMDB=off", "GOTOOLCHAIN=local", "GOPATH="+b.Workspace+"/gopath")
			sandboxtest.Write(t, filepath.Join(b.Workspace, "package.json"), `{"name":"x","version":"1.0.0","dependencies":{"debug":"4.4.0"}}`)
			sandboxtest.Write(t, filepath.Join(b.Workspace, "go.mod"), "module x\n\ngo 1.26.0\n\nrequire golang.org/x/text v0.43.0\n")
			b.Flags = npmFlags
			b.Sh(t, way.pre+"npm install --no-audit --no-fund --ignore-scripts").OK(t)
			for _, dir := range []string{"debug", "ms"} {
				if _, err := os.Stat(filepath.Join(b.Workspace, "node_modules", dir, "package.json")); err != nil {
					t.Error(err)
				}
			}
			b.Flags = goFlags
			b.Sh(t, way.pre+"go mod download -x golang.org/x/text").OK(t)
			b.Flags = []string{"--deny-domain", "*"}
			if r := b.Sh(t, way.pre+"go mod download golang.org/x/net@v0.62.0"); r.Code == 0 {
				t.Error("go reached a host that is denied")
			}
			if way.pre == "" { // without the proxy npm tries again for a minute
				r := b.Sh(t, "rm -rf node_modules package-lock.json; timeout 20 npm install --no-audit --no-fund --prefer-online --cache ./fresh")
				if r.Code == 0 || r.Code == 124 || !strings.Contains(r.Stderr, "403") {
					t.Errorf("npm, denied: exit %d, %s", r.Code, r.Stderr)
				}
			}
		})
	}
}
