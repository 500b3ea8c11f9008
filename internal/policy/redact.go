package policy

import "strings"

// Redacted stands where a secret was. Stars are what Scrub takes for a
// placeholder, so that what was redacted is not suspect any more.
const Redacted = "***"

// Redact takes out of a line of text, such as a command line, what Scrub would
// not let into a command's environment: a word whose value holds a credential,
// and the value of an assignment, flag or setting that is named as a secret
// (X_TOKEN=…, --password …, set x.token …), or is one of a well-known program
// (mysql -p…). What is still suspect as a whole goes as a whole.
func Redact(line string) string {
	var b strings.Builder
	next := false // the last word says that the next one is a secret
	var at redactPlace
	for i := 0; i < len(line); {
		start := i
		for i < len(line) && redactBreak(line[i]) {
			i++
		}
		b.WriteString(line[start:i])
		if strings.ContainsAny(line[start:i], ";|&()`\n") {
			at = redactPlace{}
		}
		if start = i; start == len(line) {
			break
		}
		for i < len(line) && !redactBreak(line[i]) {
			i++
		}
		if next && strings.Trim(line[start:i], `\`) == "" { // a quote within quotes: '\''
			b.WriteString(line[start:i])
			continue
		}
		if next && !strings.HasPrefix(line[start:i], "--") {
			if strings.HasSuffix(at.last, ":") { // a header, or a line of YAML
				if n := strings.IndexAny(line[i:], "'\"\n"); n >= 0 {
					i += n
				} else {
					i = len(line)
				}
			} else if q := line[start-1]; q == '\'' || q == '"' { // all that is quoted
				if n := strings.IndexByte(line[i:], q); n >= 0 {
					i += n
				}
			}
			b.WriteString(Redacted)
			next = false
			continue
		}
		word := line[start:i]
		shown, named, known := at.short(word)
		if !known {
			shown, named = redactWord(word)
			named = named || at.names(word)
		}
		b.WriteString(shown)
		next = named
		at.pass(word)
	}
	if out := b.String(); envFindSecret(out).rule == "" {
		return out
	}
	return Redacted // it takes several words to see, as in a header or a key block
}

// redactBreak ends a word: what separates words in a shell, and quotes.
func redactBreak(c byte) bool {
	switch c {
	case ' ', '\t', '\n', '\r', '\'', '"', '`', ';', '|', '&', '(', ')', '<', '>':
		return true
	}
	return false
}

// redactPlace is what was before a word in its command.
type redactPlace struct {
	program string // the last one that redactShort knows
	last    string // the word before
}

func (p *redactPlace) pass(word string) {
	p.last = word
	base := word[strings.LastIndexByte(word, '/')+1:]
	if attached, next := redactShort(base); attached+next != "" {
		p.program = base
	}
}

// short judges a short flag. What a program has in such a one comes once.
func (p *redactPlace) short(word string) (shown string, named, known bool) {
	if len(word) < 2 || word[0] != '-' || word[1] == '-' {
		return "", false, false
	}
	attached, next := redactShort(p.program)
	switch flag := word[:2]; {
	case word == next:
		p.program = ""
		return word, true, true
	case flag == attached && len(word) > 2:
		p.program = ""
		return flag + Redacted, false, true
	case flag == "-u" && strings.Contains(word, ":"): // user:password, as with a space between
		return flag + Redacted, false, true
	}
	return "", false, false
}

// redactShort are the short flags by which programs take a secret, with it
// attached, or as the next word.
func redactShort(program string) (attached, next string) {
	switch program {
	case "mysql", "mysqldump", "mysqladmin", "mysqlimport", "mysqlsh", "mariadb", "mariadb-dump", "mariadb-admin", "7z", "7za", "7zr", "7zz":
		return "-p", ""
	case "sshpass", "mongo", "mongosh", "mongodump", "mongorestore":
		return "-p", "-p"
	case "login": // docker login, helm registry login
		return "", "-p"
	case "zip", "unzip":
		return "-P", "-P"
	case "redis-cli":
		return "-a", "-a"
	case "ldapsearch", "ldapmodify", "ldapadd", "ldapdelete", "ldapwhoami":
		return "-w", "-w"
	case "openssl":
		return "", "-k"
	}
	return "", ""
}

// names reports whether a word that is neither an assignment nor a flag names
// the next one: "set npm.token VALUE", "password: VALUE".
func (p *redactPlace) names(word string) bool {
	name, colon := strings.CutSuffix(word, ":")
	if !colon && p.last != "set" {
		return false
	}
	name = name[strings.LastIndexAny(name, ".:/")+1:]
	name = envUpper(strings.ReplaceAll(name, "-", "_"))
	return name != "" && redactName(name)
}

// redactWord judges one word. named: it is a flag whose value comes next and
// is a secret.
func redactWord(word string) (shown string, named bool) {
	name, value, assigned := strings.Cut(word, "=")
	flag := strings.HasPrefix(name, "-")
	if assigned || flag {
		upper := envUpper(strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_"))
		secret := upper != "" && (redactName(upper) || assigned && envPwd(upper, value))
		switch {
		case secret && assigned && value != "":
			return name + "=" + Redacted, false
		case secret:
			return word, true // its value is the next word, or the next in quotes
		case word == "-u" || word == "--user" || word == "--proxy-user":
			return word, true // user:password, for curl and its like
		}
	}
	if value, ok := strings.CutPrefix(word, "pass:"); ok && value != "" { // openssl's
		return "pass:" + Redacted, false
	}
	if assigned && value != "" && (envFindSecret(value).rule != "" || envFindBase64(value).rule != "") {
		return name + "=" + Redacted, false
	}
	if envFindSecret(word).rule != "" || envFindBase64(word).rule != "" {
		return Redacted, false
	}
	return word, false
}

// redactName judges the name of a variable or flag as that of a variable.
// A flag's name has no prefix: --token is what X_TOKEN is.
func redactName(upper string) bool {
	for _, name := range [...]string{upper, "_" + upper} {
		if _, rule := envNameRule(name); strings.HasPrefix(rule, "env:name:") {
			return true
		}
	}
	return false
}
