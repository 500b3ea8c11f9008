package policy

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var envBodies = map[envClass]string{
	envAlnum: "aB3dE6gH9j", envUpNum: "AB3DE6GH9J", envHex: "0a1b2c3d4e", envWord: "aB3_E6-H9j", envBase64: "aB3/E6+H9j",
}

func (t envToken) sample(n int) string {
	return t.prefix + strings.Repeat(envBodies[t.class], n/10+1)[:n]
}

// Every row takes a token of its length, wherever it stands as a word, and
// leaves one that is a byte short, joined to a word, or (exact) a byte long.
func TestEnvTokenPairs(t *testing.T) {
	for i := range envTokens {
		tok := envTokens[i]
		full := tok.sample(tok.min)
		for _, v := range []string{full, "x " + full, "-k=" + full, "a:" + full + ",b", "[\"" + full + "\"]", "https://h/?q=" + full} {
			if f := envFindSecret(v); !strings.HasPrefix(f.rule, "env:value:token:") {
				t.Errorf("%s: %q is not found: %+v", tok.prefix, v, f)
			}
		}
		leave := []string{tok.sample(tok.min - 1), tok.prefix, "x" + full}
		if tok.exact {
			leave = append(leave, tok.sample(tok.min+1))
		}
		for _, v := range leave {
			if f := envFindSecret(v); f.rule != "" {
				t.Errorf("%s: %q is taken: %+v", tok.prefix, v, f)
			}
		}
	}
}

func TestEnvByteTable(t *testing.T) {
	starts := "eS" // JWT, SendGrid
	for i := range envTokens {
		starts += envTokens[i].prefix[:1]
	}
	for c := 0; c < 256; c++ {
		var want uint8
		switch {
		case strings.IndexByte(starts, byte(c)) >= 0:
			want = envByteStart
		case envAlnum.has(byte(c)):
			want = envByteAlnum
		case c == ':' || c == '=' || c == '-' || c == '.':
			want = envByteSpecial
		}
		if envBytes[c] != want {
			t.Errorf("envBytes[%q] = %d, want %d", rune(c), envBytes[c], want)
		}
	}
}

const (
	envJWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	envPEM = "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk\n-----END OPENSSH PRIVATE KEY-----"
)

