package policy

import (
	"path"
	"slices"
	"strings"
)

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
	{"AWS_CREDENTIAL_FILE", "", true, "AWS credentials"}, // of older tools
	{"AZURE_CONFIG_DIR", "", false, "Azure credentials"},
	{"AZURE_AUTH_LOCATION", "", true, "Azure credentials"},
	{"ARM_CLIENT_CERTIFICATE_PATH", "", true, "Azure credentials"},
	{"CLOUDSDK_CONFIG", "", false, "Google Cloud credentials"},
	{"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", "", true, "Google Cloud credentials"},
	{"GOOGLE_APPLICATION_CREDENTIALS", "", true, "Google Cloud credentials"},
	{"GOOGLE_CREDENTIALS", "", true, "Google Cloud credentials"},
	{"GOOGLE_CLOUD_KEYFILE_JSON", "", true, "Google Cloud credentials"},
	{"GCLOUD_KEYFILE_JSON", "", true, "Google Cloud credentials"},
	{"GOOGLE_GHA_CREDS_PATH", "", true, "Google Cloud credentials"},
	{"ALIBABA_CLOUD_CREDENTIALS_FILE", "", true, "Alibaba Cloud credentials"},
	{"IBM_CREDENTIALS_FILE", "", true, "IBM Cloud credentials"},
	{"OS_CLIENT_CONFIG_FILE", "", true, "OpenStack credentials"},
	{"OS_CLIENT_SECURE_FILE", "", true, "OpenStack credentials"},
	{"HCLOUD_CONFIG", "", true, "Hetzner Cloud credentials"},
	{"SCW_CONFIG_PATH", "", true, "Scaleway credentials"},
	{"EXOSCALE_CONFIG", "", true, "Exoscale credentials"},
	{"LINODE_CLI_CONFIG", "", true, "Linode tokens"},
	{"FLY_CONFIG_DIR", "", false, "Fly.io credentials"},
	{"SENTRY_PROPERTIES", "", true, "Sentry tokens"},
	{"TF_CLI_CONFIG_FILE", "", true, "Terraform credentials"},
	{"TERRAFORM_CONFIG", "", true, "Terraform credentials"}, // its older name
	{"KUBECONFIG", "", true, "Kubernetes credentials"},
	{"KUBE_CONFIG_PATH", "", true, "Kubernetes credentials"},
	{"KUBE_CONFIG_PATHS", "", true, "Kubernetes credentials"},
	{"TALOSCONFIG", "", true, "Talos credentials"},
	{"ARGOCD_CONFIG_DIR", "", false, "Argo CD tokens"},
	{"DOCKER_CONFIG", "", false, "Docker credentials"},
	{"DOCKER_CERT_PATH", "key.pem", true, "Docker keys"},
	{"CONTAINER_SSHKEY", "", true, "SSH keys"},
	{"REGISTRY_AUTH_FILE", "", true, "container registry credentials"},
	{"GH_CONFIG_DIR", "", false, "GitHub CLI tokens"},
	{"HUB_CONFIG", "", true, "GitHub tokens"},
	{"GLAB_CONFIG_DIR", "", false, "GitLab CLI tokens"},
	{"NETRC", "", true, "login passwords"},
	{"CURLOPT_NETRC_FILE", "", true, "login passwords"},
	{"NPM_CONFIG_USERCONFIG", "", true, "npm tokens"},
	{"npm_config_userconfig", "", true, "npm tokens"},
	{"CARGO_HOME", "credentials", true, "cargo tokens"},
	{"CARGO_HOME", "credentials.toml", true, "cargo tokens"},
	{"GRADLE_USER_HOME", "gradle.properties", true, "Gradle secrets"},
	{"COMPOSER_HOME", "auth.json", true, "Composer credentials"},
	{"BUNDLE_USER_HOME", "config", true, "Bundler credentials"},
	{"BUNDLE_USER_CONFIG", "", true, "Bundler credentials"},
	{"POETRY_CONFIG_DIR", "auth.toml", true, "Poetry credentials"},
	{"UV_CREDENTIALS_DIR", "", false, "uv credentials"},
	{"HEX_HOME", "hex.config", true, "Hex keys"},
	{"SBT_CREDENTIALS", "", true, "sbt credentials"},
	{"COURSIER_CREDENTIALS", "", true, "Coursier credentials"},
	{"JFROG_CLI_HOME_DIR", "", false, "JFrog tokens"},
	{"PULUMI_HOME", "credentials.json", true, "Pulumi credentials"},
	{"PULUMI_CREDENTIALS_PATH", "credentials.json", true, "Pulumi credentials"},
	{"RCLONE_CONFIG", "", true, "rclone credentials"},
	{"BOTO_CONFIG", "", true, "Google Cloud credentials"},
	{"S3CMD_CONFIG", "", true, "S3 credentials"},
	{"MC_CONFIG_DIR", "", false, "MinIO credentials"},
	{"OCI_CLI_CONFIG_FILE", "", true, "Oracle Cloud credentials"},
	{"OCI_CLI_KEY_FILE", "", true, "Oracle Cloud credentials"},
	{"TUNNEL_ORIGIN_CERT", "", true, "Cloudflare tunnel credentials"},
	{"TUNNEL_CRED_FILE", "", true, "Cloudflare tunnel credentials"},
	{"DATABRICKS_CONFIG_FILE", "", true, "Databricks tokens"},
	{"SNOWFLAKE_HOME", "", false, "Snowflake credentials"},
	{"KAGGLE_CONFIG_DIR", "", false, "Kaggle keys"},
	{"INFLUX_CONFIGS_PATH", "", true, "InfluxDB tokens"},
	{"HELM_REGISTRY_CONFIG", "", true, "Helm registry credentials"},
	{"HELM_REPOSITORY_CONFIG", "", true, "Helm registry credentials"},
	{"ANSIBLE_VAULT_PASSWORD_FILE", "", true, "Ansible vault passwords"},
	{"ANSIBLE_GALAXY_TOKEN_PATH", "", true, "Ansible tokens"},
	{"OP_CONFIG_DIR", "", false, "1Password sessions"},
	{"BITWARDENCLI_APPDATA_DIR", "", false, "Bitwarden vaults"},
	{"LPASS_HOME", "", false, "LastPass sessions"},
	{"HF_HOME", "token", true, "Hugging Face tokens"},
	{"HF_HOME", "stored_tokens", true, "Hugging Face tokens"},
	{"HF_TOKEN_PATH", "", true, "Hugging Face tokens"},
	{"VAULT_TOKEN_FILE", "", true, "Vault tokens"},
	{"VAULT_CLIENT_KEY", "", true, "TLS keys"},
	{"CONSUL_CLIENT_KEY", "", true, "TLS keys"},
	{"NOMAD_CLIENT_KEY", "", true, "TLS keys"},
	{"ETCDCTL_KEY", "", true, "TLS keys"},
	{"GIT_SSL_KEY", "", true, "TLS keys"},
	{"GIT_SSL_CERT", "", true, "TLS keys"}, // it may hold the key
	{"GIT_PROXY_SSL_KEY", "", true, "TLS keys"},
	{"GIT_PROXY_SSL_CERT", "", true, "TLS keys"},
	{"PIP_CLIENT_CERT", "", true, "TLS keys"},
	{"SSL_CLIENT_CERT", "", true, "TLS keys"}, // of uv
	{"NPM_CONFIG_KEYFILE", "", true, "TLS keys"},
	{"npm_config_keyfile", "", true, "TLS keys"},
	{"PGSSLKEY", "", true, "TLS keys"},
	{"SSLKEYLOGFILE", "", true, "TLS session keys"},
	{"BORG_KEY_FILE", "", true, "backup keys"},
	{"BORG_KEYS_DIR", "", false, "backup keys"},
	{"CREDENTIALS_DIRECTORY", "", false, "system credentials"},
	{"KRB5CCNAME", "", true, "Kerberos tickets"},
	{"KRB5_KTNAME", "", true, "Kerberos keys"},
	{"KRB5_CLIENT_KTNAME", "", true, "Kerberos keys"},
	{"PASSWORD_STORE_DIR", "", false, "password stores"},
	{"PGPASSFILE", "", true, "PostgreSQL passwords"},
	{"PGSERVICEFILE", "", true, "PostgreSQL passwords"},
	{"MYSQL_TEST_LOGIN_FILE", "", true, "MySQL passwords"},
	{"HISTFILE", "", true, "shell histories"},
	{"ZDOTDIR", ".zsh_history", true, "shell histories"},
	{"ATUIN_DB_PATH", "", true, "shell histories"},
	{"ATUIN_KEY_PATH", "", true, "shell histories' keys"},
	{"PYTHON_HISTORY", "", true, "interpreter histories"},
	{"NODE_REPL_HISTORY", "", true, "interpreter histories"},
	{"PSQL_HISTORY", "", true, "database histories"},
	{"MYSQL_HISTFILE", "", true, "database histories"},
	{"MARIADB_HISTFILE", "", true, "database histories"},
	{"REDISCLI_HISTFILE", "", true, "database histories"},
	{"SQLITE_HISTORY", "", true, "database histories"},
	{"XAUTHORITY", "", true, "X11 cookies"},
	{"ICEAUTHORITY", "", true, "session cookies"},
	{"PULSE_COOKIE", "", true, "sound cookies"},
	{"SOPS_AGE_KEY_FILE", "", true, "age keys"},
	{"XDG_CONFIG_HOME", "bawn", false, "bawn's settings"},
	{"XDG_STATE_HOME", "bawn", false, "bawn's state files"},
	{"XDG_RUNTIME_DIR", "bawn", false, "bawn's sockets"},
}

