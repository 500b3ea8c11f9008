package policy

import "strings"

// place is one location that holds credentials or a host socket, relative to
// a home folder (or absolute), with what it is.
type place struct {
	path string
	file bool
	what string
}

// homeSecrets are hidden below every home folder, whether they exist or not
// (SPEC F4). A name here is a promise: keep it sorted by kind, say what it is.
var homeSecrets = [...]place{
	{".ssh", false, "SSH keys"},
	{".gnupg", false, "GnuPG keys and agent socket"},
	{".gpg", false, "GnuPG keys"},
	{".aws", false, "AWS credentials"},
	{".azure", false, "Azure credentials"},
	{".gcloud", false, "Google Cloud credentials"},
	{".config/gcloud", false, "Google Cloud credentials"},
	{".boto", true, "Google Cloud credentials"},
	{".oci", false, "Oracle Cloud credentials"},
	{".aliyun", false, "Alibaba Cloud credentials"},
	{".config/doctl", false, "DigitalOcean credentials"},
	{".config/hcloud", false, "Hetzner Cloud credentials"},
	{".config/flyctl", false, "Fly.io credentials"},
	{".fly", false, "Fly.io credentials"},
	{".config/heroku", false, "Heroku credentials"},
	{".config/netlify", false, "Netlify credentials"},
	{".local/share/com.vercel.cli", false, "Vercel credentials"},
	{".config/configstore", false, "credentials of npm-based tools"},
	{".config/.wrangler", false, "Cloudflare credentials"},
	{".wrangler", false, "Cloudflare credentials"},
	{".config/stripe", false, "Stripe credentials"},
	{".kube", false, "Kubernetes credentials"},
	{".config/helm", false, "Helm registry credentials"},
	{".docker", false, "Docker credentials and socket"},
	{".config/containers", false, "container registry credentials"},
	{".minikube", false, "Kubernetes credentials"},
	{".terraform.d", false, "Terraform credentials"},
	{".terraformrc", true, "Terraform credentials"},
	{".config/terraform", false, "Terraform credentials"},
	{".pulumi", false, "Pulumi credentials"},
	{".ansible", false, "Ansible tokens and sockets"},
	{".vault-token", true, "Vault token"},
	{".vault_pass", true, "Ansible vault password"},
	{".config/gh", false, "GitHub CLI token"},
	{".config/hub", true, "GitHub token"},
	{".config/glab-cli", false, "GitLab CLI token"},
	{".config/git/credentials", true, "git credentials"},
	{".git-credentials", true, "git credentials"},
	{".git-credential-cache", false, "git credential socket"},
	{".cache/git/credential", false, "git credential socket"},
	{".netrc", true, "login passwords"},
	{"_netrc", true, "login passwords"},
	{".authinfo", true, "login passwords"},
	{".authinfo.gpg", true, "login passwords"},
	{".env", true, "environment secrets"},
	{".npmrc", true, "npm token"},
	{".yarnrc.yml", true, "yarn token"},
	{".bunfig.toml", true, "bun registry token"},
	{".pypirc", true, "PyPI token"},
	{".config/pypoetry/auth.toml", true, "Poetry credentials"},
	{".cargo/credentials", true, "cargo token"},
	{".cargo/credentials.toml", true, "cargo token"},
	{".gem/credentials", true, "RubyGems key"},
	{".local/share/gem/credentials", true, "RubyGems key"},
	{".bundle/config", true, "Bundler credentials"},
	{".composer/auth.json", true, "Composer credentials"},
	{".config/composer/auth.json", true, "Composer credentials"},
	{".m2/settings.xml", true, "Maven passwords"},
	{".m2/settings-security.xml", true, "Maven master password"},
	{".gradle/gradle.properties", true, "Gradle secrets"},
	{".nuget/NuGet/NuGet.Config", true, "NuGet keys"},
	{".config/NuGet", false, "NuGet keys"},
	{".conda/aau_token", true, "Anaconda token"},
	{".config/rclone", false, "rclone credentials"},
	{".s3cfg", true, "S3 credentials"},
	{".config/s3cmd", false, "S3 credentials"},
	{".mc", false, "MinIO credentials"},
	{".kaggle", false, "Kaggle key"},
	{".cache/huggingface/token", true, "Hugging Face token"},
	{".cache/huggingface/stored_tokens", true, "Hugging Face tokens"},
	{".huggingface", false, "Hugging Face token"},
	{".pgpass", true, "PostgreSQL passwords"},
	{".pg_service.conf", true, "PostgreSQL passwords"},
	{".my.cnf", true, "MySQL password"},
	{".mylogin.cnf", true, "MySQL password"},
	{".mongorc.js", true, "MongoDB start-up file with secrets"},
	{".dbshell", true, "MongoDB history"},
	{".snowsql", false, "Snowflake credentials"},
	{".config/snowflake", false, "Snowflake credentials"},
	{".databrickscfg", true, "Databricks token"},
	{".ngrok2", false, "ngrok token"},
	{".config/ngrok", false, "ngrok token"},
	{".cloudflared", false, "Cloudflare tunnel credentials"},
	{".config/sops", false, "age and sops keys"},
	{".config/age", false, "age keys"},
	{".age", false, "age keys"},
	{".config/op", false, "1Password session"},
	{".op", false, "1Password session"},
	{".1password", false, "1Password agent socket"},
	{".config/1Password", false, "1Password data"},
	{".config/Bitwarden", false, "Bitwarden vault"},
	{".config/Bitwarden CLI", false, "Bitwarden vault"},
	{".config/keepassxc", false, "password store"},
	{".password-store", false, "password store"},
	{".local/share/password-store", false, "password store"},
	{".local/share/gopass", false, "password store"},
	{".local/share/keyrings", false, "desktop keyring"},
	{".local/share/kwalletd", false, "desktop keyring"},
	{".local/share/kwalletd5", false, "desktop keyring"},
	{".pki", false, "certificate keys"},
	{".krb5", false, "Kerberos tickets"},
	{".rhosts", true, "remote login trust"},
	{".Xauthority", true, "X11 cookie"},
	{".ICEauthority", true, "session cookie"},
	{".vnc", false, "VNC passwords"},
	{".config/remmina", false, "remote desktop passwords"},
	{".local/share/remmina", false, "remote desktop passwords"},
	{".config/filezilla", false, "FTP passwords"},
	{".msmtprc", true, "mail password"},
	{".mutt", false, "mail settings with passwords"},
	{".muttrc", true, "mail settings with passwords"},
	{".fetchmailrc", true, "mail passwords"},
	{".mbsyncrc", true, "mail passwords"},
	{".offlineimaprc", true, "mail passwords"},
	{".thunderbird", false, "mail profile"},
	{".config/weechat", false, "chat passwords"},
	{".config/Signal", false, "chat data"},
	{".config/Slack", false, "chat session"},
	{".config/discord", false, "chat session"},
	{".config/teams", false, "chat session"},
	{".bitcoin", false, "wallet"},
	{".ethereum", false, "wallet"},
	{".electrum", false, "wallet"},
	{".config/solana", false, "wallet"},
	// Browser profiles: cookies and saved passwords.
	{".mozilla", false, "browser profile"},
	{".config/mozilla", false, "browser profile"},
	{".cache/mozilla", false, "browser cache"},
	{".librewolf", false, "browser profile"},
	{".zen", false, "browser profile"},
	{".config/google-chrome", false, "browser profile"},
	{".config/google-chrome-beta", false, "browser profile"},
	{".config/google-chrome-unstable", false, "browser profile"},
	{".config/chromium", false, "browser profile"},
	{".config/BraveSoftware", false, "browser profile"},
	{".config/microsoft-edge", false, "browser profile"},
	{".config/vivaldi", false, "browser profile"},
	{".config/opera", false, "browser profile"},
	{".cache/google-chrome", false, "browser cache"},
	{".cache/chromium", false, "browser cache"},
	{".cache/BraveSoftware", false, "browser cache"},
	{".cache/microsoft-edge", false, "browser cache"},
	{"snap/firefox", false, "browser profile"},
	{"snap/chromium", false, "browser profile"},
	{".var/app", false, "application data with browser profiles"},
	// Histories hold pasted secrets.
	{".bash_history", true, "shell history"},
	{".zsh_history", true, "shell history"},
	{".zhistory", true, "shell history"},
	{".histfile", true, "shell history"},
	{".sh_history", true, "shell history"},
	{".ksh_history", true, "shell history"},
	{".history", true, "shell history"},
	{".local/share/fish/fish_history", true, "shell history"},
	{".local/share/atuin", false, "shell history"},
	{".python_history", true, "interpreter history"},
	{".node_repl_history", true, "interpreter history"},
	{".irb_history", true, "interpreter history"},
	{".psql_history", true, "database history"},
	{".mysql_history", true, "database history"},
	{".sqlite_history", true, "database history"},
	{".rediscli_history", true, "database history"},
	// Sockets that hand out the host.
	{".local/share/containers/podman/machine", false, "Podman socket"},
	{".colima", false, "container engine socket"},
	{".lima", false, "virtual machine sockets and keys"},
	{".orbstack", false, "container engine socket"},
	{".rd", false, "container engine socket"},
	{".local/share/docker", false, "container engine data"},
	{".emacs.d/server", false, "editor socket"},
	{".config/pulse", false, "sound cookie and socket"},
}