var envValuePairs = []struct{ rule, takes, twin string }{
	{"url-password", "postgres://u:pw@h/d", "postgres://u@h/d"},
	{"url-password", "http://u:pw@proxy:3128", "http://proxy:3128"},
	{"url-password", "redis://:pw@h:6379/0", "redis://h:6379/0"},
	{"url-password", "http://a/ http://b/,https://u:pw@c/", "http://a/ http://b/,https://c/"},
	{"url-password", "mongodb+srv://u:p,w@h1,h2/d", "mongodb://h1:27017,h2:27017/d?x=a@b"},
	{"url-password", "postgres://u:p/w#?@h/d", "http://localhost:3000/@vite/client"},
	{"url-password", "postgres://u:p@w@h/d", "ssh://git@h:22/a@b"},
	{"url-password", "https://u:ghp_x@github.com/a", "https://u:${PW}@github.com/a"},
	{"url-password", "https://x:%70w@h", "https://x:****@h"},
	{"url-password", "jdbc:postgresql://u:pw@h/d", "jdbc:postgresql://h/d?user=u"},
	{"url-password", "amqp://u:sha256@h", "docker://alpine:3.19@sha256:abcd"},
	{"url-password", "{\"a\":\"http://u:pw@h\"}", "{\"a\":\"http://h:1\",\"b\":\"x@y\"}"},
	{"url-password", "http://[::1]:80/ http://u:pw@[::1]:80/", "http://[::1]:80/@x"},
	{"url-password", "https://u@corp.example:pw@h/a", "https://u@corp.example/a"},
	{"url-password", "http://h:PORT,https://u:pw@h", "http://h:PORT,https://git@h/p"},
	{"url-token", "https://ghp_xxx@github.com/a/b", "https://git@github.com/a/b"},
	{"url-token", "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1", "https://first.last%40corp.example@h/a"},
	{"url-token", "https://glpat-x:@gitlab.com/a", "https://x-token-auth:@gitlab.com/a"},
	{"private-key", envPEM, strings.ReplaceAll(envPEM, "PRIVATE KEY", "CERTIFICATE")},
	{"private-key", "x=" + strings.ReplaceAll(envPEM, "\n", "\\n"), "-----BEGIN PUBLIC KEY-----"},
	{"private-key", "----------BEGIN PRIVATE KEY-----", "-----BEGIN"},
	{"private-key", "-----BEGIN CERTIFICATE-----\n:-----BEGIN PRIVATE KEY-----", "my PRIVATE KEY-----"},
	{"private-key", "PuTTY-User-Key-File-3: ssh-ed25519", "see PuTTY-User-Key-File-3"},
	{"token:ghp_", "ghp_aB3dE6gH9jaB3dE6gH9jaB3dE6gH9jaB3dE6", "ghp_short"},
	{"token:AKIA", "AKIAIOSFODNN7EXAMPLE", "AKIAIOSFODNN7EXAMPLES"},
	{"token:sk-", "sk-aB3dE6gH9jaB3dE6gH9j", "my-sk-aB3dE6gH9jaB3dE6gH9j"},
	{"token:sk-proj-", "sk-proj-aB3_E6-H9jaB3_E6-H9j", "sk-learn-experiment-of-long-name"},
	{"token:sk_live_", "sk_live_aB3dE6gH9jaB3dE6", "pk_live_aB3dE6gH9jaB3dE6"},
	{"token:jwt", envJWT, "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0."},
	{"token:jwt", "Bearer " + envJWT, "eyJhbGciOiJIUzI1NiJ9"},
	{"token:SG.", "SG.aaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "SG.aaaa.bbbb"},
	{"token:SG.", "x SG.aaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbb", "SG.aaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbb"},
	{"token:dapi", "dapi0123456789abcdef0123456789ABCDEF", "dapi0123456789abcdef0123456789ABCDEG"},
	{"token:pul-", "pul-0123456789abcdef0123456789abcdef01234567", "pul-0123456789abcdef0123456789abcdef0123456g"},
	{"token:atlasv1", "aaaaaaaaaaaaaa.atlasv1." + strings.Repeat("b", 60), "a.atlasv1.b"},
	{"token:hooks.slack.com/services/", "https://hooks.slack.com/services/T000/B000/XXXXXXXXXXXX", "https://hooks.slack.com/"},
	{"field", "host=h user=u password=pw", "host=h user=u password=${PW}"},
	{"field", "Server=h;User Id=u;Password=pw;", "Server=h;User Id=u;Password=;"},
	{"field", "-Dhttp.proxyHost=p -Dhttp.proxyPassword=pw", "-Dhttp.proxyHost=p -Dx.trustStorePassword=changeit"},
	{"field", "AccountName=a;AccountKey=0123456789abcdef", "AccountName=a;AccountKind=0123456789abcdef"},
	{"field", "{\"user\":\"u\",\"password\": \"pw\"}", "{\"user\":\"u\",\"password\": null}"},
	{"field", "{\\\"password\\\":\\\"pw\\\"}", "{\\\"passwords\\\":\\\"pw\\\"}"},
	{"field", "{\"auths\":{\"r\":{\"auth\":\"dXNlcjpwYXNz\"}}}", "{\"auths\":{\"r\":{\"auth\":\"x\"}}}"},
	{"field", "{'github_token' : '0123456789'}", "{'github_tokens' : '0123456789'}"},
	{"field", "{\"auth\":\"0123456789\"}", "{\"oauth\":\"0123456789\"}"},
	{"field", "user = u\npassword = pw", "user = u\npassword ="},
	{"field", "x-api-key: 0123456789", "x-api-version: 0123456789"},
	{"field", "https://h/?access_token=0123456789", "https://h/?access_tokens=0123456789"},
	{"field", "https://h/b?sv=1&sig=0123456789abcdef0123", "https://h/b?sv=1&sig=0"},
	{"field", "https://h/?X-Amz-Signature=0123456789abcdef", "https://h/?X-Amz-SignedHeaders=0123456789abcdef"},
	{"auth-header", "Authorization: Bearer 0123456789", "Authorization: Bearer $X_VALUE"},
	{"auth-header", "AUTHORIZATION: basic dXNlcjpwYXNz", "Authors: basic dXNlcjpwYXNz"},
	{"auth-header", "a=b,authorization=Bearer%200123456789", "a=b,authority=Bearer%200123456789"},
	{"base64", envB64("postgres://u:pw@host/database"), envB64("postgres://u@host/database..")},
	{"base64", envB64(envPEM), envB64("just some words, long enough")},
	{"base64", base64.RawURLEncoding.EncodeToString([]byte("??>>" + envJWT)), "/usr/lib/x86/64/linux/gnu/plugins"},
	{"base64", envB64(envPEM)[:40] + "\n" + envB64(envPEM)[40:] + "\n", "0123456789abcdef0123456789abcdef"},
}

func envB64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestEnvValuePairs(t *testing.T) {
	for _, c := range envValuePairs {
		if d := envVerdict(t, EnvRules{}, "X="+c.takes); d.Rule != "env:value:"+c.rule {
			t.Errorf("%q: %+v, want env:value:%s", c.takes, d, c.rule)
		} else if strings.Contains(d.Reason, c.takes) {
			t.Errorf("the reason shows the value: %q", d.Reason)
		}
		if d := envVerdict(t, EnvRules{}, "X="+c.twin); d.Rule != "" {
			t.Errorf("%q must stay: %+v", c.twin, d)
		}
	}
}

// curl and others take a proxy without a scheme.
func TestEnvProxyPairs(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "https_proxy", "ALL_PROXY", "ftp_proxy"} {
		for _, v := range []string{"u:pw@p:3128", "http://u:pw@p:3128", "socks5h://u:pw@p", "u:p/w@p"} {
			if d := envVerdict(t, EnvRules{}, name+"="+v); d.Rule != "env:value:url-password" {
				t.Errorf("%s=%s: %+v", name, v, d)
			}
		}
		for _, v := range []string{"", "p:3128", "http://p:3128", "http://u@p:3128", "http://p:3128/"} {
			if d := envVerdict(t, EnvRules{}, name+"="+v); d.Rule != "" {
				t.Errorf("%s=%s must stay: %+v", name, v, d)
			}
		}
	}
	if d := envVerdict(t, EnvRules{}, "REMOTE=git@host:a@b"); d.Rule != "" {
		t.Errorf("not a proxy: %+v", d)
	}
}

