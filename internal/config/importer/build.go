package importer

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bawn/internal/config"
	"bawn/internal/policy"
)

// placeholder stands for the workspace, which relative paths are read against
// and which a user's file knows nothing of.
const placeholder = "/workspace"

// entry is one setting of bawn's.
type entry struct {
	key    *config.Key
	value  string
	from   string // the tool's own name of it
	line   int
	widens bool
	why    string // what a reader should know about it
}

// group says what became of a foreign setting that is no entry.
type group uint8

const (
	lost       group = iota // the tool denies it, and this file does not
	none                    // bawn has nothing like it
	partly                  // bawn has something like it
	strange                 // not understood
	superseded              // bawn does it anyway
	numGroups
)

var groupTitles = [numGroups]string{
	lost:       "Denied there, and not by this file:",
	none:       "Without an equivalent:",
	partly:     "With a part of an equivalent:",
	strange:    "Not understood, and so without effect here:",
	superseded: "Nothing to set, bawn does so anyway:",
}

type remark struct {
	what string
	line int
	why  string
}

// builder collects what a tool's settings mean.
type builder struct {
	tool    Tool
	opt     Options
	keys    []config.Key
	entries []entry
	have    map[string]int // of entries, by key and value
	remarks [numGroups][]remark
	count   int
	full    bool
}

func single(k *config.Key) bool { return k.Kind <= config.Proxy }

func (b *builder) more() bool {
	if b.count++; b.count > maxEntries {
		b.full = true
	}
	return !b.full
}

// set adds a value, or an entry to a list, that reads as the tool has it.
func (b *builder) set(path, value, from string, line int, why string) {
	b.setAs(path, value, value, from, line, why)
}

// setAs adds a value that the tool writes as original. One that package config
// does not take becomes a remark with its reason.
func (b *builder) setAs(path, value, original, from string, line int, why string) {
	if !b.more() {
		return
	}
	key := b.key(path)
	if key == nil {
		b.remark(none, from, line, "bawn has no setting "+path)
		return
	}
	e := entry{key: key, value: value, from: from, line: line, why: why}
	id := path
	if !single(key) {
		id += "\x00" + value
	}
	if i, ok := b.have[id]; ok {
		if old := b.entries[i]; old.value != value {
			b.remark(none, from, line, fmt.Sprintf("%s is %q already, from %s", path, old.value, old.from))
		}
		return
	}
	c, err := alone(b.opt.Home, document(e))
	if err != nil {
		g := none
		if key.Effect == config.Tightens {
			g = lost
		}
		b.remark(g, from+" "+quote(original), line, reason(err))
		return
	}
	if single(key) && value == key.Default {
		b.remark(superseded, from, line, fmt.Sprintf("%s = %s is the default", path, literal(key, value)))
		return
	}
	e.widens = len(c.WiderThanDefaults()) > 0
	b.have[id] = len(b.entries)
	b.entries = append(b.entries, e)
}

func (b *builder) key(path string) *config.Key {
	for i := range b.keys {
		if b.keys[i].Path() == path {
			return &b.keys[i]
		}
	}
	return nil
}

func (b *builder) remark(g group, what string, line int, why string) {
	if b.more() {
		b.remarks[g] = append(b.remarks[g], remark{what, line, why})
	}
}

// alone reads a text as the user's file.
func alone(home string, doc string) (config.Config, error) {
	return config.ReadAlone([]byte(doc), "the imported settings", home, placeholder)
}

// reason is an error of package config without the place in a text that no
// person sees.
func reason(err error) string {
	var e *config.Error
	if errors.As(err, &e) {
		_, why, ok := strings.Cut(e.Text, ": ")
		if ok {
			return why
		}
		return e.Text
	}
	return err.Error()
}

// document is a file with the one entry.
func document(e entry) string {
	v := literal(e.key, e.value)
	if !single(e.key) {
		v = "[" + v + "]"
	}
	return "[" + e.key.Table + "]\n" + e.key.Name + " = " + v + "\n"
}

// literal is a value as TOML.
func literal(k *config.Key, value string) string {
	if k.Kind == config.Bool && (value == "true" || value == "false") {
		return value
	}
	if k.Kind == config.Ports {
		if n, err := strconv.ParseUint(value, 10, 63); err == nil {
			return strconv.FormatUint(n, 10)
		}
	}
	return tomlString(value)
}

