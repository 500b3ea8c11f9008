package plugin

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"bawn/internal/policy"
)

// Error is a mistake in a manifest.
type Error struct {
	File         string
	Line, Column int // from 1; the column counts characters
	Text         string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Text) }

type declared struct {
	path string
	line int
}

// parse reads a manifest strictly: a key that is not known could have been
// meant to narrow something, and of a key given twice nobody can tell which
// holds.
func parse(file string, data []byte, home string) ([]declared, error) {
	m := &manifest{file: file, home: home, json: scanner{text: string(data)}}
	if !utf8.Valid(data) {
		return nil, m.fail(0, "the text is not valid UTF-8")
	}
	err := m.object(map[string]func() error{
		"name": m.ignoreString, "version": m.ignoreString, "description": m.ignoreString,
		"permissions": func() error { return m.object(map[string]func() error{"paths": m.list}) },
	})
	if err != nil {
		return nil, err
	}
	if at := m.json.next(); at < len(data) {
		return nil, m.fail(at, "there is more after the manifest")
	}
	return m.out, nil
}

type manifest struct {
	file string
	home string
	json scanner
	out  []declared
}

func (m *manifest) line(at int) int { return 1 + strings.Count(m.json.text[:at], "\n") }

func (m *manifest) fail(at int, format string, a ...any) error {
	at = min(at, len(m.json.text))
	start := strings.LastIndexByte(m.json.text[:at], '\n') + 1
	return &Error{m.file, m.line(at), 1 + utf8.RuneCountInString(m.json.text[start:at]), fmt.Sprintf(format, a...)}
}

// wrong is that what begins at a place is not wanted there.
func (m *manifest) wrong(at int, wanted string) error {
	if at >= len(m.json.text) {
		return m.fail(at, "the manifest ends too early")
	}
	return m.fail(at, "%s is wanted here", wanted)
}

// text reads a string and says where it began.
func (m *manifest) text(wanted string) (string, int, error) {
	at := m.json.next()
	if at >= len(m.json.text) || m.json.text[at] != '"' {
		return "", at, m.wrong(at, wanted)
	}
	s, bad := m.json.string()
	if bad >= len(m.json.text) {
		return "", at, m.fail(bad, "the manifest ends too early")
	}
	if bad >= 0 {
		return "", at, m.fail(bad, "not valid JSON in a text")
	}
	return s, at, nil
}

// entries reads what stands between two brackets, separated by commas.
func (m *manifest) entries(open, end byte, wanted string, entry func() error) error {
	if at := m.json.next(); !m.json.take(open) {
		return m.wrong(at, wanted)
	}
	if m.json.take(end) {
		return nil
	}
	for {
		if err := entry(); err != nil {
			return err
		}
		if m.json.take(end) {
			return nil
		}
		if at := m.json.next(); !m.json.take(',') {
			return m.wrong(at, fmt.Sprintf("a comma or %c", end))
		}
	}
}

func (m *manifest) object(keys map[string]func() error) error {
	seen := map[string]bool{}
	return m.entries('{', '}', "an object { … }", func() error {
		key, at, err := m.text("a key")
		if err != nil {
			return err
		}
		read := keys[key]
		switch {
		case read == nil:
			return m.fail(at, "unknown key %s", policy.Quote(key))
		case seen[key]:
			return m.fail(at, "%q is given twice", key)
		}
		seen[key] = true
		if at := m.json.next(); !m.json.take(':') {
			return m.wrong(at, "a colon")
		}
		return read()
	})
}

func (m *manifest) ignoreString() error {
	_, _, err := m.text("a text")
	return err
}

func (m *manifest) list() error {
	return m.entries('[', ']', "a list of folders", func() error {
		text, at, err := m.text("a folder, which is written as a text,")
		if err != nil {
			return err
		}
		path, why := folder(text, m.home)
		if why != "" {
			return m.fail(at, "folder %s: %s", policy.Quote(text), why)
		}
		if len(m.out) == maxFolders {
			return m.fail(at, "more than %d folders", maxFolders)
		}
		m.out = append(m.out, declared{path, m.line(at)})
		return nil
	})
}

// folder reads an absolute path, or one below the home.
func folder(text, home string) (path, why string) {
	switch {
	case text == "":
		return "", "it is empty"
	case !policy.AllVisible(text) || strings.ContainsRune(text, utf8.RuneError):
		return "", "it holds a character that no path should have"
	case text == "~" || strings.HasPrefix(text, "~/"):
		if home == "" {
			return "", "the home folder is not known"
		}
		path = home + text[1:]
	case text[0] == '/':
		path = text
	default:
		return "", "not an absolute path: it begins with / or ~/"
	}
	if trimmed := strings.TrimSuffix(path, "/"); trimmed != "" {
		path = trimmed
	}
	if !policy.IsClean(path) {
		return "", "it has an empty element, \".\" or \"..\""
	}
	return path, ""
}
