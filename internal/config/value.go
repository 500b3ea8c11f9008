package config

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"bawn/internal/hostname"
	"bawn/internal/policy"
	"bawn/internal/shell/plain"
)

// Layer is where a value came from, the weakest first.
type Layer uint8

const (
	BuiltIn      Layer = iota // the table of keys
	Managed                   // the machine's owner: config.toml in the managed folder
	User                      // config.toml in the user's folder
	Saved                     // answers that were saved for good: allowed.toml beside it
	ProjectFile               // .bawn/config.toml in the workspace
	Environment               // BAWN_… variables
	Flags                     // the command line
	Requirements              // the machine's owner: what may be at most
)

var layerNames = [...]string{"built in", "managed", "user", "saved answers", "project", "environment", "flags", "requirements"}

func (l Layer) String() string {
	if int(l) < len(layerNames) {
		return layerNames[l]
	}
	return fmt.Sprintf("layer(%d)", uint8(l))
}

// Item is one value, or one entry of a list. Paths in it are absolute.
type Item struct {
	Text    string
	Origin  policy.Origin
	Layer   Layer
	typed   bool            // a flag says it, too
	host    policy.HostRule // of Hosts
	pattern *plain.Pattern  // of Commands
}

// Typed reports whether the command line says it, whoever else does.
func (it Item) Typed() bool { return it.Layer == Flags || it.typed }

// scope is what a value's text is read against.
type scope struct {
	layer     Layer
	home      string // absolute, or "" if unknown
	workspace string
}

// item checks one value of a key. The error does not name the key.
func (sc scope) item(k *Key, text string, o policy.Origin) (Item, error) {
	it := Item{Text: text, Origin: o, Layer: sc.layer}
	// A folder that a person typed is one that exists, whatever its name.
	typed := sc.layer == Flags && k.Kind == Folders
	if !typed && !policy.AllVisible(text) {
		return it, errors.New("the value holds a control character, or one that does not show")
	}
	if len(text) > maxValue {
		return it, fmt.Errorf("the value is longer than %d bytes", maxValue)
	}
	var err error
	switch k.Kind {
	case Bool, Word:
		err = checkWord(k, text)
	case Proxy:
		err = checkProxy(text)
	case Address:
		err = checkAddress(text)
	case Folders, Places:
		if k == &keys[keyUnprotect] && isNameID(text) {
			break
		}
		if k == &keys[keyUnprotect] && !strings.Contains(text, "/") && !strings.HasPrefix(text, ".") {
			// Taken as a file's name a slip would lift nothing.
			if n := Nearest(text, nameIDs[:]); n != "" || strings.HasPrefix(text, "git.") {
				return it, fmt.Errorf("%q is no protected name, and a file of that name is ./%s%s", text, text, didYouMean(text, nameIDs[:]))
			}
		}
		it.Text, err = sc.path(k, text)
	case Hosts:
		if it.host, err = parseHost(k, text, o); err == nil {
			it.Text = it.host.String() // in ASCII, which no look-alike letter disguises
		}
	case Ports:
		it.Text, err = parsePort(text)
	case Names:
		rules := policy.EnvRules{Drop: []string{text}}
		if k.Effect == Widens {
			rules = policy.EnvRules{Keep: []string{text}}
		}
		err = rules.Validate()
	case Commands:
		it.pattern, err = parseCommand(k, text, o)
		it.Text = it.pattern.String()
	case Programs:
		err = sc.checkProgram(text, o)
	case Chords:
		it.Text, err = parseChord(text)
	default:
		err = errors.New("unknown kind of key")
	}
	return it, err
}

const maxValue = 4096 // bytes of one value: no path is longer

func checkWord(k *Key, text string) error {
	if k.rank(text) >= 0 {
		return nil
	}
	quoted := make([]string, len(k.Words))
	for i, w := range k.Words {
		quoted[i] = strconv.Quote(w)
	}
	last := len(quoted) - 1
	return fmt.Errorf("%q is not one of %s%s", text, strings.Join(quoted[:last], ", ")+" and "+quoted[last], didYouMean(text, k.Words))
}

func didYouMean(word string, known []string) string {
	if n := Nearest(word, known); n != "" {
		return fmt.Sprintf("; did you mean %q?", n)
	}
	return ""
}

// checkAddress takes an address that parameters can be added to.
func checkAddress(text string) error {
	if text == "none" {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		return errors.New("this must be none, or an address as https://host/path")
	case u.User != nil:
		return errors.New("an address with a name or password in it is not taken")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(text, "#"):
		return errors.New("leave out what follows ? or #: bawn adds the query")
	}
	return nil
}

