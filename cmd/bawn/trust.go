package main

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"bawn/internal/approval"
	"bawn/internal/config"
	"bawn/internal/config/trust"
	"bawn/internal/sandbox"
)

// exitUntrusted: nothing is trusted, because nobody said yes.
const exitUntrusted = 1

// trustFlags are those of `bawn trust`.
type trustFlags struct {
	workspace, hash               string
	list, revoke, asJSON, hasHash bool
}

func (f *trustFlags) specs() []flagSpec {
	return []flagSpec{
		{name: "-C", arg: "DIR", help: "the workspace (default: here)", set: func(v string) error { f.workspace = v; return nil }},
		{name: "--hash", arg: "SHA256", help: "trust the file without a question if this is the\nhash of its content", set: func(v string) error {
			f.hash, f.hasHash = v, true
			if b, err := hex.DecodeString(v); err != nil || len(b) != sha256.Size {
				return fmt.Errorf("%q is not a SHA-256 in hexadecimal", v)
			}
			return nil
		}},
		{name: "--list", help: "list what is trusted", on: func() { f.list = true }},
		{name: "--revoke", help: "trust no content of the workspace's (or DIR's) file\nany more", on: func() { f.revoke = true }},
		jsonFlag(&f.asJSON),
	}
}

// trustCommand shows what trusting a project's settings would allow, and
// remembers a person's yes for exactly that content.
func trustCommand(args []string) int {
	var f trustFlags
	words, err := parseAround(args, f.specs(), 1)
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"trust"})
	case err != nil:
		return usageError("trust", err)
	case len(words) > 1 || len(words) == 1 && !f.revoke:
		return usageError("trust", fmt.Errorf("trust takes no %q; -C DIR names the workspace", words[len(words)-1]))
	case f.list && (f.revoke || f.hasHash), f.revoke && f.hasHash:
		return usageError("trust", errors.New("--list, --revoke and --hash exclude one another"))
	case nested():
		// The store is out of reach in there; this says why.
		return fail(errors.New("trust is given outside the sandbox: this command runs in one"))
	}
	store := trustStore()
	if f.list {
		entries, err := store.List()
		switch {
		case err != nil:
			return fail(err)
		case f.asJSON:
			return printJSON(append([]trust.Entry{}, entries...))
		}
		if len(entries) == 0 {
			printLine("nothing is trusted")
		}
		printText(trust.Text(entries))
		return 0
	}
	if len(words) == 1 {
		f.workspace = words[0]
	}
	ws, err := sandbox.Workspace(f.workspace)
	if err != nil {
		// A folder that is gone can still be revoked.
		if ws, err = sandbox.RealPath(f.workspace); err != nil || !f.revoke {
			return fail(fmt.Errorf("workspace %q: no such folder", f.workspace))
		}
	}
	if f.revoke {
		found, err := store.Revoke(ws)
		if err != nil {
			return fail(err)
		}
		text := ws + " is not trusted any more"
		if !found {
			text = ws + " was not trusted"
		}
		printLine(printable(text))
		return 0
	}
	return f.review(store, ws)
}

func (f *trustFlags) review(store trust.Store, ws string) int {
	r, err := config.LoadReview(config.Options{Environ: os.Environ(), Workspace: ws, Trusted: store.Lookup})
	if err != nil {
		return fail(err)
	}
	sum := sha256.Sum256(r.Content)
	hash := hex.EncodeToString(sum[:])
	record := func() int {
		if err := store.Trust(ws, r.Content, os.Getenv("USER"), time.Now()); err != nil {
			return fail(err)
		}
		printLine(printable(r.Path) + " is trusted as it is now")
		return 0
	}
	switch {
	case f.hasHash && !r.Exists:
		return fail(fmt.Errorf("%s has no settings of its own", ws))
	case f.hasHash && !strings.EqualFold(f.hash, hash):
		return fail(fmt.Errorf("%s has another content: its SHA-256 is %s", r.Path, hash))
	case f.hasHash:
		return record()
	case f.asJSON:
		type review struct {
			config.Review
			SHA256 string `json:"sha256,omitempty"`
		}
		if !r.Exists {
			hash = ""
		}
		return printJSON(review{r, hash})
	}
	if !r.Exists || r.Trusted {
		printText(r.Text())
		return 0
	}
	answer := askTrust(r)
	switch {
	case answer.Scope != approval.No:
		return record()
	case !answer.Given:
		printText(r.Text())
		warn("nobody can be asked here (%s); bawn trust --hash %s trusts this content", answer.Reason, hash)
	default:
		printLine("not trusted")
	}
	return exitUntrusted
}

// askTrust shows a person on the terminal, wherever stdout leads, what the
// answer is about.
func askTrust(r config.Review) approval.Answer {
	tty, err := approval.OpenTTY()
	if err != nil {
		return approval.Answer{Reason: err.Error()}
	}
	defer tty.Close()
	p := approval.Prompt{
		Title: "Trust the settings of this project?", Object: r.Path, Notes: strings.Split(strings.TrimSuffix(r.Text(), "\n"), "\n"),
		Offers: []approval.Offer{{Scope: approval.Once, Text: "trust exactly this content, until the file changes"}},
	}
	return ask(tty, p)
}
