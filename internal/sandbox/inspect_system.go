//go:build unix

package sandbox

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

// system gathers what does not depend on the policy's paths: the kernel's
// folders, /run, the resolver file and the host's sockets.
func (in *inspector) system(c *policy.Config) {
	for _, d := range []string{"/tmp", "/var/tmp", "/run"} {
		in.kind(d)
	}
	// A runtime folder is made only where the system would make it.
	if dir := "/run/user/" + strconv.Itoa(os.Getuid()); in.getenv("XDG_RUNTIME_DIR") == dir {
		in.host.RunUser, c.RunUser = dir, dir
	}
	if in.kind("/etc/resolv.conf") == KindLink {
		if f, err := RealPath("/etc/resolv.conf"); err == nil && policy.Inside(f, "/run") && f != "/run" {
			in.host.ResolvConf = f
		}
	}
	for _, d := range []string{"/run/current-system", "/run/booted-system", "/run/opengl-driver", "/run/opengl-driver-32"} {
		switch in.kind(d) {
		case KindLink:
			if l, err := os.Readlink(d); err == nil {
				in.host.Links[d] = l
				in.host.RunBinds = append(in.host.RunBinds, d)
			}
		case KindDir:
			in.host.RunBinds = append(in.host.RunBinds, d)
		}
	}
	in.sockets()
}

// sockets reads the paths of the unix sockets that somebody has bound: a
// read-only bind does not stop a connect (facts/linux.md section 4), so each
// that stays visible is masked.
func (in *inspector) sockets() {
	data, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(data)) {
		i := strings.IndexByte(line, '/')
		if i < 0 {
			continue // unnamed or abstract: another network namespace
		}
		path := strings.TrimSuffix(line[i:], "\n")
		if seen[path] || !policy.IsClean(path) || policy.Inside(path, "/run") || policy.Inside(path, "/var/run") {
			continue
		}
		seen[path] = true
		real, err := filepath.EvalSymlinks(path)
		if err != nil {
			continue
		}
		if st, err := os.Lstat(real); err == nil && st.Mode()&os.ModeSocket != 0 {
			in.host.Kinds[real] = KindOther
			in.host.Sockets = append(in.host.Sockets, real)
		}
	}
}

// copies makes the versions without credentials of the settings that npm and
// pip tools must be able to read (DECISIONS "Home").
func (in *inspector) copies(homes []string) {
	for _, h := range homes {
		in.copyOf(h+"/.npmrc", cleanNpmrc)
		in.copyOf(h+"/.pypirc", cleanPypirc)
	}
}

func (in *inspector) copyOf(path string, clean func(string) string) {
	if in.kind(path) != KindFile {
		return
	}
	if data, err := readSmall(path); err == nil {
		in.host.Copies[path] = clean(data)
	}
}

// readSmall reads a settings file of at most 64 KiB.
func readSmall(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	if st.Size() > 64<<10 {
		return "", os.ErrInvalid
	}
	buf := make([]byte, st.Size())
	n, err := io.ReadFull(f, buf)
	if err != nil && n < len(buf) {
		return "", err
	}
	return string(buf), nil
}

// npmKeys are the settings that hold no secret; every other line is dropped,
// since a key that is not known may be a credential.
var npmKeys = [...]string{
	"audit", "cafile", "ca", "color", "engine-strict", "fetch-retries", "fetch-timeout", "foreground-scripts", "fund",
	"ignore-scripts", "init-author-email", "init-author-name", "init-author-url", "init-license", "init-version",
	"legacy-peer-deps", "loglevel", "maxsockets", "min-release-age", "package-lock", "prefer-offline", "progress",
	"registry", "replace-registry-host", "save-exact", "save-prefix", "script-shell", "strict-ssl", "update-notifier",
}

// cleanNpmrc keeps the lines of an .npmrc whose keys are known to be
// harmless and whose values hold no login.
func cleanNpmrc(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok || holdsLogin(value) {
			continue
		}
		known := strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry")
		for _, k := range npmKeys {
			known = known || key == k
		}
		if known {
			b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	return b.String()
}

// cleanPypirc keeps section names, index lists and repository addresses.
func cleanPypirc(text string) string {
	var b strings.Builder
	keep := false
	for line := range strings.Lines(text) {
		trimmed := strings.TrimSpace(line)
		key, _, isKey := strings.Cut(trimmed, "=")
		switch {
		case strings.HasPrefix(trimmed, "["):
			keep = true
		case isKey:
			key = strings.TrimSpace(key)
			keep = key == "index-servers" || key == "repository"
		}
		if keep && trimmed != "" && !holdsLogin(trimmed) {
			b.WriteString(strings.TrimRight(line, "\r\n") + "\n")
		}
	}
	return b.String()
}

// holdsLogin reports whether a value has the user part of an address, or
// names a variable whose value is not known here.
func holdsLogin(value string) bool {
	_, rest, ok := strings.Cut(value, "://")
	if !ok {
		return strings.Contains(value, "${")
	}
	host, _, _ := strings.Cut(rest, "/")
	return strings.Contains(host, "@") || strings.Contains(value, "${")
}
