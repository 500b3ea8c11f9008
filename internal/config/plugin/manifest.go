package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	m := &manifest{file: file, data: data, home: home, dec: json.NewDecoder(bytes.NewReader(data))}
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
	at := m.next()
	if _, err := m.dec.Token(); err != io.EOF {
		return nil, m.fail(at, "there is more after the manifest")
	}
	return m.out, nil
}

type manifest struct {
	file string
	data []byte
	home string
	dec  *json.Decoder
	out  []declared
}

// next is where the next token begins.
func (m *manifest) next() int {
	at := int(m.dec.InputOffset())
	for at < len(m.data) && strings.IndexByte(" \t\r\n,:", m.data[at]) >= 0 {
		at++
	}
	return at
}

func (m *manifest) line(at int) int { return 1 + bytes.Count(m.data[:at], []byte("\n")) }

func (m *manifest) fail(at int, format string, a ...any) error {
	at = min(at, len(m.data))
	start := bytes.LastIndexByte(m.data[:at], '\n') + 1
	return &Error{m.file, m.line(at), 1 + utf8.RuneCount(m.data[start:at]), fmt.Sprintf(format, a...)}
}

// token reads one token and says where it began.
func (m *manifest) token() (json.Token, int, error) {
	at := m.next()
	t, err := m.dec.Token()
	var syntax *json.SyntaxError
	switch {
	case err == nil:
		return t, at, nil
	case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, m.fail(len(m.data), "the manifest ends too early")
	case errors.As(err, &syntax):
		return nil, at, m.fail(max(at, int(syntax.Offset)-1), "not valid JSON: %v", err)
	}
	return nil, at, m.fail(at, "not valid JSON: %v", err)
}

func (m *manifest) object(keys map[string]func() error) error {
	t, at, err := m.token()
	if err != nil {
		return err
	}
	if t != json.Delim('{') {
		return m.fail(at, "an object { … } is wanted here")
	}
	seen := map[string]bool{}
	for m.dec.More() {
		t, at, err := m.token()
		if err != nil {
			return err
		}
		key, _ := t.(string) // the decoder takes no other
		read := keys[key]
		switch {
		case read == nil:
			return m.fail(at, "unknown key %q", key)
		case seen[key]:
			return m.fail(at, "%q is given twice", key)
		}
		seen[key] = true
		if err := read(); err != nil {
			return err
		}
	}
	_, _, err = m.token()
	return err
}

func (m *manifest) ignoreString() error {
	t, at, err := m.token()
	if err != nil {
		return err
	}
	if _, ok := t.(string); !ok {
		return m.fail(at, "a text is wanted here")
	}
	return nil
}

func (m *manifest) list() error {
	t, at, err := m.token()
	if err != nil {
		return err
	}
	if t != json.Delim('[') {
		return m.fail(at, "a list of folders is wanted here")
	}
	for m.dec.More() {
		t, at, err := m.token()
		if err != nil {
			return err
		}
		text, ok := t.(string)
		if !ok {
			return m.fail(at, "a folder is written as a text")
		}
		path, why := folder(text, m.home)
		if why != "" {
			return m.fail(at, "folder %q: %s", text, why)
		}
		if len(m.out) == maxFolders {
			return m.fail(at, "more than %d folders", maxFolders)
		}
		m.out = append(m.out, declared{path, m.line(at)})
	}
	_, _, err = m.token()
	return err
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
