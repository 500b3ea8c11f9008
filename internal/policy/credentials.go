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
	{".gnupg", false, "GnuPG keys and agent sockets"},
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
	{".config/scw", false, "Scaleway credentials"},
	{".config/exoscale", false, "Exoscale credentials"},
	{".config/linode-cli", true, "Linode tokens"},
	{".config/openstack", false, "OpenStack credentials"},
	{".bluemix", false, "IBM Cloud credentials"},
	{".railway", false, "Railway tokens"},
	{".supabase", false, "Supabase tokens"},
	{".turso", false, "Turso tokens"},
	{".config/turso", false, "Turso tokens"},
	{".config/neonctl", false, "Neon credentials"},
	{".expo/state.json", true, "Expo sessions"},
	{".cf", false, "Cloud Foundry tokens"},
	{".civo.json", true, "Civo keys"},
	{".vultr-cli.yaml", true, "Vultr keys"},
	{".ovh.conf", true, "OVH keys"},
	{".modal.toml", true, "Modal tokens"},
	{".clasprc.json", true, "Google Apps Script credentials"},
	{".config/earthengine", false, "Google Earth Engine credentials"},
	{".sentryclirc", true, "Sentry tokens"},
	{".circleci", false, "CircleCI tokens"},
	{".kube", false, "Kubernetes credentials"},
	{".config/helm", false, "Helm registry credentials"},
	{".docker", false, "Docker credentials and sockets"},
	{".config/containers", false, "container registry credentials"},
	{".minikube", false, "Kubernetes credentials"},
	{".talos", false, "Talos credentials"},
	{".argocd", false, "Argo CD tokens"},
	{".config/argocd", false, "Argo CD tokens"},
	{".tsh", false, "Teleport keys"},
	{".step", false, "certificate keys"},
	{".acme.sh", false, "certificate keys"},
	{".local/share/mkcert", false, "certificate keys"},
	{".local/share/caddy", false, "certificate keys"},
	{".terraform.d", false, "Terraform credentials"},
	{".terraformrc", true, "Terraform credentials"},
	{".config/terraform", false, "Terraform credentials"},
	{".tofurc", true, "OpenTofu credentials"},
	{".config/opentofu", false, "OpenTofu credentials"},
	{".pulumi", false, "Pulumi credentials"},
	{".ansible", false, "Ansible tokens and sockets"},
	{".vault-token", true, "Vault tokens"},
	{".vault_pass", true, "Ansible vault passwords"},
	{".chef", false, "Chef keys"},
	{".doppler", false, "Doppler tokens"},
	{".infisical", false, "Infisical tokens"},
	{".config/gh", false, "GitHub CLI tokens"},
	{".config/hub", true, "GitHub tokens"},
	{".config/glab-cli", false, "GitLab CLI tokens"},
	{".config/tea", false, "Gitea CLI tokens"},
	{".config/git/credentials", true, "git credentials"},
	{".git-credentials", true, "git credentials"},
	{".git-credential-cache", false, "git credential sockets"},
	{".cache/git/credential", false, "git credential sockets"},
	{".netrc", true, "login passwords"},
	{"_netrc", true, "login passwords"},
	{".authinfo", true, "login passwords"},
	{".authinfo.gpg", true, "login passwords"},
	{".env", true, "environment secrets"},
	{".npmrc", true, "npm tokens"},
	{".yarnrc.yml", true, "yarn tokens"},
	{".bunfig.toml", true, "bun registry tokens"},
	{".pypirc", true, "PyPI tokens"},
	{".local/share/uv/credentials", false, "uv credentials"},
	{".config/pypoetry/auth.toml", true, "Poetry credentials"},
	{".cargo/credentials", true, "cargo tokens"},
	{".cargo/credentials.toml", true, "cargo tokens"},
	{".gem/credentials", true, "RubyGems keys"},
	{".local/share/gem/credentials", true, "RubyGems keys"},
	{".bundle/config", true, "Bundler credentials"},
	{".hex/hex.config", true, "Hex keys"},
	{".composer/auth.json", true, "Composer credentials"},
	{".config/composer/auth.json", true, "Composer credentials"},
	{".m2/settings.xml", true, "Maven passwords"},
	{".m2/settings-security.xml", true, "Maven master passwords"},
	{".gradle/gradle.properties", true, "Gradle secrets"},
	{".nuget/NuGet/NuGet.Config", true, "NuGet keys"},
	{".ivy2/.credentials", true, "Ivy credentials"},
	{".sbt/.credentials", true, "sbt credentials"},
	{".subversion/auth", false, "Subversion passwords"},
	{".jfrog", false, "JFrog tokens"},
	{".config/NuGet", false, "NuGet keys"},
	{".conda/aau_token", true, "Anaconda tokens"},
	{".config/rclone", false, "rclone credentials"},
	{".s3cfg", true, "S3 credentials"},
	{".passwd-s3fs", true, "S3 credentials"},
	{".smbcredentials", true, "network passwords"},
	{".davfs2", false, "network passwords"},
	{".config/s3cmd", false, "S3 credentials"},
	{".mc", false, "MinIO credentials"},
	{".kaggle", false, "Kaggle keys"},
	{".cache/huggingface/token", true, "Hugging Face tokens"},
	{".cache/huggingface/stored_tokens", true, "Hugging Face tokens"},
	{".huggingface", false, "Hugging Face tokens"},
	{".pgpass", true, "PostgreSQL passwords"},
	{".pg_service.conf", true, "PostgreSQL passwords"},
	{".my.cnf", true, "MySQL passwords"},
	{".mylogin.cnf", true, "MySQL passwords"},
	{".mongorc.js", true, "MongoDB start-up files with secrets"},
	{".dbshell", true, "MongoDB histories"},
	{".snowsql", false, "Snowflake credentials"},
	{".config/snowflake", false, "Snowflake credentials"},
	{".databrickscfg", true, "Databricks tokens"},
	{".Renviron", true, "R environment secrets"},
	{".wakatime.cfg", true, "WakaTime keys"},
	{".ngrok2", false, "ngrok tokens"},
	{".config/ngrok", false, "ngrok tokens"},
	{".cloudflared", false, "Cloudflare tunnel credentials"},
	{".config/borg/keys", false, "backup keys"},
	{".config/sops", false, "age and sops keys"},
	{".config/age", false, "age keys"},
	{".age", false, "age keys"},
	{".config/op", false, "1Password sessions"},
	{".op", false, "1Password sessions"},
	{".1password", false, "1Password agent sockets"},
	{".config/1Password", false, "1Password data"},
	{".config/Bitwarden", false, "Bitwarden vaults"},
	{".config/Bitwarden CLI", false, "Bitwarden vaults"},
	{".config/keepassxc", false, "password stores"},
	{".password-store", false, "password stores"},
	{".local/share/password-store", false, "password stores"},
	{".local/share/gopass", false, "password stores"},
	{".config/gopass", false, "password stores"},
	{".lpass", false, "LastPass sessions"},
	{".local/share/lpass", false, "LastPass sessions"},
	{".config/lpass", false, "LastPass sessions"},
	{".local/share/keyrings", false, "desktop keyrings"},
	{".gnome2/keyrings", false, "desktop keyrings"},
	{".local/share/kwalletd", false, "desktop keyrings"},
	{".local/share/kwalletd5", false, "desktop keyrings"},
	{".google_authenticator", true, "one-time password secrets"},
	{".local/share/rbw", false, "Bitwarden vaults"},
	{".pki", false, "certificate keys"},
	{".krb5", false, "Kerberos tickets"},
	{".rhosts", true, "remote login rules"},
	{".Xauthority", true, "X11 cookies"},
	{".ICEauthority", true, "session cookies"},
	{".vnc", false, "VNC passwords"},
	{".config/remmina", false, "remote desktop passwords"},
	{".local/share/remmina", false, "remote desktop passwords"},
	{".config/filezilla", false, "FTP passwords"},
	{".msmtprc", true, "mail passwords"},
	{".isyncrc", true, "mail passwords"},
	{".config/himalaya", false, "mail passwords"},
	{".zuliprc", true, "chat passwords"},
	{".mutt", false, "mail settings with passwords"},
	{".muttrc", true, "mail settings with passwords"},
	{".fetchmailrc", true, "mail passwords"},
	{".mbsyncrc", true, "mail passwords"},
	{".offlineimaprc", true, "mail passwords"},
	{".config/msmtp", false, "mail passwords"},
	{".config/isyncrc", true, "mail passwords"},
	{".config/mutt", false, "mail settings with passwords"},
	{".config/neomutt", false, "mail settings with passwords"},
	{".config/aerc", false, "mail settings with passwords"},
	{".config/evolution", false, "mail data"},
	{".local/share/evolution", false, "mail data"},
	{".thunderbird", false, "mail profiles"},
	{".config/weechat", false, "chat passwords"},
	{".weechat", false, "chat passwords"},
	{".irssi", false, "chat passwords"},
	{".purple", false, "chat passwords"},
	{".config/Element", false, "chat sessions"},
	{".local/share/TelegramDesktop", false, "chat sessions"},
	{".config/Signal", false, "chat data"},
	{".config/Slack", false, "chat sessions"},
	{".config/discord", false, "chat sessions"},
	{".config/teams", false, "chat sessions"},
	{".bitcoin", false, "wallets"},
	{".ethereum", false, "wallets"},
	{".electrum", false, "wallets"},
	{".monero", false, "wallets"},
	{".foundry/keystores", false, "wallets"},
	{".config/Exodus", false, "wallets"},
	{".config/solana", false, "wallets"},
	// Browser profiles: cookies and saved passwords.
	{".mozilla", false, "browser profiles"},
	{".config/mozilla", false, "browser profiles"},
	{".cache/mozilla", false, "browser caches"},
	{".librewolf", false, "browser profiles"},
	{".zen", false, "browser profiles"},
	{".config/google-chrome", false, "browser profiles"},
	{".config/google-chrome-beta", false, "browser profiles"},
	{".config/google-chrome-unstable", false, "browser profiles"},
	{".config/chromium", false, "browser profiles"},
	{".config/BraveSoftware", false, "browser profiles"},
	{".config/microsoft-edge", false, "browser profiles"},
	{".config/vivaldi", false, "browser profiles"},
	{".config/opera", false, "browser profiles"},
	{".config/qutebrowser", false, "browser profiles"},
	{".local/share/qutebrowser", false, "browser profiles"},
	{".local/share/epiphany", false, "browser profiles"},
	{".waterfox", false, "browser profiles"},
	{".floorp", false, "browser profiles"},
	{".cache/google-chrome", false, "browser caches"},
	{".cache/chromium", false, "browser caches"},
	{".cache/BraveSoftware", false, "browser caches"},
	{".cache/microsoft-edge", false, "browser caches"},
	{"snap/firefox", false, "browser profiles"},
	{"snap/chromium", false, "browser profiles"},
	{".var/app", false, "application data with browser profiles"},
	// Histories hold pasted secrets.
	{".bash_history", true, "shell histories"},
	{".zsh_history", true, "shell histories"},
	{".zhistory", true, "shell histories"},
	{".histfile", true, "shell histories"},
	{".sh_history", true, "shell histories"},
	{".ksh_history", true, "shell histories"},
	{".history", true, "shell histories"},
	{".local/share/fish/fish_history", true, "shell histories"},
	{".local/share/atuin", false, "shell histories"},
	{".python_history", true, "interpreter histories"},
	{".node_repl_history", true, "interpreter histories"},
	{".irb_history", true, "interpreter histories"},
	{".pry_history", true, "interpreter histories"},
	{".psql_history", true, "database histories"},
	{".mysql_history", true, "database histories"},
	{".sqlite_history", true, "database histories"},
	{".rediscli_history", true, "database histories"},
	{".mariadb_history", true, "database histories"},
	{".duckdb_history", true, "database histories"},
	{".mongodb", false, "MongoDB histories"},
	{".Rhistory", true, "interpreter histories"},
	{".ipython/profile_default/history.sqlite", true, "interpreter histories"},
	{".local/share/powershell/PSReadLine", false, "shell histories"},
	{".config/nushell/history.txt", true, "shell histories"},
	{".config/nushell/history.sqlite3", true, "shell histories"},
	// Sockets that hand out the host.
	{".local/share/containers/podman/machine", false, "Podman sockets"},
	{".colima", false, "container engine sockets"},
	{".lima", false, "virtual machine sockets and keys"},
	{".orbstack", false, "container engine sockets"},
	{".rd", false, "container engine sockets"},
	{".local/share/docker", false, "container engine data"},
	{".emacs.d/server", false, "editor sockets"},
	{".config/pulse", false, "sound cookies and sockets"},
}

