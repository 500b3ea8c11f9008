package policy

// envClass is the alphabet of a token's body.
type envClass uint8

const (
	envAlnum  envClass = iota // A-Z a-z 0-9
	envUpNum                  // A-Z 0-9
	envHex                    // 0-9 a-f A-F
	envWord                   // alphanumeric, _ and -
	envBase64                 // alphanumeric, + / = _ and -
)

func (c envClass) has(b byte) bool {
	switch {
	case '0' <= b && b <= '9':
		return true
	case 'A' <= b && b <= 'Z':
		return c != envHex || b <= 'F'
	case 'a' <= b && b <= 'z':
		return c != envUpNum && (c != envHex || b <= 'f')
	case b == '_', b == '-':
		return c >= envWord
	case b == '+', b == '/', b == '=':
		return c == envBase64
	}
	return false
}

// envToken is a well-known form of credential: a prefix and at least min bytes
// of a body; with exact set the body ends there. Issuers' lengths vary over
// the years, so min is somewhat below today's length where a chance match is
// out of the question anyway, and exact only where the prefix is short.
type envToken struct {
	prefix string
	what   string
	class  envClass
	min    int
	exact  bool
}

// envTokens is sorted by prefix. Prefixes are case-sensitive. Public halves
// (pk_live_, Stripe's publishable key) are not here.
var envTokens = [...]envToken{
	{"ABIA", "AWS key", envUpNum, 16, true},
	{"ABSK", "Bedrock key", envBase64, 100, false},
	{"ACCA", "AWS key", envUpNum, 16, true},
	{"AGE-SECRET-KEY-1", "age key", envUpNum, 50, false},
	{"AIza", "Google key", envWord, 35, true},
	{"AKCp", "Artifactory key", envAlnum, 60, false},
	{"AKIA", "AWS key", envUpNum, 16, true},
	{"ASIA", "AWS key", envUpNum, 16, true},
	{"ATATT3", "Atlassian token", envBase64, 60, false},
	{"ATCTT3", "Atlassian token", envBase64, 60, false},
	{"CFPAT-", "Contentful token", envWord, 40, false},
	{"EZAK", "EasyPost key", envAlnum, 54, true},
	{"GOCSPX-", "Google client secret", envWord, 20, false},
	{"GR1348941", "GitLab runner token", envWord, 20, false},
	{"HRKU-", "Heroku key", envWord, 30, false},
	{"LTAI", "Alibaba Cloud key", envAlnum, 20, true},
	{"NRAK-", "New Relic key", envAlnum, 20, false},
	{"PMAK-", "Postman key", envWord, 40, false},
	{"bedrock-api-key-", "Bedrock key", envBase64, 20, false},
	{"cio", "crates.io token", envAlnum, 32, true},
	{"dapi", "Databricks token", envHex, 32, false},
	{"dckr_oat_", "Docker token", envWord, 20, false},
	{"dckr_pat_", "Docker token", envWord, 20, false},
	{"discord.com/api/webhooks/", "Discord webhook", envBase64, 40, false},
	{"discordapp.com/api/webhooks/", "Discord webhook", envBase64, 40, false},
	{"doo_v1_", "DigitalOcean token", envHex, 40, false},
	{"dop_v1_", "DigitalOcean token", envHex, 40, false},
	{"dor_v1_", "DigitalOcean token", envHex, 40, false},
	{"dp.pt.", "Doppler token", envAlnum, 40, false},
	{"dp.st.", "Doppler token", envWord, 40, false},
	{"dt0c01.", "Dynatrace token", envAlnum, 24, false},
	{"e2b_", "E2B key", envHex, 32, false},
	{"figd_", "Figma token", envWord, 36, false},
	{"fm1a_", "Fly.io token", envBase64, 60, false},
	{"fm1r_", "Fly.io token", envBase64, 60, false},
	{"fm2_", "Fly.io token", envBase64, 60, false},
	{"fo1_", "Fly.io token", envWord, 40, false},
	{"gho_", "GitHub token", envAlnum, 30, false},
	{"ghp_", "GitHub token", envAlnum, 30, false},
	{"ghr_", "GitHub token", envAlnum, 30, false},
	{"ghs_", "GitHub token", envAlnum, 30, false},
	{"ghu_", "GitHub token", envAlnum, 30, false},
	{"github_pat_", "GitHub token", envWord, 22, false},
	{"glagent-", "GitLab token", envWord, 40, false},
	{"glc_", "Grafana token", envBase64, 32, false},
	{"glcbt-", "GitLab token", envWord, 20, false},
	{"gldt-", "GitLab token", envWord, 20, false},
	{"glffct-", "GitLab token", envWord, 20, false},
	{"glft-", "GitLab token", envWord, 20, false},
	{"glimt-", "GitLab token", envWord, 20, false},
	{"gloas-", "GitLab token", envWord, 40, false},
	{"glpat-", "GitLab token", envWord, 20, false},
	{"glptt-", "GitLab token", envWord, 20, false},
	{"glrt-", "GitLab token", envWord, 20, false},
	{"glsa_", "Grafana token", envWord, 32, false},
	{"glsoat-", "GitLab token", envWord, 20, false},
	{"gsk_", "Groq key", envAlnum, 40, false},
	{"hf_", "Hugging Face token", envAlnum, 30, false},
	{"hooks.slack.com/services/", "Slack webhook", envBase64, 20, false},
	{"hooks.slack.com/workflows/", "Slack webhook", envBase64, 20, false},
	{"hvb.", "Vault token", envWord, 24, false},
	{"hvs.", "Vault token", envWord, 24, false},
	{"jina_", "Jina key", envAlnum, 40, false},
	{"lin_api_", "Linear key", envAlnum, 30, false},
	{"lsv2_pt_", "LangSmith key", envWord, 32, false},
	{"lsv2_sk_", "LangSmith key", envWord, 32, false},
	{"npm_", "npm token", envAlnum, 36, false},
	{"ntn_", "Notion token", envAlnum, 40, false},
	{"nvapi-", "NVIDIA key", envWord, 40, false},
	{"ops_eyJ", "1Password token", envBase64, 100, false},
	{"pplx-", "Perplexity key", envAlnum, 40, false},
	{"pscale_oauth_", "PlanetScale token", envWord, 30, false},
	{"pscale_pw_", "PlanetScale password", envWord, 30, false},
	{"pscale_tkn_", "PlanetScale token", envWord, 30, false},
	{"pul-", "Pulumi token", envHex, 40, false},
	{"pypi-AgE", "PyPI token", envWord, 30, false},
	{"r8_", "Replicate token", envAlnum, 37, false},
	{"rk_live_", "Stripe key", envAlnum, 16, false},
	{"rk_test_", "Stripe key", envAlnum, 16, false},
	{"rubygems_", "RubyGems key", envHex, 40, false},
	{"sb_secret_", "Supabase key", envWord, 20, false},
	{"sbp_", "Supabase token", envHex, 40, false},
	{"shpat_", "Shopify token", envHex, 32, false},
	{"shpca_", "Shopify token", envHex, 32, false},
	{"shppa_", "Shopify token", envHex, 32, false},
	{"shpss_", "Shopify secret", envHex, 32, false},
	{"sk-", "API key", envAlnum, 20, false},
	{"sk-admin-", "OpenAI key", envWord, 20, false},
	{"sk-ant-", "Anthropic key", envWord, 20, false},
	{"sk-lf-", "Langfuse key", envWord, 20, false},
	{"sk-or-", "OpenRouter key", envWord, 20, false},
	{"sk-proj-", "OpenAI key", envWord, 20, false},
	{"sk-svcacct-", "OpenAI key", envWord, 20, false},
	{"sk_live_", "Stripe key", envAlnum, 16, false},
	{"sk_test_", "Stripe key", envAlnum, 16, false},
	{"sntrys_", "Sentry token", envBase64, 40, false},
	{"sntryu_", "Sentry token", envHex, 40, false},
	{"sq0atp-", "Square token", envWord, 22, false},
	{"sq0csp-", "Square secret", envWord, 22, false},
	{"tskey-", "Tailscale key", envWord, 16, false},
	{"tvly-", "Tavily key", envWord, 24, false},
	{"whsec_", "webhook secret", envBase64, 24, false},
	{"xai-", "xAI key", envAlnum, 40, false},
	{"xapp-1-", "Slack token", envWord, 12, false},
	{"xkeysib-", "Brevo key", envHex, 40, false},
	{"xoxa-", "Slack token", envWord, 10, false},
	{"xoxb-", "Slack token", envWord, 10, false},
	{"xoxe-", "Slack token", envWord, 10, false},
	{"xoxo-", "Slack token", envWord, 10, false},
	{"xoxp-", "Slack token", envWord, 10, false},
	{"xoxr-", "Slack token", envWord, 10, false},
	{"xoxs-", "Slack token", envWord, 10, false},
	{"ya29.", "Google token", envWord, 20, false},
}

