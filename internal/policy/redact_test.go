package policy

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestRedactPairs(t *testing.T) {
	token := "ghp_" + strings.Repeat("a1B2", 9)
	for in, want := range map[string]string{
		"":                                            "",
		"npm test":                                    "npm test",
		"curl https://example.com/a":                  "curl https://example.com/a",
		"git log --author=me":                         "git log --author=me",
		"make CC=gcc":                                 "make CC=gcc",
		"A_TOKEN=abc make":                            "A_TOKEN=*** make",
		"sh -c 'X_API_KEY=abc run'":                   "sh -c 'X_API_KEY=*** run'",
		"tool --token abc next":                       "tool --token *** next",
		"tool --token --json":                         "tool --token --json",
		"tool --api-key=abc":                          "tool --api-key=***",
		"psql --password 'p w'":                       "psql --password '***'",
		"curl -u me:pw https://example.com":           "curl -u *** https://example.com",
		"curl https://me:pw@example.com/":             "curl ***",
		"echo " + token:                               "echo ***",
		"echo " + token + " >f":                       "echo *** >f",
		"curl -H 'Authorization: Bearer abcdefgh' x":  "curl -H 'Authorization: ***' x",
		"Authorization: Bearer abcdefgh":              "Authorization: ***",
		"curl -uroot:pw https://example.com":          "curl -u*** https://example.com",
		"sudo /usr/bin/mysql -h db -ppw shop":         "sudo /usr/bin/mysql -h db -p*** shop",
		"mysql -p shop":                               "mysql -p shop",
		"echo mysql; mkdir -p a/b; cp -pr a c":        "echo mysql; mkdir -p a/b; cp -pr a c",
		"sshpass -p pw ssh -p 22 me@h":                "sshpass -p *** ssh -p 22 me@h",
		"sshpass -ppw ssh h":                          "sshpass -p*** ssh h",
		"docker login -p 'p w' r.example":             "docker login -p '***' r.example",
		"docker run -p 80:80 x":                       "docker run -p 80:80 x",
		"zip -P pw a.zip b; unzip -Ppw a.zip":         "zip -P *** a.zip b; unzip -P*** a.zip",
		"redis-cli -a pw ping":                        "redis-cli -a *** ping",
		"openssl enc -k pw -in a":                     "openssl enc -k *** -in a",
		"openssl rsa -passin pass:pw -in k":           "openssl rsa -passin pass:*** -in k",
		"aws configure set aws_secret_access_key x y": "aws configure set aws_secret_access_key *** y",
		"npm config set //r.example/:_authToken x":    "npm config set //r.example/:_authToken ***",
		"git config set color.ui auto":                "git config set color.ui auto",
		"echo 'db_password: p w' >f":                  "echo 'db_password: ***' >f",
		"grep -r api_token src":                       "grep -r api_token src",
		"TOKENS=3 make":                               "TOKENS=3 make",
		"SMTP_PWD=abc BUILD_PWD=/w make":              "SMTP_PWD=*** BUILD_PWD=/w make",
		"ls --password":                               "ls --password",
		`sh -c 'X_TOKEN='\''a b'\'' c'`:               `sh -c 'X_TOKEN='\''***'\'' c'`,
		"X_TOKEN='a b' c":                             "X_TOKEN='***' c",
	} {
		if got := Redact(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// Whatever stands around it, a token does not come through, and what holds
// nothing is left as it is.
func TestRedactProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, after := rapid.String().Draw(t, "before"), rapid.String().Draw(t, "after")
		token := "glpat-" + rapid.StringMatching(`[A-Za-z0-9]{20}`).Draw(t, "token")
		line := before + " " + token + " " + after
		if strings.Contains(Redact(line), token) {
			t.Fatalf("%q keeps the token", line)
		}
		if f := envFindSecret(Redact(line)); f.rule != "" {
			t.Fatalf("%q still holds %s", line, f.text)
		}
		plain := rapid.StringMatching(`[a-z ./]{0,40}`).Draw(t, "plain")
		if strings.Contains(plain, "--") || strings.Contains(plain, "-u") {
			return
		}
		if got := Redact(plain); got != plain {
			t.Fatalf("%q became %q", plain, got)
		}
	})
}

func FuzzRedact(f *testing.F) {
	f.Add("A_TOKEN=abc make --password x 'y'")
	f.Fuzz(func(t *testing.T, line string) {
		out := Redact(line)
		if envFindSecret(out).rule != "" {
			t.Errorf("%q still holds a secret", out)
		}
		if Redact(out) != out && !strings.Contains(out, "--") && !strings.Contains(out, "-u") {
			t.Errorf("%q is not stable", out)
		}
	})
}