func TestEnvDecodeBase64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SliceOfN(rapid.Byte(), 1, 100).Draw(t, "bytes")
		for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
			if got, ok := envDecodeBase64(e.EncodeToString(b)); !ok || got != string(b) {
				t.Fatalf("decoded %q, %v; want %q", got, ok, b)
			}
		}
	})
	for _, bad := range []string{"a", "abcde", "ab===", "a=bc", "ab c", "ab.c", "ab:c", "é"} {
		if got, ok := envDecodeBase64(bad); ok {
			t.Errorf("%q decodes to %q", bad, got)
		}
	}
}

// A credential is found wherever it stands in a longer value.
func TestEnvFoundAnywhere(t *testing.T) {
	secrets := []string{"postgres://u:pw@h", envPEM, envJWT, "ghp_aB3dE6gH9jaB3dE6gH9jaB3dE6gH9jaB3dE6", "AKIAIOSFODNN7EXAMPLE"}
	rapid.Check(t, func(t *rapid.T) {
		pad := rapid.StringMatching(`([a-z:/=.-]{0,8} ){0,20}`)
		v := pad.Draw(t, "before") + rapid.SampledFrom(secrets).Draw(t, "secret") + " " + pad.Draw(t, "after")
		if envFindSecret(v).rule == "" {
			t.Fatalf("nothing found in %q", v)
		}
	})
}

// Time for a value of 128 KiB of what costs most; quadratic code takes many
// seconds here. The limit is loose, for loaded machines.
func TestEnvLinear(t *testing.T) {
	const size = 128 << 10
	for _, unit := range []string{"a", "-", "=", ":", "://", "://u:", "://a@", "eyJ", "eyJa.", "eyJaaaaaaaaaaaa.", "ghp_", "fm2_/", "ABSK/",
		"AKIA ", "-----BEGIN ", "password=", "\"password\":", "-_", "=_", " =", ".atlasv1.", "sk-", "SG.", "x-", "\xff", "A", "QUFB",
		"hooks.slack.com/services/", "authorization: ", "'"} {
		v := strings.Repeat(unit, size/len(unit))
		start := time.Now()
		EnvRules{}.Scrub([]string{"X=" + v, "X_PROXY=" + v, "X=" + v[:min(len(v), envBase64Limit)]})
		if d := time.Since(start); d > time.Second {
			t.Errorf("%q repeated to %d bytes takes %v", unit, len(v), d)
		}
	}
}

func FuzzEnvFindSecret(f *testing.F) {
	for _, c := range envValuePairs {
		f.Add(c.takes)
		f.Add(c.twin)
	}
	f.Fuzz(func(t *testing.T, v string) {
		start := time.Now()
		got := envFindSecret(v)
		envFindProxyPassword(v)
		envFindBase64(v)
		if d := time.Since(start); d > time.Second+time.Duration(len(v))*10*time.Microsecond {
			t.Fatalf("%d bytes take %v", len(v), d)
		}
		if got.rule != "" && !strings.HasPrefix(got.rule, "env:value:") || (got.rule == "") != (got.text == "") {
			t.Fatalf("%+v", got)
		}
		// A word before or after, set off by a space, hides nothing.
		if got.rule != "" && len(v) < 1000 && !strings.HasPrefix(v, "PuTTY") && envFindSecret("w "+v+" w").rule == "" {
			t.Fatalf("%q is found alone (%s) but not in a sentence", v, got.rule)
		}
		for _, entry := range []string{"X=" + v, v} {
			kept, dropped := EnvRules{}.Scrub([]string{entry})
			if len(kept)+len(dropped) != 1 || len(kept) == 1 && kept[0] != entry {
				t.Fatalf("Scrub(%q) = %q, %+v", entry, kept, dropped)
			}
		}
	})
}