// agentSecrets are credentials of coding agents below every home folder. Those
// with a name are the agent's own, and its preset (bawn wrap) shows them to its
// process alone; nothing else is ever shown.
var agentSecrets = [...]struct {
	agent string
	place
}{
	{"claude", place{".claude/.credentials.json", true, "Claude Code credentials"}},
	{"claude", place{".claude.json", true, "Claude Code account"}},
	{"codex", place{".codex/auth.json", true, "Codex credentials"}},
	{"gemini", place{".gemini/oauth_creds.json", true, "Gemini CLI credentials"}},
	{"gemini", place{".gemini/google_accounts.json", true, "Gemini CLI account"}},
	{"gemini", place{".gemini/mcp-oauth-tokens.json", true, "Gemini CLI credentials"}},
	{"gemini", place{".gemini/.env", true, "Gemini CLI key"}},
	{"opencode", place{".local/share/opencode/auth.json", true, "opencode credentials"}},
	{"opencode", place{".local/share/opencode/mcp-auth.json", true, "opencode credentials"}},
	{"copilot", place{".config/github-copilot", false, "Copilot token"}},
	{"copilot", place{".copilot", false, "Copilot token"}},
	{"crush", place{".local/share/crush", false, "Crush credentials"}},
	{"goose", place{".config/goose/secrets.yaml", true, "goose credentials"}},
	{"cursor", place{".cursor/mcp.json", true, "MCP server secrets"}},
	{"cursor", place{".cursor/cli-config.json", true, "Cursor account"}},
	{"cursor", place{".config/cursor/auth.json", true, "Cursor credentials"}},
	{"", place{".config/Cursor", false, "Cursor session"}},
	{"", place{".config/Code/User/globalStorage", false, "editor session data"}},
	{"aider", place{".aider.conf.yml", true, "aider keys"}},
	{"aider", place{".aider/oauth-keys.env", true, "aider keys"}},
	{"", place{".continue/config.json", true, "Continue keys"}},
	{"", place{".continue/config.yaml", true, "Continue keys"}},
	{"", place{".config/io.datasette.llm", false, "llm keys"}},
}

