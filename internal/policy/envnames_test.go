package policy

import (
	"slices"
	"strings"
	"testing"
)

// Allow/deny pairs: every pattern of the tables has a name it takes and a twin,
// as near as one meets in practice, that stays. TestEnvEveryPatternHasATwin
// fails when a pattern is added without a line here.
var envNamePairs = []struct{ rule, takes, twin string }{
	{"*_ACCESSTOKEN", "MY_ACCESSTOKEN", "MY_ACCESSTOKENS_MAX"},
	{"*_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY", "ACCESS_KEY_ROTATION_DAYS"},
	{"*_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID", "AWS_REGION"},
	{"*_ACCOUNT_KEY", "STORAGE_ACCOUNT_KEY", "STORAGE_ACCOUNT"},
	{"*_APIKEY", "DASHSCOPE_APIKEY", "MY_APIKEYS_HELP"},
	{"*_API_KEY", "ANTHROPIC_API_KEY", "MY_API_BASE"},
	{"*_API_KEYS", "GEMINI_API_KEYS", "MY_API_KEYSPACE"},
	{"*_APP_KEY", "DD_APP_KEY", "DD_APP_KEYBOARD"},
	{"*_AUTH", "npm_config__auth", "GOAUTH"},
	{"*_AUTHTOKEN", "NGROK_AUTHTOKEN", "NGROK_REGION"},
	{"*_AUTH_KEY", "TS_AUTH_KEY", "AUTH_KEYS_URL"},
	{"*_CONNECTION_STRING", "DB_CONNECTION_STRING", "DB_CONNECTION_LIMIT"},
	{"*_COOKIE", "RELEASE_COOKIE", "COOKIE_DOMAIN"},
	{"*_CREDENTIAL", "MY_CREDENTIAL", "GIT_CREDENTIAL_HELPER"},
	{"*_CREDENTIALS", "FIREBASE_CREDENTIALS", "CREDENTIALS_TTL"},
	{"*_CREDS", "RABBIT_CREDS", "CREDS_TTL"},
	{"*DB_PWD", "DB_PWD", "DB_PWDS_MAX"},
	{"*_PWD", "SMTP_PWD", "SMTP_PWDX"},
	{"*_DEPLOY_KEY", "GH_DEPLOY_KEY", "DEPLOY_KEY_NAME"},
	{"*_ENCRYPTION_KEY", "N8N_ENCRYPTION_KEY", "ENCRYPTION_KEY_BITS"},
	{"*_JWT", "CI_JOB_JWT", "JWT_ALG"},
	{"*_MASTER_KEY", "RAILS_MASTER_KEY", "MASTER_KEYS_URL"},
	{"*_PASS", "SMTP_PASS", "COMPASS"},
	{"*_PSK", "WIREGUARD_PSK", "PSK_BITS"},
	{"*_PW", "LDAP_PW", "RAW_PWM"},
	{"*_SESSION_KEY", "FLASK_SESSION_KEY", "XDG_SESSION_TYPE"},
	{"*_SIGNING_KEY", "JWT_SIGNING_KEY", "GIT_SIGNING_FORMAT"},
	{"*_SSH_KEY", "CI_SSH_KEY", "SSH_KEYSCAN_TIMEOUT"},
	{"*_TOKEN", "github_token", "TOKENIZERS_PARALLELISM"},
	{"*_TOKEN_FILE", "AWS_WEB_IDENTITY_TOKEN_FILE", "TOKEN_FILE_MODE"},
	{"*PASSPHRASE*", "BORG_PASSPHRASE", "PASS_PHRASING"},
	{"*PASSWD*", "ROOT_PASSWD_2X", "TOX_TESTENV_PASSENV"},
	{"*PASSWORD*", "PGPASSWORD", "PGUSER"},
	{"*PRIVATE_KEY*", "APP_PRIVATE_KEY_B64", "APP_PUBLIC_KEY_B64"},
	{"*SECRET*", "SECRETS_YAML", "SECTION"},
	{"AZURE_*", "AZURE_CLIENT_ID", "MY_AZURE"},
	{"NUGETPACKAGESOURCECREDENTIALS_*", "NuGetPackageSourceCredentials_feed", "NUGET_PACKAGES"},
	{"OP_SESSION_*", "OP_SESSION_abc", "OP_ACCOUNT"},
	{"POETRY_PYPI_TOKEN_*", "POETRY_PYPI_TOKEN_PYPI", "POETRY_HOME"},
	{"TF_TOKEN_*", "TF_TOKEN_app_terraform_io", "TF_LOG"},
	{"VAULT_*", "VAULT_ADDR", "OBSIDIAN_VAULT"},
	{"BUNDLE_*__COM", "BUNDLE_GEMS__CONTRIBSYS__COM", "BUNDLE_MIRROR__HTTPS://RUBYGEMS__COM"},
	{"BUNDLE_*__IO", "BUNDLE_GEMS__X__IO", "BUNDLE_BUILD__NOKOGIRI"},
	{"BUNDLE_*__NET", "BUNDLE_X__NET", "BUNDLE_PATH"},
	{"BUNDLE_*__ORG", "BUNDLE_X__ORG", "BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/"},
	{"OTEL_EXPORTER_OTLP_*HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "OTEL_EXPORTER_OTLP_ENDPOINT"},
	{"ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS", "ANTHROPIC_BASE_URL"},
	{"*_APIKEY", "apikey", "APIKEYS_DOC"},
	{"*_API_KEY", "API_KEY", "API_URL"},
	{"*_APP_KEY", "APP_KEY", "APP_ENV"},
	{"AUTHORIZATION", "AUTHORIZATION", "AUTHOR"},
	{"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_ENDPOINT_URL"},
	{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_PAGER"},
	{"AWS_DEFAULT_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_DEFAULT_REGION"},
	{"AWS_PROFILE", "AWS_PROFILE", "PROFILE"},
	{"AWS_SHARED_CREDENTIALS_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"},
	{"BW_SESSION", "BW_SESSION", "XDG_SESSION_ID"},
	{"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", "CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", "CLOUDSDK_PYTHON"},
	{"CREDENTIALS_DIRECTORY", "CREDENTIALS_DIRECTORY", "CACHE_DIRECTORY"},
	{"CR_PAT", "CR_PAT", "PATH"},
	{"DOCKER_AUTH_CONFIG", "DOCKER_AUTH_CONFIG", "DOCKER_CONFIG"},
	{"GH_PAT", "GH_PAT", "GH_PATH"},
	{"GITHUB_PAT", "GITHUB_PAT", "GITHUB_PATH"},
	{"GITLAB_PAT", "GITLAB_PAT", "GITLAB_PATH"},
	{"GIT_ASKPASS", "GIT_ASKPASS", "GIT_AUTHOR_NAME"},
	{"GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_CLOUD_PROJECT"},
	{"GOOGLE_GHA_CREDS_PATH", "GOOGLE_GHA_CREDS_PATH", "GOOGLE_CLOUD_REGION"},
	{"HF_TOKEN_PATH", "HF_TOKEN_PATH", "HF_HOME"},
	{"HTTP_AUTHORIZATION", "HTTP_AUTHORIZATION", "HTTP_HOST"},
	{"KRB5CCNAME", "KRB5CCNAME", "KRB5_CONFIG"},
	{"ALIBABA_CLOUD_CREDENTIALS_FILE", "ALIBABA_CLOUD_CREDENTIALS_FILE", "ALIBABA_CLOUD_REGION"},
	{"ANSIBLE_GALAXY_TOKEN_PATH", "ANSIBLE_GALAXY_TOKEN_PATH", "ANSIBLE_GALAXY_CACHE_DIR"},
	{"AWS_CREDENTIAL_FILE", "AWS_CREDENTIAL_FILE", "AWS_CA_BUNDLE"},
	{"BORG_KEY_FILE", "BORG_KEY_FILE", "BORG_CACHE_DIR"},
	{"GCLOUD_KEYFILE_JSON", "GCLOUD_KEYFILE_JSON", "GCLOUD_PROJECT"},
	{"GOOGLE_CLOUD_KEYFILE_JSON", "GOOGLE_CLOUD_KEYFILE_JSON", "GOOGLE_CLOUD_PROJECT"},
	{"IBM_CREDENTIALS_FILE", "IBM_CREDENTIALS_FILE", "IBM_REGION"},
	{"KRB5_CLIENT_KTNAME", "KRB5_CLIENT_KTNAME", "KRB5_TRACE"},
	{"KRB5_KTNAME", "KRB5_KTNAME", "KRB5_TRACE"},
	{"MYSQL_TEST_LOGIN_FILE", "MYSQL_TEST_LOGIN_FILE", "MYSQL_HOME"},
	{"OCI_CLI_KEY_FILE", "OCI_CLI_KEY_FILE", "OCI_CLI_CONFIG_FILE"},
	{"OS_CLIENT_SECURE_FILE", "OS_CLIENT_SECURE_FILE", "OS_CLIENT_CONFIG_FILE"},
	{"SSLKEYLOGFILE", "SSLKEYLOGFILE", "SSL_CERT_FILE"},
	{"TALOSCONFIG", "TALOSCONFIG", "TALOS_ENDPOINT"},
	{"TERRAFORM_CONFIG", "TERRAFORM_CONFIG", "TERRAFORM_VERSION"},
	{"TF_CLI_CONFIG_FILE", "TF_CLI_CONFIG_FILE", "TF_CLI_ARGS"},
	{"TUNNEL_CRED_FILE", "TUNNEL_CRED_FILE", "TUNNEL_LOGLEVEL"},
	{"TUNNEL_ORIGIN_CERT", "TUNNEL_ORIGIN_CERT", "TUNNEL_LOGLEVEL"},
	{"KUBECONFIG", "KUBECONFIG", "KUBE_EDITOR"},
	{"KUBE_CONFIG_PATH", "KUBE_CONFIG_PATH", "PKG_CONFIG_PATH"},
	{"KUBE_CONFIG_PATHS", "KUBE_CONFIG_PATHS", "CONFIG_PATHS"},
	{"MYSQL_PWD", "MYSQL_PWD", "PWD"},
	{"NETRC", "NETRC", "NETWORK"},
	{"NEW_RELIC_LICENSE_KEY", "NEW_RELIC_LICENSE_KEY", "NEW_RELIC_APP_NAME"},
	{"PGPASSFILE", "PGPASSFILE", "PGSERVICEFILE"},
	{"REGISTRY_AUTH_FILE", "REGISTRY_AUTH_FILE", "REGISTRY"},
	{"SOPS_AGE_KEY", "SOPS_AGE_KEY", "SOPS_AGE_RECIPIENTS"},
	{"SOPS_AGE_KEY_FILE", "SOPS_AGE_KEY_FILE", "SOPS_EDITOR"},
	{"SSHPASS", "SSHPASS", "SSH_TTY"},
	{"SSH_ASKPASS", "SSH_ASKPASS", "SSH_ASKPASS_REQUIRE"},
	{"SUDO_ASKPASS", "SUDO_ASKPASS", "SUDO_USER"},
	{"*_TOKEN", "TOKEN", "MAX_TOKENS"},
	{"*TOKEN", "GHTOKEN", "MAXTOKENS"},
	{"YARN_NPM_AUTH_IDENT", "YARN_NPM_AUTH_IDENT", "YARN_NPM_REGISTRY_SERVER"},
	{"*_API_KEY", "GEMINI_API_KEY_2", "GEMINI_API_VERSION_2"},
	{"*_AUTH", "npm_config_//r/:_auth", "npm_config_//r/:username"},
	{"*_AUTHTOKEN", "npm_config_//r/:_authToken", "npm_config_registry"},
	{"*_TOKEN", "HF_TOKEN", "MY_TOKEN_RETENTION"},
	{"AZURE_*", "azure_x", "APP_AZURE_REGION"},
	{"*PASSWORD*", "npm_config_//r/:_password", "npm_config_user_agent"},
}

func TestEnvNamePairs(t *testing.T) {
	for _, c := range envNamePairs {
		if d := envVerdict(t, EnvRules{}, c.takes+"=x"); d.Rule != "env:name:"+c.rule || d.Name != c.takes {
			t.Errorf("%s: %+v, want rule env:name:%s", c.takes, d, c.rule)
		}
		if d := envVerdict(t, EnvRules{}, c.twin+"=x"); d.Rule != "" {
			t.Errorf("%s must stay: %+v", c.twin, d)
		}
	}
}

func TestEnvSocketPairs(t *testing.T) {
	sockets := []string{"VSCODE_GIT_ASKPASS_NODE", "VSCODE_GIT_ASKPASS_MAIN", "VSCODE_GIT_IPC_HANDLE", "VSCODE_IPC_HOOK",
		"VSCODE_IPC_HOOK_CLI", "ZELLIJ_PANE_ID"}
	for _, n := range envNames {
		if n.kind == envSocket || n.kind == envDisplay {
			sockets = append(sockets, n.name)
		}
	}
	for _, name := range sockets {
		if d := envVerdict(t, EnvRules{}, name+"=x"); d.Rule != "env:socket" || !strings.HasSuffix(d.Reason, "of the host") {
			t.Errorf("%s: %+v", name, d)
		}
		if name == "PULSE_COOKIE" { // MYPULSE_COOKIE is one by *_COOKIE
			continue
		}
		if d := envVerdict(t, EnvRules{}, "MY"+name+"=x"); d.Rule != "" {
			t.Errorf("MY%s must stay: %+v", name, d)
		}
	}
	for _, must := range []string{"SSH_AUTH_SOCK", "SSH_AGENT_PID", "GPG_AGENT_INFO", "DBUS_SESSION_BUS_ADDRESS",
		"DBUS_SYSTEM_BUS_ADDRESS", "DOCKER_HOST", "CONTAINER_HOST", "TMUX", "TMUX_PANE", "STY", "DISPLAY", "WAYLAND_DISPLAY",
		"XAUTHORITY", "GNOME_KEYRING_CONTROL", "PULSE_SERVER", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES",
		"I3SOCK", "SWAYSOCK", "KITTY_LISTEN_ON", "NVIM", "NVIM_LISTEN_ADDRESS", "WSL_INTEROP"} {
		if !slices.Contains(sockets, must) {
			t.Errorf("%s is not in the table", must)
		}
	}
}

func TestEnvEveryPatternHasATwin(t *testing.T) {
	has := func(rule string) bool {
		for _, c := range envNamePairs {
			if c.rule == rule {
				return true
			}
		}
		return false
	}
	check := func(rule string, k envKind) {
		if k != envSocket && k != envDisplay && !has(rule) {
			t.Errorf("%s has no pair in envNamePairs", rule)
		}
	}
	for _, n := range envNames {
		check(n.name, n.kind)
	}
	for _, n := range envEnds {
		check("*"+n.name, n.kind)
	}
	for _, n := range envParts {
		check("*"+n.name+"*", n.kind)
	}
	for _, n := range envStarts {
		check(n.name+"*", n.kind)
	}
	for _, n := range envGlobs {
		check(n.name, n.kind)
	}
}

// What a scrub must not take, with values as they are met: B117 and tools'
// settings.
func TestEnvHarmlessStay(t *testing.T) {
	for _, entry := range []string{
		"COLORTERM=truecolor", "LANG=en_US.UTF-8", "LC_ALL=C.UTF-8", "LC_CTYPE=UTF-8", "TERM=tmux-256color", "TERM_PROGRAM=tmux",
		"MY_API_BASE=x", "KEYBOARD=us", "SSH_TTY=/dev/pts/1", "SSH_CONNECTION=10.0.0.1 5 10.0.0.2 22", "GPG_TTY=/dev/pts/1",
		"XDG_RUNTIME_DIR=/run/user/1000", "XDG_SESSION_TYPE=wayland", "XDG_DATA_DIRS=/usr/share:/usr/local/share",
		"GOAUTH=netrc", "GOPROXY=https://goproxy.example,direct", "GOPRIVATE=*.corp.example", "GOFLAGS=-mod=mod",
		"DEBIAN_FRONTEND=noninteractive", "SSL_CERT_FILE=/etc/ssl/cert.pem", "NODE_EXTRA_CA_CERTS=/etc/ca.pem",
		"GIT_AUTHOR_NAME=A B", "GIT_AUTHOR_EMAIL=a.b@example.com", "GIT_SSH_COMMAND=ssh -i ~/.ssh/id -o User=git",
		"TOKENIZERS_PARALLELISM=false", "CLAUDE_CODE_MAX_OUTPUT_TOKENS=32000", "PWD=/w", "OLDPWD=/w", "INIT_CWD=/w",
		"BUILD_PWD=/w", "MAKE_PWD=../x", "BUILD_PWD=", `WIN_PWD=C:\w`, "HOME_PWD=~/w",
		"LD_PRELOAD=/usr/lib/libfoo.so", "LD_AUDIT=/usr/lib/libbar.so", "BASH_ENV=/w/env.sh", "NODE_OPTIONS=--max-old-space-size=4096",
		"MYSQL_ALLOW_EMPTY_PASSWORD=yes", "npm_config_always_auth=true", "NSS_WRAPPER_PASSWD=/tmp/passwd", "ANSIBLE_ASK_PASS=False",
		"HTTP_PROXY=http://proxy:3128", "no_proxy=localhost,127.0.0.1,::1,.corp.example", "ALL_PROXY=socks5h://127.0.0.1:1080",
		"LS_COLORS=di=01;34:ln=01;36:*.tar=01;31:*.svg=01;35", "PS1=\\u@\\h:\\w\\$ ",
		"PROMPT_COMMAND=printf '\\033]0;%s@%s:%s\\007' \"$USER\" \"$HOST\" \"$PWD\"",
		"LESSOPEN=|/usr/bin/lesspipe %s", "VIRTUAL_ENV=/w/.venv", "PYTHONPATH=/w/src", "MANPATH=:/usr/share/man",
		"JAVA_TOOL_OPTIONS=-Djavax.net.ssl.trustStorePassword=changeit -Xmx2g",
		"BASH_FUNC_ask%%=() { read -s -p \"password: \" p; password=\"$p\"; curl -H \"Authorization: Bearer $p\" x; }",
		"CARGO_HOME=/home/u/.cargo", "RUSTFLAGS=-C target-cpu=native", "AWS_REGION=eu-west-1", "NIX_PATH=nixpkgs=channel:nixos-24.05",
		"DATABASE_URL=postgres://localhost:5432/app", "IMAGE=registry.example:5000/app:1.2@sha256:" + strings.Repeat("ab", 32),
		"GIT_URL=ssh://git@github.com:22/a/b.git", "SCOPE=@babel/core@7.1.0", "OPENAI_BASE_URL=http://127.0.0.1:8080/v1",
	} {
		if d := envVerdict(t, EnvRules{}, entry); d.Rule != "" {
			t.Errorf("%s must stay: %+v", entry, d)
		}
	}
}

func TestEnvTablesAreSorted(t *testing.T) {
	if !slices.IsSortedFunc(envNames[:], func(a, b envName) int { return strings.Compare(a.name, b.name) }) {
		t.Error("envNames is not sorted: the search misses names")
	}
	if !slices.IsSortedFunc(envTokens[:], func(a, b envToken) int { return strings.Compare(a.prefix, b.prefix) }) {
		t.Error("envTokens is not sorted: the search misses tokens")
	}
	for _, list := range [][]envName{envNames[:], envStarts[:], envEnds[:], envParts[:], envGlobs[:]} {
		for _, n := range list {
			if n.name != strings.ToUpper(n.name) {
				t.Errorf("%s is not in upper case: it never matches", n.name)
			}
		}
	}
	for _, h := range envHarmless {
		// Without its line the name would be taken; else the line is idle.
		if r := envTrimDigits(h); !slices.ContainsFunc(envEnds[:], func(n envName) bool { return strings.HasSuffix(r, n.name) }) &&
			!slices.ContainsFunc(envParts[:], func(n envName) bool { return strings.Contains(h, n.name) }) {
			t.Errorf("%s in envHarmless has no effect", h)
		}
	}
}

// A130: the end of a name that marks a secret marks it as well where nothing
// stands before it.
func TestA130_BareNames(t *testing.T) {
	for _, e := range envEnds {
		bare, ok := strings.CutPrefix(e.name, "_")
		if !ok {
			continue
		}
		for _, name := range []string{bare, strings.ToLower(bare), bare + "_2", "X" + e.name} {
			if _, dropped := (EnvRules{}).Scrub([]string{name + "=x"}); len(dropped) != 1 {
				t.Errorf("%s is kept", name)
			}
		}
		if _, dropped := (EnvRules{}).Scrub([]string{"X" + bare + "X=x"}); len(dropped) != 0 && !strings.Contains(bare, "TOKEN_FILE") {
			t.Errorf("X%sX: %+v", bare, dropped)
		}
	}
}
