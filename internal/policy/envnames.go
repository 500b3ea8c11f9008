package policy

import "strings"

// envKind is what a variable's name gives away.
type envKind uint8

const (
	envSecret  envKind = iota // its value is a credential
	envPointer                // it exists to name a credential, which is hidden inside
	envAskpass                // a program of the host that hands out passwords
	envSocket                 // a socket of the host, or what belongs to it
	envDisplay                // a display of the host
)

type envName struct {
	name string
	kind envKind
}

// envNames are whole names, in upper case and sorted.
//
// A pointer is removed only if naming a credential is all it does: with the
// file hidden it just breaks tools (boto3 and terraform refuse to start over a
// profile they cannot find, kubectl over a file it cannot read). Folders of
// settings (DOCKER_CONFIG, GNUPGHOME, AWS_CONFIG_FILE) stay.
var envNames = [...]envName{
	{"ALACRITTY_SOCKET", envSocket},
	{"ALIBABA_CLOUD_CREDENTIALS_FILE", envPointer},
	{"ANSIBLE_GALAXY_TOKEN_PATH", envPointer},
	{"ANTHROPIC_CUSTOM_HEADERS", envSecret},
	{"AT_SPI_BUS_ADDRESS", envSocket},
	{"AUTHORIZATION", envSecret},
	{"AWS_CONTAINER_CREDENTIALS_FULL_URI", envPointer},
	{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", envPointer},
	{"AWS_CREDENTIAL_FILE", envPointer},
	{"AWS_DEFAULT_PROFILE", envPointer},
	{"AWS_PROFILE", envPointer},
	{"AWS_SHARED_CREDENTIALS_FILE", envPointer},
	{"BORG_KEY_FILE", envPointer},
	{"BUILDKIT_HOST", envSocket},
	{"BW_SESSION", envSecret},
	{"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", envPointer},
	{"CONTAINERD_ADDRESS", envSocket},
	{"CONTAINER_HOST", envSocket},
	{"CREDENTIALS_DIRECTORY", envPointer},
	{"CR_PAT", envSecret},
	{"DBUS_SESSION_BUS_ADDRESS", envSocket},
	{"DBUS_SESSION_BUS_PID", envSocket},
	{"DBUS_SESSION_BUS_WINDOWID", envSocket},
	{"DBUS_STARTER_ADDRESS", envSocket},
	{"DBUS_STARTER_BUS_TYPE", envSocket},
	{"DBUS_SYSTEM_BUS_ADDRESS", envSocket},
	{"DISPLAY", envDisplay},
	{"DOCKER_AUTH_CONFIG", envSecret},
	{"DOCKER_HOST", envSocket},
	{"EMACS_SERVER_FILE", envSocket},
	{"EMACS_SOCKET_NAME", envSocket},
	{"GCLOUD_KEYFILE_JSON", envPointer},
	{"GH_PAT", envSecret},
	{"GITHUB_PAT", envSecret},
	{"GITLAB_PAT", envSecret},
	{"GIT_ASKPASS", envAskpass},
	{"GNOME_KEYRING_CONTROL", envSocket},
	{"GNOME_KEYRING_PID", envSocket},
	{"GNOME_TERMINAL_SCREEN", envSocket},
	{"GNOME_TERMINAL_SERVICE", envSocket},
	{"GOOGLE_APPLICATION_CREDENTIALS", envPointer},
	{"GOOGLE_CLOUD_KEYFILE_JSON", envPointer},
	{"GOOGLE_GHA_CREDS_PATH", envPointer},
	{"GPG_AGENT_INFO", envSocket},
	{"HF_TOKEN_PATH", envPointer},
	{"HTTP_AUTHORIZATION", envSecret},
	{"HYPRLAND_INSTANCE_SIGNATURE", envSocket},
	{"I3SOCK", envSocket},
	{"IBM_CREDENTIALS_FILE", envPointer},
	{"IBUS_ADDRESS", envSocket},
	{"ICEAUTHORITY", envDisplay},
	{"JOURNAL_STREAM", envSocket},
	{"KITTY_LISTEN_ON", envSocket},
	{"KRB5CCNAME", envPointer},
	{"KRB5_CLIENT_KTNAME", envPointer},
	{"KRB5_KTNAME", envPointer},
	{"KUBECONFIG", envPointer},
	{"KUBE_CONFIG_PATH", envPointer},
	{"KUBE_CONFIG_PATHS", envPointer},
	{"LISTEN_FDNAMES", envSocket},
	{"LISTEN_FDS", envSocket},
	{"LISTEN_PID", envSocket},
	{"MYSQL_PWD", envSecret},
	{"MYSQL_TEST_LOGIN_FILE", envPointer},
	{"NETRC", envPointer},
	{"NEW_RELIC_LICENSE_KEY", envSecret},
	{"NIRI_SOCKET", envSocket},
	{"NOTIFY_SOCKET", envSocket},
	{"NVIM", envSocket},
	{"NVIM_LISTEN_ADDRESS", envSocket},
	{"OCI_CLI_KEY_FILE", envPointer},
	{"OS_CLIENT_SECURE_FILE", envPointer},
	{"PGPASSFILE", envPointer},
	{"PIPEWIRE_REMOTE", envSocket},
	{"PULSE_COOKIE", envSocket},
	{"PULSE_SERVER", envSocket},
	{"REGISTRY_AUTH_FILE", envPointer},
	{"REMOTE_CONTAINERS_IPC", envSocket},
	{"REMOTE_CONTAINERS_SOCKETS", envSocket},
	{"SESSION_MANAGER", envSocket},
	{"SOPS_AGE_KEY", envSecret},
	{"SOPS_AGE_KEY_FILE", envPointer},
	{"SSHPASS", envSecret},
	{"SSH_AGENT_PID", envSocket},
	{"SSH_ASKPASS", envAskpass},
	{"SSH_AUTH_SOCK", envSocket},
	{"SSLKEYLOGFILE", envPointer},
	{"STY", envSocket},
	{"SUDO_ASKPASS", envAskpass},
	{"SWAYSOCK", envSocket},
	{"TALOSCONFIG", envPointer},
	{"TERRAFORM_CONFIG", envPointer},
	{"TF_CLI_CONFIG_FILE", envPointer},
	{"TMUX", envSocket},
	{"TMUX_PANE", envSocket},
	{"TUNNEL_CRED_FILE", envPointer},
	{"TUNNEL_ORIGIN_CERT", envPointer},
	{"WAYLAND_DISPLAY", envDisplay},
	{"WAYLAND_SOCKET", envDisplay},
	{"WEZTERM_UNIX_SOCKET", envSocket},
	{"WSL_INTEROP", envSocket},
	{"XAUTHORITY", envDisplay},
	{"YARN_NPM_AUTH_IDENT", envSecret},
	{"ZELLIJ", envSocket},
}

// envEnds match the end of a name, or without their _ all of it, once digits at
// its very end are gone: GEMINI_API_KEY_2 is a key as well, and so is ACCESS_KEY.
var envEnds = [...]envName{
	{"_ACCESSTOKEN", envSecret},
	{"_ACCESS_KEY", envSecret},
	{"_ACCESS_KEY_ID", envSecret},
	{"_ACCOUNT_KEY", envSecret},
	{"_APIKEY", envSecret},
	{"_API_KEY", envSecret},
	{"_API_KEYS", envSecret},
	{"_APP_KEY", envSecret},
	{"_AUTH", envSecret}, // also npm_config__auth and npm_config_//host/:_auth
	{"_AUTHTOKEN", envSecret},
	{"_AUTH_KEY", envSecret},
	{"_CONNECTION_STRING", envSecret},
	{"_COOKIE", envSecret},
	{"_CREDENTIAL", envSecret},
	{"_CREDENTIALS", envSecret},
	{"_CREDS", envSecret},
	{"DB_PWD", envSecret}, // others by their value: BUILD_PWD is a folder
	{"_DEPLOY_KEY", envSecret},
	{"_ENCRYPTION_KEY", envSecret},
	{"_JWT", envSecret},
	{"_MASTER_KEY", envSecret},
	{"_PASS", envSecret},
	{"_PSK", envSecret},
	{"_PW", envSecret},
	{"_SESSION_KEY", envSecret},
	{"_SIGNING_KEY", envSecret},
	{"_SSH_KEY", envSecret},
	{"_TOKEN", envSecret},
	{"TOKEN", envSecret}, // GHTOKEN
	{"_TOKEN_FILE", envPointer},
}

// envParts match anywhere in a name.
var envParts = [...]envName{
	{"PASSPHRASE", envSecret},
	{"PASSWD", envSecret},
	{"PASSWORD", envSecret},
	{"PRIVATE_KEY", envSecret},
	{"SECRET", envSecret},
}

// envStarts match the start of a name.
var envStarts = [...]envName{
	{"AZURE_", envSecret},
	{"NUGETPACKAGESOURCECREDENTIALS_", envSecret},
	{"OP_SESSION_", envSecret},        // 1Password
	{"POETRY_PYPI_TOKEN_", envSecret}, // the rest is the registry's name
	{"TF_TOKEN_", envSecret},          // Terraform: the rest is the host
	{"VAULT_", envSecret},
	{"VSCODE_GIT_ASKPASS_", envSocket},
	{"VSCODE_GIT_IPC_", envSocket},
	{"VSCODE_IPC_HOOK", envSocket},
	{"ZELLIJ_", envSocket},
}

// envGlobs are the rest. Bundler writes a host's password into
// BUNDLE_GEMS__EXAMPLE__COM.
var envGlobs = [...]envName{
	{"BUNDLE_*__COM", envSecret},
	{"BUNDLE_*__IO", envSecret},
	{"BUNDLE_*__NET", envSecret},
	{"BUNDLE_*__ORG", envSecret},
	{"OTEL_EXPORTER_OTLP_*HEADERS", envSecret},
}

// envHarmless are names, sorted, that a pattern above would take but that
// hold a switch or a plain path. Their values are still looked at.
var envHarmless = [...]string{
	"ANSIBLE_ASK_PASS",
	"ANSIBLE_BECOME_ASK_PASS",
	"MARIADB_ALLOW_EMPTY_ROOT_PASSWORD",
	"MARIADB_RANDOM_ROOT_PASSWORD",
	"MYSQL_ALLOW_EMPTY_PASSWORD",
	"MYSQL_RANDOM_ROOT_PASSWORD",
	"NPM_CONFIG_ALWAYS_AUTH",
	"NSS_WRAPPER_PASSWD",
}

// envNameRule judges a name, given in upper case. An empty rule means it is
// harmless.
func envNameRule(upper string) (reason, rule string) {
	lo, hi := 0, len(envNames)
	for lo < hi {
		mid := int(uint(lo+hi) >> 1)
		switch c := strings.Compare(envNames[mid].name, upper); {
		case c == 0:
			return envNames[mid].kind.say("", upper)
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	for i := range envStarts {
		if s := &envStarts[i]; upper[0] == s.name[0] && strings.HasPrefix(upper, s.name) {
			return envUnlessHarmless(upper, s.kind, s.name+"*")
		}
	}
	base := envTrimDigits(upper)
	if base == "" {
		return "", ""
	}
	last := base[len(base)-1]
	for i := range envEnds {
		if s := &envEnds[i]; last == s.name[len(s.name)-1] && (strings.HasSuffix(base, s.name) || s.name[0] == '_' && base == s.name[1:]) {
			return envUnlessHarmless(upper, s.kind, "*"+s.name)
		}
	}
	for i := range envParts {
		if s := &envParts[i]; strings.Contains(upper, s.name) {
			return envUnlessHarmless(upper, s.kind, "*"+s.name+"*")
		}
	}
	if upper[0] == 'B' || upper[0] == 'O' {
		for i := range envGlobs {
			if s := &envGlobs[i]; !strings.HasPrefix(upper, "BUNDLE_MIRROR__") && envGlobMatch(s.name, upper) {
				return envUnlessHarmless(upper, s.kind, s.name)
			}
		}
	}
	return "", ""
}

func envUnlessHarmless(upper string, k envKind, glob string) (reason, rule string) {
	for _, h := range envHarmless {
		if h == upper {
			return "", ""
		}
	}
	return k.say(glob, glob)
}

// envHiddenHere is the reason of an envPointer. What it names is hidden by
// Credentials and NamedCredentials: AWS_PROFILE a part of a hidden file.
const envHiddenHere = "points to credentials that are hidden here"

// say words the reason and the rule; glob is empty for a whole name.
func (k envKind) say(glob, id string) (reason, rule string) {
	switch k {
	case envPointer:
		return envHiddenHere, "env:name:" + id
	case envAskpass:
		return "names a program of the host that hands out passwords", "env:name:" + id
	case envSocket:
		return "names a socket of the host", "env:socket"
	case envDisplay:
		return "names a display of the host", "env:socket"
	}
	if glob == "" {
		return "name is known to hold a secret", "env:name:" + id
	}
	return "name looks like a secret (" + glob + ")", "env:name:" + id
}

// envTrimDigits cuts a number from the end of a name, and the _ before it.
func envTrimDigits(name string) string {
	n := len(name)
	for n > 0 && '0' <= name[n-1] && name[n-1] <= '9' {
		n--
	}
	if n < len(name) && n > 0 && name[n-1] == '_' {
		n--
	}
	return name[:n]
}
