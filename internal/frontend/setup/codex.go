package setup

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2/unstable"
)

// Codex runs commands and patches through an executor that environments.toml
// names; Codex itself, with its keys, stays outside.

const (
	codexBegin = "# bawn: begin (bawn setup codex --uninstall takes it out)"
	codexEnd   = "# bawn: end"
)

// CodexReads reports whether a Codex that calls itself so reads
// environments.toml.
func CodexReads(version string) bool {
	var major, minor, patch int
	n, _ := fmt.Sscanf(strings.TrimSpace(version), "codex-cli %d.%d.%d", &major, &minor, &patch)
	return n == 3 && (major > 0 || minor >= 171)
}

func codexFiles(p Place) []file {
	path := filepath.Join(p.dir("CODEX_HOME", ".codex"), "environments.toml")
	head := codexBegin + "\ndefault = \"bawn\"\ninclude_local = false\n" + codexEnd + "\n"
	tail := codexBegin + "\n[[environments]]\nid = \"bawn\"\nprogram = " + strconv.Quote(filepath.Join(p.Shims, "codex-exec-server")) + "\n" + codexEnd + "\n"
	return []file{{
		path: path,
		edit: func(old []byte) ([]byte, error) {
			rest, err := withoutCodex(old)
			if err != nil {
				return nil, err
			}
			for _, key := range []string{"default", "include_local"} {
				if line := topKey(rest, key); line > 0 {
					return nil, fmt.Errorf("line %d sets %s already, so Codex runs commands elsewhere; take it out first", line, key)
				}
			}
			next := append([]byte(head), rest...)
			if len(next) > 0 && next[len(next)-1] != '\n' {
				next = append(next, '\n')
			}
			next = append(next, tail...)
			return next, checkTOML(next)
		},
		strip: withoutCodex,
	}}
}

// withoutCodex takes out what stands between the marks.
func withoutCodex(data []byte) ([]byte, error) {
	if err := checkTOML(data); err != nil {
		return nil, err
	}
	var out []byte
	inside := false
	for line := range bytes.Lines(data) {
		switch text := string(bytes.TrimRight(line, "\r\n")); {
		case text == codexBegin:
			inside = true
		case text == codexEnd && inside:
			inside = false
		case !inside:
			out = append(out, line...)
		}
	}
	if inside {
		return nil, errors.New("the mark of its end is missing: " + codexEnd)
	}
	return out, nil
}

// topKey is the line of a key that stands above all tables; 0 if there is
// none.
func topKey(data []byte, key string) int {
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		n := p.Expression()
		if n.Kind == unstable.Table || n.Kind == unstable.ArrayTable {
			return 0
		}
		it := n.Key()
		if n.Kind == unstable.KeyValue && it.Next() && string(it.Node().Data) == key {
			return 1 + strings.Count(string(data[:it.Node().Raw.Offset]), "\n")
		}
	}
	return 0
}

func checkTOML(data []byte) error {
	var p unstable.Parser
	p.Reset(data)
	for p.NextExpression() {
		_ = p.Expression()
	}
	return p.Error()
}