// tomlString quotes a text for TOML, whatever is in it.
func tomlString(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r < 0x20 || r == 0x7f:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// clip is a foreign text as it may be shown.
func clip(s string) string {
	if r := []rune(config.Printable(s)); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return config.Printable(s)
}

func quote(s string) string { return strconv.QuoteToGraphic(clip(s)) }

// handler takes one value of a settings file; path is its full name.
type handler func(n *node, path string)

// object hands each member to its handler. One that has none is not
// understood; none is passed over in silence.
func (b *builder) object(n *node, path string, handlers map[string]handler) {
	if n.kind != object {
		b.wrong(n, path, object)
		return
	}
	for _, m := range n.members {
		name := join(path, m.name)
		if h, ok := handlers[m.name]; ok {
			h(m.node, name)
			continue
		}
		b.remark(strange, name, m.line, "")
	}
}

func join(path, name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-$") != "" || name == "" {
		name = strconv.QuoteToGraphic(clip(name))
	}
	if len(name) > maxShown {
		name = clip(name)
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

func (b *builder) wrong(n *node, path string, want kind) {
	b.remark(strange, path, n.line, fmt.Sprintf("it is %s, not %s", n.kind, want))
}

// table is a handler for a table.
func (b *builder) table(handlers map[string]handler) handler {
	return func(n *node, path string) { b.object(n, path, handlers) }
}

// each is a handler for a list of texts.
func (b *builder) each(do func(s string, n *node, path string)) handler { return b.eachOf(text, do) }

// eachOf is a handler for a list whose entries are all of one kind.
func (b *builder) eachOf(k kind, do func(s string, n *node, path string)) handler {
	return func(n *node, path string) {
		if n.kind != list {
			b.wrong(n, path, list)
			return
		}
		for _, e := range n.list {
			if e.kind != k {
				b.wrong(e, path, k)
				continue
			}
			do(e.text, e, path)
		}
	}
}

// copies is a handler for a list whose entries bawn takes as they are.
func (b *builder) copies(key, why string) handler {
	return b.each(func(s string, n *node, path string) { b.set(key, s, path, n.line, why) })
}

// says is a handler for a setting that only gets a remark.
func (b *builder) says(g group, why string) handler {
	return func(n *node, path string) { b.remark(g, path, n.line, why) }
}

// flag is a handler for a switch.
func (b *builder) flag(do func(on bool, n *node, path string)) handler {
	return func(n *node, path string) {
		if n.kind != boolean {
			b.wrong(n, path, boolean)
			return
		}
		do(n.text == "true", n, path)
	}
}

// word is a handler for a text.
func (b *builder) word(do func(s string, n *node, path string)) handler {
	return func(n *node, path string) {
		if n.kind != text {
			b.wrong(n, path, text)
			return
		}
		do(n.text, n, path)
	}
}

func (b *builder) ignore(*node, string) {}

// whole takes off what says "and all below", which is what a folder means in
// bawn.
func whole(path string) string {
	for {
		rest, ok := strings.CutSuffix(path, "/**")
		if !ok {
			break
		}
		if path = rest; path == "" {
			return "/"
		}
	}
	if path == "**" {
		return "."
	}
	path = strings.TrimPrefix(path, "./")
	if trimmed := strings.TrimRight(path, "/"); trimmed != "" {
		return trimmed
	}
	if path == "" {
		return "."
	}
	return "/"
}

// place adds a file or folder to protect or hide.
func (b *builder) place(key, path, from string, line int, why string) {
	p := whole(path)
	what := from + " " + quote(path)
	switch {
	case p == "/" || p == "~" || b.opt.Home != "" && policy.IsClean(p) && policy.Inside(b.opt.Home, p):
		b.remark(lost, what, line, "bawn forbids single places, not the whole of the home folder or the disk")
	case key == "sandbox.hidden" && p == ".":
		b.remark(lost, what, line, "bawn does not hide the workspace from its own commands")
	default:
		b.setAs(key, p, path, from, line, why)
	}
}

// writable adds a folder that commands may write.
func (b *builder) writable(path, from string, line int) {
	p := whole(path)
	what := from + " " + quote(path)
	switch {
	case p == "." || p[0] != '/' && p[0] != '~' && !slices.Contains(strings.Split(p, "/"), "..") && !strings.ContainsAny(p, `*?[]{}$\`):
		b.remark(superseded, what, line, "the workspace is writable")
	case inTemp(p):
		b.remark(superseded, what, line, `commands have a temp of their own (tmp = "host" would share the host's)`)
	case strings.HasPrefix(p, "/dev/"):
		b.remark(none, what, line, "devices are not opened one by one")
	default:
		b.setAs("sandbox.allowed_paths", p, path, from, line, "")
	}
}

func inTemp(p string) bool {
	if !policy.IsClean(p) {
		return false
	}
	for _, t := range [...]string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp"} {
		if policy.Inside(p, t) {
			return true
		}
	}
	return false
}

// host adds a rule about hosts. bawn's name of a host covers its subdomains.
func (b *builder) host(key, pattern, from string, line int) {
	why := ""
	if key == "sandbox.allowed_domains" && pattern != "*" && !strings.HasPrefix(pattern, "*.") && strings.Trim(pattern, "0123456789.:[]abcdefABCDEF") != "" {
		why = "with its subdomains"
	}
	b.set(key, pattern, from, line, why)
}

// command adds a pattern of commands. What ends with anyArgs takes any
// arguments, besides what ends with a * of its own.
func (b *builder) command(key, pattern, from string, line int, anyArgs string) {
	p := pattern
	if rest, ok := strings.CutSuffix(pattern, anyArgs); ok && rest != "" {
		p = rest + " *"
	}
	b.setAs(key, p, pattern, from, line, "")
}