// What envFindSecret does at a byte.
const (
	envByteAlnum   = 1                // nothing, but a token cannot begin after it
	envByteStart   = 2 | envByteAlnum // a row of envTokens, a JWT or SendGrid's SG. may begin here
	envByteSpecial = 4                // : = - .
)

// envBytes is constant data, not built at start; a test compares it with the
// tables it stands for. 1 is envByteAlnum, 3 envByteStart.
var envBytes = [256]uint8{
	':': envByteSpecial, '=': envByteSpecial, '-': envByteSpecial, '.': envByteSpecial,
	'0': 1, '1': 1, '2': 1, '3': 1, '4': 1, '5': 1, '6': 1, '7': 1, '8': 1, '9': 1,
	'A': 3, 'B': 1, 'C': 3, 'D': 1, 'E': 3, 'F': 1, 'G': 3, 'H': 3, 'I': 1, 'J': 1, 'K': 1, 'L': 3, 'M': 1,
	'N': 3, 'O': 1, 'P': 3, 'Q': 1, 'R': 1, 'S': 3, 'T': 1, 'U': 1, 'V': 1, 'W': 1, 'X': 1, 'Y': 1, 'Z': 1,
	'a': 1, 'b': 3, 'c': 3, 'd': 3, 'e': 3, 'f': 3, 'g': 3, 'h': 3, 'i': 1, 'j': 3, 'k': 1, 'l': 3, 'm': 1,
	'n': 3, 'o': 3, 'p': 3, 'q': 1, 'r': 3, 's': 3, 't': 3, 'u': 1, 'v': 1, 'w': 3, 'x': 3, 'y': 3, 'z': 1,
}

