package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bawn/internal/config/disk"
	"bawn/internal/policy"
)

// maxSaved bounds the answers that are kept.
const maxSaved = 10_000

const savedHead = `# Hosts that were allowed or denied for good when bawn asked. bawn writes this
# file itself; rules of your own belong in config.toml beside it.
[sandbox]
`

// saved are the answers that are kept: rules in canonical form.
type saved struct{ allowed, denied []string }

// SaveAllowed adds hosts to the answers that hold in every later session. dir
// is UserDir. Saves by many processes at once lose nothing, and one that is
// killed leaves the old file or the new one. A host rule that is wider than a
// host and its subdomains is refused: no question offers one.
func SaveAllowed(dir string, rules ...string) error {
	return changeSaved(dir, func(s *saved) error { return answer(rules, keyAllowed, "allows", &s.allowed, &s.denied) })
}

// SaveDenied is SaveAllowed for hosts never to reach.
func SaveDenied(dir string, rules ...string) error {
	return changeSaved(dir, func(s *saved) error { return answer(rules, keyDenied, "denies", &s.denied, &s.allowed) })
}

// answer adds rules to one list and takes them out of the other.
func answer(rules []string, k int, what string, to, from *[]string) error {
	for _, text := range rules {
		r, err := parseHost(&keys[k], text, policy.Origin{File: "answer"})
		switch {
		case err != nil:
			return err
		case r.Wide():
			return &policy.RefusedError{What: fmt.Sprintf("host rule %q", text), Why: "an answer " + what + " one host", Lift: "write the rule into config.toml"}
		}
		is := func(h string) bool { return h == r.String() }
		*from = slices.DeleteFunc(*from, is)
		if !slices.ContainsFunc(*to, is) {
			*to = append(*to, r.String())
		}
	}
	return nil
}

func changeSaved(dir string, change func(*saved) error) error {
	if !filepath.IsAbs(dir) {
		return errors.New("saving the answer: no folder for your settings is known")
	}
	path := filepath.Join(dir, allowedName)
	d, err := disk.Make(dir)
	if err != nil {
		return fmt.Errorf("saving the answer: %w", err)
	}
	defer d.Close()
	in, err := d.Info()
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return refuse(dir, reason(err), "")
	}
	unlock, err := d.Lock()
	if err != nil {
		return fmt.Errorf("saving the answer: %w", err)
	}
	defer unlock()
	var have saved
	data, in, err := d.Read(allowedName, maxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return refuse(path, "it cannot be read: "+reason(err), "")
	default:
		if err := in.OnlyOwners(os.Geteuid()); err != nil {
			return refuse(path, err.Error(), "")
		}
		v, err := parseFile(scope{layer: Saved}, path, data)
		if err != nil {
			return err
		}
		for k, list := range map[int]*[]string{keyAllowed: &have.allowed, keyDenied: &have.denied} {
			for _, it := range v.items[k] {
				*list = append(*list, it.host.String())
			}
		}
	}
	next := saved{slices.Clone(have.allowed), slices.Clone(have.denied)}
	if err := change(&next); err != nil {
		return err
	}
	if slices.Equal(next.allowed, have.allowed) && slices.Equal(next.denied, have.denied) {
		return nil
	}
	if len(next.allowed)+len(next.denied) > maxSaved {
		return fmt.Errorf("more than %d answers are saved in %s", maxSaved, path)
	}
	var b strings.Builder
	b.WriteString(savedHead)
	writeHosts(&b, "allowed_domains", next.allowed)
	if len(next.denied) > 0 {
		writeHosts(&b, "denied_domains", next.denied)
	}
	if err := d.Replace(allowedName, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("saving the answer: %w", err)
	}
	return nil
}

func writeHosts(b *strings.Builder, key string, hosts []string) {
	b.WriteString(key + " = [\n")
	for _, h := range hosts {
		b.WriteString("  " + strconv.Quote(h) + ",\n") // a canonical rule is plain ASCII
	}
	b.WriteString("]\n")
}