// agentSecrets are credentials of coding agents below every home folder. Those
// with a name are the agent's own, and its preset (bawn wrap) shows them to its
// process alone; nothing else is ever shown.
var agentSecrets = [...]struct {
	agent string
	place
}{
	{"claude", place{".claude/.credentials.json", true, "Claude Code credentials"}},
	{"claude", place{".claude.json", true, "Claude Code accounts"}},
	{"claude", place{".claude/.config.json", true, "Claude Code accounts"}}, // an older place of the same
	{"codex", place{".codex/auth.json", true, "Codex credentials"}},
	{"codex", place{".codex/.credentials.json", true, "Codex credentials"}}, // of MCP servers, without a keyring
	{"codex", place{".codex/.env", true, "Codex keys"}},
	{"gemini", place{".gemini/oauth_creds.json", true, "Gemini CLI credentials"}},
	{"gemini", place{".gemini/google_accounts.json", true, "Gemini CLI accounts"}},
	{"gemini", place{".gemini/gemini-credentials.json", true, "Gemini CLI credentials"}}, // its key is the host's and the user's name
	{"gemini", place{".gemini/mcp-oauth-tokens.json", true, "Gemini CLI credentials"}},
	{"gemini", place{".gemini/mcp-oauth-tokens-v2.json", true, "Gemini CLI credentials"}},
	{"gemini", place{".gemini/a2a-oauth-tokens.json", true, "Gemini CLI credentials"}},
	{"gemini", place{".gemini/.env", true, "Gemini CLI keys"}},
	{"opencode", place{".local/share/opencode/auth.json", true, "opencode credentials"}},
	{"opencode", place{".local/share/opencode/mcp-auth.json", true, "opencode credentials"}},
	{"copilot", place{".config/github-copilot", false, "Copilot tokens"}},
	{"copilot", place{".copilot", false, "Copilot tokens"}},
	{"crush", place{".local/share/crush", false, "Crush credentials"}},
	{"goose", place{".config/goose/secrets.yaml", true, "goose credentials"}},
	{"cursor", place{".cursor/mcp.json", true, "MCP server secrets"}},
	{"cursor", place{".cursor/cli-config.json", true, "Cursor accounts"}},
	{"cursor", place{".config/cursor/auth.json", true, "Cursor credentials"}},
	{"", place{".config/Cursor", false, "Cursor sessions"}},
	{"", place{".config/Windsurf", false, "Windsurf sessions"}},
	{"", place{".codeium", false, "Windsurf sessions"}},
	{"", place{".local/share/amp/secrets.json", true, "Amp keys"}},
	{"", place{".qwen/oauth_creds.json", true, "Qwen Code credentials"}},
	{"", place{".qwen/mcp-oauth-tokens.json", true, "Qwen Code credentials"}},
	{"", place{".qwen/mcp-oauth-tokens-v2.json", true, "Qwen Code credentials"}},
	{"", place{".factory/auth.json", true, "Factory credentials"}},
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
	{"/etc/docker/key.json", true, "Docker keys"},
	{"/etc/sudoers", true, "privilege rules"},
	{"/etc/sudoers.d", false, "privilege rules"},
	{"/etc/ppp/chap-secrets", true, "network passwords"},
	{"/etc/ppp/pap-secrets", true, "network passwords"},
	{"/etc/sasldb2", true, "mail passwords"},
	{"/etc/bawn", false, "bawn's managed settings"},
	{"/var/lib/docker", false, "container engine data"},
	{"/var/lib/containerd", false, "container engine data"},
	{"/var/lib/kubelet", false, "Kubernetes credentials"},
	{"/var/lib/lxd", false, "container engine data and sockets"},
	{"/var/lib/incus", false, "container engine data and sockets"},
	{"/var/snap/lxd", false, "container engine sockets"},
	{"/var/lib/sss", false, "identity caches"},
	{"/var/lib/systemd/credential.secret", true, "system credentials"},
	{"/var/lib/NetworkManager/secret_key", true, "network keys"},
	{"/var/spool/cron", false, "scheduled jobs"},
	{"/var/spool/at", false, "scheduled jobs"},
	{"/var/log/private", false, "private logs"},
	{"/mnt/wslg", false, "display sockets"},
	{"/sys/firmware", false, "firmware tables"},
	{"/sys/fs/bpf", false, "kernel objects"},
	{"/sys/fs/pstore", false, "crash records"},
	{"/sys/kernel/debug", false, "kernel debugging files"},
	{"/sys/kernel/tracing", false, "kernel tracing files"},
	{"/sys/kernel/security", false, "kernel security settings"},
	{"/sys/devices/virtual/powercap", false, "power side channels"},
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
	return CredentialsBut(homes, getenv, nil)
}

// CredentialsBut are Credentials without the places below homes (by their
// number, and relative) that skip says are not needed; nil skips none.
func CredentialsBut(homes []string, getenv func(string) string, skip func(home int, place string) bool) []PathRule {
	size := len(systemSecrets) + 24
	if skip == nil {
		size += len(homes) * (len(homeSecrets) + len(agentSecrets))
	}
	out := make([]PathRule, 0, size)
	agent := ""
	put := func(path string, file bool, what string) {
		r := hiddenRule(path, what, file)
		r.id = agent
		out = append(out, r)
	}
	for n, h := range homes {
		if !IsClean(h) || h == "/" {
			continue
		}
		h += "/"
		below := func(p *place) { // clean itself
			if skip == nil || !skip(n, p.path) {
				put(h+p.path, p.file, p.what)
			}
		}
		for i := range homeSecrets {
			below(&homeSecrets[i])
		}
		for i := range homeOwn {
			below(&homeOwn[i])
		}
		for i := range agentSecrets {
			agent = agentSecrets[i].agent
			below(&agentSecrets[i].place)
		}
		agent = ""
	}
	for _, p := range systemSecrets {
		put(p.path, p.file, p.what)
	}
	return append(out, MovedCredentials(homes, getenv)...)
}