// envFindToken looks for a token that begins exactly at v[i]. It reads at most
// the longest prefix and body of the table, and for a JWT its own three parts.
func envFindToken(v string, i int) (what, id string) {
	s := v[i:]
	if len(s) < 12 {
		return "", ""
	}
	// The first row that begins with the same two bytes, or sorts after them.
	key := uint16(s[0])<<8 | uint16(s[1])
	lo, hi := 0, len(envTokens)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		if envTokens[mid].key() < key {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	for ; lo < len(envTokens) && envTokens[lo].key() == key; lo++ {
		t := &envTokens[lo]
		if len(s) >= len(t.prefix)+t.min && s[:len(t.prefix)] == t.prefix && t.body(s[len(t.prefix):]) {
			if t.prefix == "sk-" && i > 0 && (v[i-1] == '-' || v[i-1] == '_') {
				continue // a slug that goes on, as in my-sk-…
			}
			return t.what, t.prefix
		}
	}
	switch {
	case s[0] == 'e' && envIsJWT(s):
		return "JSON web token", "jwt"
	case s[0] == 'S' && s[1] == 'G' && s[2] == '.':
		// SendGrid: SG.<22>.<43>
		n := envRun(s[3:], envWord, 65)
		if n >= 16 && n < 64 && len(s) > 3+n && s[3+n] == '.' && envRun(s[4+n:], envWord, 16) == 16 {
			return "SendGrid key", "SG."
		}
	}
	return "", ""
}

func (t *envToken) key() uint16 { return uint16(t.prefix[0])<<8 | uint16(t.prefix[1]) }

func (t *envToken) body(s string) bool {
	if t.exact {
		return envRun(s, t.class, t.min) == t.min && (len(s) == t.min || !envWord.has(s[t.min]))
	}
	return envRun(s, t.class, t.min) == t.min
}

// envIsJWT reports whether s begins with three base64url parts, the first of
// them a JSON object. An unsigned one (empty third part) is no credential.
func envIsJWT(s string) bool {
	if len(s) < 3 || s[:3] != "eyJ" {
		return false
	}
	n := envRun(s, envWord, len(s))
	if n < 12 || n == len(s) || s[n] != '.' {
		return false
	}
	s = s[n+1:]
	n = envRun(s, envWord, len(s))
	return n >= 4 && n < len(s) && s[n] == '.' && envRun(s[n+1:], envWord, 16) == 16
}

// envRun is how many bytes of s, at most limit, are of the class.
func envRun(s string, c envClass, limit int) int {
	n := 0
	for n < len(s) && n < limit && c.has(s[n]) {
		n++
	}
	return n
}