// checkProxy never repeats the text: it may hold a password.
func checkProxy(text string) error {
	if text == "env" || text == "none" {
		return nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.Opaque != "" || u.Host == "" || (u.Path != "" && u.Path != "/") || u.RawQuery != "" || u.Fragment != "" {
		return errors.New(`it is not "env", "none" or http://[user:password@]host:port`)
	}
	if _, _, err := policy.SplitHostPort(u.Host); err != nil {
		return errors.New("the proxy's host and port cannot be read: http://host:port")
	}
	return nil
}

// nameIDs are the protected names that can be lifted wherever they are: those
// of policy.ProtectedNames, and of git's control files.
var nameIDs = [...]string{"git.hooks", "git.config", "git.pointer", "git.layout", "git.target", "git.settings", "shell", "agent", "bawn"}

// gitConfigKey begins the id of one key, as git.config:core.editor.
const gitConfigKey = "git.config:"

// isNameID reports whether text is an id and no path: ./shell is a file.
func isNameID(text string) bool {
	if key, ok := strings.CutPrefix(text, gitConfigKey); ok {
		section, name, ok := strings.Cut(key, ".")
		return ok && plainKey(section) && plainKey(name)
	}
	for _, id := range nameIDs {
		if text == id {
			return true
		}
	}
	return false
}

// plainKey reports whether s is a section's or a key's name as git folds it.
func plainKey(s string) bool {
	return s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// path resolves a path's text, without looking at the disk.
func (sc scope) path(k *Key, text string) (string, error) {
	plain, err := unescape(text)
	if err != nil {
		return "", err
	}
	relative := false
	switch {
	case plain == "":
		return "", errors.New("the path is empty")
	case text == "~" || strings.HasPrefix(text, "~/"):
		if sc.home == "" {
			return "", errors.New("~ means nothing here: the home folder is not known")
		}
		plain = sc.home + plain[1:]
	case text[0] == '~':
		return "", errors.New("~ stands for your own home only, as ~/…")
	case plain[0] != '/':
		relative = true
	}
	if relative {
		switch {
		case k.Kind == Folders && sc.layer != ProjectFile:
			return "", errors.New("a relative path would mean another folder in each project; write it from / or ~/")
		case sc.workspace == "":
			return "", errors.New("a relative path means nothing without a workspace")
		}
		base := sc.workspace
		if k.Kind == Folders { // a project may name its neighbours
			for rest, ok := cutUp(plain); ok; rest, ok = cutUp(plain) {
				base, plain = policy.Parent(base), rest
			}
		}
		plain = strings.TrimSuffix(base, "/") + "/" + plain
	}
	plain, err = tidy(plain)
	if err != nil {
		return "", err
	}
	if k.Kind == Places && k.Effect == Widens && sc.workspace != "" && policy.Inside(sc.workspace, plain) {
		return "", errors.New("this would lift every protection of the workspace; name the file or folder")
	}
	return plain, nil
}

func cutUp(path string) (rest string, ok bool) {
	if path == ".." {
		return ".", true
	}
	return strings.CutPrefix(path, "../")
}

// tidy removes what says nothing from an absolute path and refuses "..": what
// that leads to depends on links.
func tidy(path string) (string, error) {
	elems := strings.Split(path, "/")
	out := elems[:0]
	for _, e := range elems {
		switch e {
		case "", ".":
		case "..":
			return "", errors.New(`".." is not taken in a path; write where it leads`)
		default:
			out = append(out, e)
		}
	}
	return "/" + strings.Join(out, "/"), nil
}

// PlainPath writes a path so that a setting takes every character as itself.
func PlainPath(path string) string {
	var b strings.Builder
	for i := 0; i < len(path); i++ {
		if strings.IndexByte(special, path[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(path[i])
	}
	return b.String()
}

// special are the characters that a path has only behind a backslash.
const special = `*?[]{}$\`

// unescape refuses wildcards and variables, which nothing would expand, and
// takes the backslash off those characters where they belong to a name.
func unescape(text string) (string, error) {
	if !strings.ContainsAny(text, special) {
		return text, nil
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '\\' && i+1 < len(text) && strings.IndexByte(special, text[i+1]) >= 0:
			i++
			b.WriteByte(text[i])
		case c == '\\':
			return "", errors.New(`a backslash stands only before one of * ? [ ] { } $ \`)
		case c == '$':
			return "", errors.New(`variables are not expanded; write the path, with ~/ for your home (\$ is a plain $)`)
		case strings.IndexByte(special, c) >= 0:
			return "", fmt.Errorf(`wildcards are not taken in paths: they cannot be enforced for names that do not exist yet; name the folder (\%c is a plain %c)`, c, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), nil
}

// parseHost reads a host rule; one for a public suffix may deny, not allow.
func parseHost(k *Key, text string, o policy.Origin) (policy.HostRule, error) {
	if strings.Contains(text, "/") {
		return policy.HostRule{}, errors.New("a rule is a host, without scheme, path or mask; a port may follow, as in example.com:443")
	}
	parse := hostname.ParseRule
	if k.Effect == Widens {
		parse = hostname.ParseAllowed
	}
	r, err := parse(text, o)
	if err != nil {
		var refused *policy.RefusedError
		if errors.As(err, &refused) { // the place is said once
			return r, errors.New(refused.Why + "; " + refused.Lift)
		}
		return r, err
	}
	// The lists have rules of their own about addresses and about *.
	if _, isAddr := r.Host().Addr(); !isAddr && !r.Any() {
		return r, nil
	}
	var c policy.NetworkConfig
	switch k {
	case &keys[keyDenied]:
		c.Deny = []policy.HostRule{r}
	case &keys[keyPrivate]:
		c.AllowPrivate = []policy.HostRule{r}
	default:
		c.Allow = []policy.HostRule{r}
	}
	c.NoDefaults = true
	_, err = policy.NewNetwork(c)
	return r, err
}

func parsePort(text string) (string, error) {
	n, err := strconv.ParseUint(text, 0, 16)
	if err != nil || n == 0 {
		return "", errors.New("it is not a port number from 1 to 65535")
	}
	return strconv.FormatUint(n, 10), nil
}

// checkProgram wants the file itself: a name would be looked up in a PATH.
func (sc scope) checkProgram(text string, o policy.Origin) error {
	switch {
	case strings.ContainsAny(text, "*?[]{}$\\"):
		return errors.New("a program is named in full, without wildcards")
	case !policy.IsClean(text) || text == "/":
		return errors.New("a program is named by its absolute path, without \".\" and \"..\"")
	case sc.workspace != "" && policy.Inside(text, sc.workspace):
		return errors.New("the program lies in the workspace, where commands may change it")
	}
	_, _, err := plain.ParseHatch(text, o)
	return err
}