// homeOwn are bawn's own folders below a home: hidden whole.
var homeOwn = [...]place{
	{".config/bawn", false, "bawn's settings"},
	{".local/state/bawn", false, "bawn's state files"},
}

// systemSecrets are absolute paths that a command of root could read.
var systemSecrets = [...]place{
	{"/etc/shadow", true, "password hashes"},
	{"/etc/shadow-", true, "password hashes"},
	{"/etc/gshadow", true, "password hashes"},
	{"/etc/gshadow-", true, "password hashes"},
	{"/etc/security/opasswd", true, "password hashes"},
	{"/etc/krb5.keytab", true, "Kerberos keys"},
	{"/etc/ssl/private", false, "TLS keys"},
	{"/etc/pki/tls/private", false, "TLS keys"},
	{"/etc/letsencrypt", false, "TLS keys"},
	{"/etc/wireguard", false, "VPN keys"},
	{"/etc/openvpn", false, "VPN keys"},
	{"/etc/ipsec.secrets", true, "VPN keys"},
	{"/etc/ipsec.d/private", false, "VPN keys"},
	{"/etc/NetworkManager/system-connections", false, "network passwords"},
	{"/etc/wpa_supplicant", false, "network passwords"},
	{"/etc/kubernetes", false, "Kubernetes credentials"},
	{"/etc/rancher", false, "Kubernetes credentials"},
	{"/etc/docker/key.json", true, "Docker key"},
	{"/etc/sudoers", true, "privilege rules"},
	{"/etc/sudoers.d", false, "privilege rules"},
	{"/etc/ppp/chap-secrets", true, "network passwords"},
	{"/etc/ppp/pap-secrets", true, "network passwords"},
	{"/etc/sasldb2", true, "mail passwords"},
	{"/etc/bawn", false, "bawn's managed settings"},
	{"/var/lib/docker", false, "container engine data"},
	{"/var/lib/containerd", false, "container engine data"},
	{"/var/lib/kubelet", false, "Kubernetes credentials"},
	{"/var/lib/lxd", false, "container engine data and socket"},
	{"/var/lib/incus", false, "container engine data and socket"},
	{"/var/snap/lxd", false, "container engine socket"},
	{"/var/lib/sss", false, "identity cache"},
	{"/var/lib/systemd/credential.secret", true, "system credentials"},
	{"/var/lib/NetworkManager/secret_key", true, "network key"},
	{"/var/spool/cron", false, "scheduled jobs"},
	{"/var/spool/at", false, "scheduled jobs"},
	{"/var/log/private", false, "private logs"},
	{"/mnt/wslg", false, "display sockets"},
	{"/sys/firmware", false, "firmware tables"},
	{"/sys/fs/bpf", false, "kernel objects"},
	{"/sys/fs/pstore", false, "crash records"},
	{"/sys/kernel/debug", false, "kernel debugging"},
	{"/sys/kernel/tracing", false, "kernel tracing"},
	{"/sys/kernel/security", false, "kernel security settings"},
	{"/sys/devices/virtual/powercap", false, "power side channel"},
}