// movedFolders are where the home's own folders lie, if these variables say so:
// what is hidden in one is hidden in the other.
var movedFolders = [...]struct{ home, name string }{
	{".config/", "XDG_CONFIG_HOME"},
	{".local/share/", "XDG_DATA_HOME"},
	{".cache/", "XDG_CACHE_HOME"},
}

// agentVariables are the variables by which an agent moves a folder of its own:
// what is hidden there is hidden in the other.
var agentVariables = [...]struct{ agent, name, home string }{
	{"codex", "CODEX_HOME", ".codex"},
	{"claude", "CLAUDE_CONFIG_DIR", ".claude"},
	{"claude", "CLAUDE_CONFIG_DIR", ""}, // .claude.json lies in it then
	{"copilot", "COPILOT_HOME", ".copilot"},
	{"cursor", "CURSOR_CONFIG_DIR", ".cursor"},
}

// MovedCredentials are the places to which variables have moved what
// Credentials hides.
func MovedCredentials(homes []string, getenv func(string) string) []PathRule {
	var out []PathRule
	agent, part, single := "", false, false
	add := func(at string, file bool, what string) {
		if !IsClean(at) {
			return
		}
		r := hiddenRule(at, what, file)
		r.id, r.part, r.single = agent, part && r.kind != kindOwn, single
		out = append(out, r)
	}
	for _, e := range envSecrets {
		v := getenv(e.name)
		if v == "" {
			continue
		}
		part = e.sub != ""
		single = e.file && !part
		for _, dir := range namedAll(e.name, v) {
			add(strings.TrimSuffix(dir+"/"+e.sub, "/"), e.file, e.what)
		}
	}
	single = false
	for _, e := range agentVariables {
		dir := named(getenv(e.name))
		if dir == "" {
			continue
		}
		for i := range agentSecrets {
			s := &agentSecrets[i]
			rest, ok := strings.CutPrefix(s.path, e.home)
			switch {
			case !ok || s.agent != e.agent || e.home != "" && rest != "" && rest[0] != '/':
				continue
			case e.home == "" && strings.Contains(rest, "/"): // of a folder
				continue
			}
			agent, part = e.agent, rest != ""
			add(strings.TrimSuffix(dir+"/"+strings.TrimPrefix(rest, "/"), "/"), s.file, s.what)
		}
	}
	part = true
	for _, m := range movedFolders {
		dir := named(getenv(m.name))
		usual := func(home string) bool { return home != "" && dir+"/" == home+"/"+m.home }
		if dir == "" || slices.ContainsFunc(homes, usual) || usual(named(getenv("HOME"))) {
			continue
		}
		moved := func(p *place) {
			if rest, ok := strings.CutPrefix(p.path, m.home); ok {
				add(dir+"/"+rest, p.file, p.what)
			}
		}
		agent = ""
		for i := range homeSecrets {
			moved(&homeSecrets[i])
		}
		for i := range agentSecrets {
			agent = agentSecrets[i].agent
			moved(&agentSecrets[i].place)
		}
	}
	return out
}

// namedAll are the places that a variable's value names: of most one, with the
// type before it that Kerberos and Coursier write, of Kubernetes' a list.
func namedAll(name, v string) (out []string) {
	all := []string{v}
	if strings.HasPrefix(name, "KUBE") {
		all = strings.Split(v, ":")
	}
	for _, p := range all {
		for _, kind := range [...]string{"FILE:", "DIR:", "file://"} {
			p = strings.TrimPrefix(p, kind)
		}
		if p = named(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// named is the place that a variable's value names, without what says nothing
// in a path; "" for none, and for a device (HISTFILE=/dev/null).
func named(v string) string {
	if !strings.HasPrefix(v, "/") {
		return ""
	}
	if v = path.Clean(v); v == "/" || Inside(v, "/proc") || Inside(v, "/dev") && !Inside(v, "/dev/shm") {
		return ""
	}
	return v
}
