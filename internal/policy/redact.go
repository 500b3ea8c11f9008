package policy

import "strings"

// Redacted stands where a secret was. Stars are what Scrub takes for a
// placeholder, so that what was redacted is not suspect any more.
const Redacted = "***"

// Redact takes out of a line of text, such as a command line, what Scrub would
// not let into a command's environment: a word whose value holds a credential,
// and the value of an assignment or flag that is named as a secret
// (X_TOKEN=…, --password …). What is still suspect as a whole goes as a whole.
func Redact(line string) string {
	var b strings.Builder
	next := false // the last word says that the next one is a secret
	for i := 0; i < len(line); {
		start := i
		for i < len(line) && redactBreak(line[i]) {
			i++
		}
		b.WriteString(line[start:i])
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
			if q := line[start-1]; q == '\'' || q == '"' { // all that is quoted
				if n := strings.IndexByte(line[i:], q); n >= 0 {
					i += n
				}
			}
			b.WriteString(Redacted)
			next = false
			continue
		}
		word := line[start:i]
		shown, named := redactWord(word)
		b.WriteString(shown)
		next = named
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