// envSecrets are variables by which a tool moves its credentials elsewhere.
var envSecrets = [...]struct {
	name string
	sub  string // below the value, "" for the value itself
	file bool
	what string
}{
	{"GNUPGHOME", "", false, "GnuPG keys"},
	{"AWS_SHARED_CREDENTIALS_FILE", "", true, "AWS credentials"},
	{"AWS_CONFIG_FILE", "", true, "AWS credentials"},
	{"AZURE_CONFIG_DIR", "", false, "Azure credentials"},
	{"CLOUDSDK_CONFIG", "", false, "Google Cloud credentials"},
	{"GOOGLE_APPLICATION_CREDENTIALS", "", true, "Google Cloud credentials"},
	{"KUBECONFIG", "", true, "Kubernetes credentials"},
	{"DOCKER_CONFIG", "", false, "Docker credentials"},
	{"REGISTRY_AUTH_FILE", "", true, "container registry credentials"},
	{"GH_CONFIG_DIR", "", false, "GitHub CLI token"},
	{"GLAB_CONFIG_DIR", "", false, "GitLab CLI token"},
	{"NETRC", "", true, "login passwords"},
	{"CURLOPT_NETRC_FILE", "", true, "login passwords"},
	{"NPM_CONFIG_USERCONFIG", "", true, "npm token"},
	{"npm_config_userconfig", "", true, "npm token"},
	{"CARGO_HOME", "credentials", true, "cargo token"},
	{"CARGO_HOME", "credentials.toml", true, "cargo token"},
	{"HF_HOME", "token", true, "Hugging Face token"},
	{"HF_HOME", "stored_tokens", true, "Hugging Face tokens"},
	{"HF_TOKEN_PATH", "", true, "Hugging Face token"},
	{"VAULT_TOKEN_FILE", "", true, "Vault token"},
	{"PASSWORD_STORE_DIR", "", false, "password store"},
	{"PGPASSFILE", "", true, "PostgreSQL passwords"},
	{"HISTFILE", "", true, "shell history"},
	{"XAUTHORITY", "", true, "X11 cookie"},
	{"SOPS_AGE_KEY_FILE", "", true, "age keys"},
	{"XDG_CONFIG_HOME", "bawn", false, "bawn's settings"},
	{"XDG_STATE_HOME", "bawn", false, "bawn's state files"},
	{"XDG_RUNTIME_DIR", "bawn", false, "bawn's sockets"},
	{"XDG_CONFIG_HOME", "gh", false, "GitHub CLI token"},
	{"XDG_CONFIG_HOME", "gcloud", false, "Google Cloud credentials"},
	{"XDG_CONFIG_HOME", "git/credentials", true, "git credentials"},
	{"XDG_DATA_HOME", "keyrings", false, "desktop keyring"},
	{"XDG_DATA_HOME", "password-store", false, "password store"},
}

