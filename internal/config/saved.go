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

const savedHead = `# Hosts that were allowed for good when bawn asked. bawn writes this file
# itself; rules of your own belong in config.toml beside it.
[sandbox]
allowed_domains = [
`

// SaveAllowed adds hosts to the answers that hold in every later session. dir
// is UserDir. Saves by many processes at once lose nothing, and one that is
// killed leaves the old file or the new one. A host rule that is wider than a
// host and its subdomains is refused: no question offers one.
func SaveAllowed(dir string, rules ...string) error {
	return changeSaved(dir, func(have []string) ([]string, error) {
		for _, text := range rules {
			r, err := parseHost(&keys[keyAllowed], text, policy.Origin{File: "answer"})
			switch {
			case err != nil:
				return nil, err
			case r.Any() || isBelow(r) || r.Insists():
				return nil, &policy.RefusedError{What: fmt.Sprintf("host rule %q", text), Why: "an answer allows one host", Lift: "write the rule into config.toml"}
			}
			if !slices.Contains(have, r.String()) {
				have = append(have, r.String())
			}
		}
		if len(have) > maxSaved {
			return nil, fmt.Errorf("more than %d answers are saved in %s", maxSaved, filepath.Join(dir, allowedName))
		}
		return have, nil
	})
}

// ForgetAllowed takes hosts out of the saved answers. A host that is not
// among them is no error.
func ForgetAllowed(dir string, rules ...string) error {
	return changeSaved(dir, func(have []string) ([]string, error) {
		return slices.DeleteFunc(have, func(h string) bool { return slices.Contains(rules, h) }), nil
	})
}

func changeSaved(dir string, change func([]string) ([]string, error)) error {
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
	var have []string
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
		for _, it := range v.items[keyAllowed] {
			have = append(have, it.host.String())
		}
	}
	next, err := change(slices.Clone(have))
	if err != nil {
		return err
	}
	if slices.Equal(next, have) {
		return nil
	}
	var b strings.Builder
	b.WriteString(savedHead)
	for _, h := range next {
		b.WriteString("  " + strconv.Quote(h) + ",\n") // a canonical rule is plain ASCII
	}
	b.WriteString("]\n")
	if err := d.Replace(allowedName, []byte(b.String()), 0o600); err != nil {
		return fmt.Errorf("saving the answer: %w", err)
	}
	return nil
}
