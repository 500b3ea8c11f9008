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
	{"AZURE_CONFIG_DIR", "", false, "Azure credentials"},
	{"CLOUDSDK_CONFIG", "", false, "Google Cloud credentials"},
	{"GOOGLE_APPLICATION_CREDENTIALS", "", true, "Google Cloud credentials"},
	{"KUBECONFIG", "", true, "Kubernetes credentials"},
	{"DOCKER_CONFIG", "", false, "Docker credentials"},
	{"REGISTRY_AUTH_FILE", "", true, "container registry credentials"},
	{"GH_CONFIG_DIR", "", false, "GitHub CLI tokens"},
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
	{"PULUMI_HOME", "credentials.json", true, "Pulumi credentials"},
	{"RCLONE_CONFIG", "", true, "rclone credentials"},
	{"BOTO_CONFIG", "", true, "Google Cloud credentials"},
	{"OCI_CLI_CONFIG_FILE", "", true, "Oracle Cloud credentials"},
	{"DATABRICKS_CONFIG_FILE", "", true, "Databricks tokens"},
	{"SNOWFLAKE_HOME", "", false, "Snowflake credentials"},
	{"KAGGLE_CONFIG_DIR", "", false, "Kaggle keys"},
	{"HELM_REGISTRY_CONFIG", "", true, "Helm registry credentials"},
	{"ANSIBLE_VAULT_PASSWORD_FILE", "", true, "Ansible vault passwords"},
	{"OP_CONFIG_DIR", "", false, "1Password sessions"},
	{"BITWARDENCLI_APPDATA_DIR", "", false, "Bitwarden vaults"},
	{"HF_HOME", "token", true, "Hugging Face tokens"},
	{"HF_HOME", "stored_tokens", true, "Hugging Face tokens"},
	{"HF_TOKEN_PATH", "", true, "Hugging Face tokens"},
	{"VAULT_TOKEN_FILE", "", true, "Vault tokens"},
	{"PASSWORD_STORE_DIR", "", false, "password stores"},
	{"PGPASSFILE", "", true, "PostgreSQL passwords"},
	{"PGSERVICEFILE", "", true, "PostgreSQL passwords"},
	{"HISTFILE", "", true, "shell histories"},
	{"PYTHON_HISTORY", "", true, "interpreter histories"},
	{"NODE_REPL_HISTORY", "", true, "interpreter histories"},
	{"PSQL_HISTORY", "", true, "database histories"},
	{"MYSQL_HISTFILE", "", true, "database histories"},
	{"SQLITE_HISTORY", "", true, "database histories"},
	{"XAUTHORITY", "", true, "X11 cookies"},
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

// movedCredentials are the places to which variables have moved what
// Credentials hides.
func movedCredentials(homes []string, getenv func(string) string) []PathRule {
	var out []PathRule
	agent, part := "", false
	add := func(at string, file bool, what string) {
		if !IsClean(at) {
			return
		}
		r := hiddenRule(at, what, file)
		r.id, r.part = agent, part && r.kind != kindOwn
		out = append(out, r)
	}
	for _, e := range envSecrets {
		v := getenv(e.name)
		if v == "" {
			continue
		}
		part = e.sub != ""
		for _, dir := range strings.Split(v, ":") { // KUBECONFIG is a list
			if dir = named(dir); dir != "" {
				add(strings.TrimSuffix(dir+"/"+e.sub, "/"), e.file, e.what)
			}
		}
	}
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