// agentVariables are the variables by which an agent moves its own.
var agentVariables = [...]struct {
	agent, name, sub string
	file             bool
	what             string
}{
	{"codex", "CODEX_HOME", "auth.json", true, "Codex credentials"},
	{"claude", "CLAUDE_CONFIG_DIR", ".credentials.json", true, "Claude Code credentials"},
	{"claude", "CLAUDE_CONFIG_DIR", ".claude.json", true, "Claude Code account"},
	{"copilot", "COPILOT_HOME", "", false, "Copilot token"},
	{"opencode", "XDG_DATA_HOME", "opencode/auth.json", true, "opencode credentials"},
	{"opencode", "XDG_DATA_HOME", "opencode/mcp-auth.json", true, "opencode credentials"},
	{"crush", "XDG_DATA_HOME", "crush", false, "Crush credentials"},
	{"goose", "XDG_CONFIG_HOME", "goose/secrets.yaml", true, "goose credentials"},
	{"cursor", "XDG_CONFIG_HOME", "cursor/auth.json", true, "Cursor credentials"},
	{"copilot", "XDG_CONFIG_HOME", "github-copilot", false, "Copilot token"},
}

func hiddenRule(path, what string, file bool) PathRule {
	kind := kindCredential
	if strings.HasPrefix(what, "bawn's") {
		kind = kindOwn
	}
	return PathRule{Path: path, Access: Hidden, File: file, kind: kind, what: what}
}

// OwnRule hides a file or folder of bawn's own settings or state.
func OwnRule(path string) PathRule {
	return PathRule{Path: path, Access: Hidden, kind: kindOwn, what: "bawn's settings"}
}

// Credentials lists every path that no sandboxed command may read or write,
// existing or not: below the homes, where getenv moves them, and the
// system's. Homes are absolute clean paths; other values are ignored.
func Credentials(homes []string, getenv func(string) string) []PathRule {
	out := make([]PathRule, 0, len(homes)*(len(homeSecrets)+len(agentSecrets))+len(systemSecrets)+24)
	agent := ""
	add := func(path string, file bool, what string) {
		if IsClean(path) && path != "/" {
			r := hiddenRule(path, what, file)
			r.id = agent
			out = append(out, r)
		}
	}
	for _, h := range homes {
		for _, p := range homeSecrets {
			add(h+"/"+p.path, p.file, p.what)
		}
		for _, p := range homeOwn {
			add(h+"/"+p.path, p.file, p.what)
		}
		for _, p := range agentSecrets {
			agent = p.agent
			add(h+"/"+p.path, p.file, p.what)
		}
		agent = ""
	}
	for _, p := range systemSecrets {
		add(p.path, p.file, p.what)
	}
	for _, e := range envSecrets {
		v := getenv(e.name)
		if v == "" {
			continue
		}
		for _, dir := range strings.Split(v, ":") { // KUBECONFIG is a list
			dir = strings.TrimSuffix(dir, "/")
			if e.sub != "" {
				dir += "/" + e.sub
			}
			add(dir, e.file, e.what)
		}
	}
	for _, e := range agentVariables {
		if dir := strings.TrimSuffix(getenv(e.name), "/"); dir != "" {
			agent = e.agent
			add(strings.TrimSuffix(dir+"/"+e.sub, "/"), e.file, e.what)
		}
	}
	return out
}
