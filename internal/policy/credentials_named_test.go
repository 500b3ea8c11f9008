package policy

import (
	"slices"
	"strings"
	"testing"
)

// What bawn env says of a variable that names credentials is so: they are hidden.
func TestPointersAreHidden(t *testing.T) {
	noPath := []string{ // a profile of a file that is hidden, and places on the network
		"AWS_PROFILE", "AWS_DEFAULT_PROFILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	}
	names := []string{"AWS_WEB_IDENTITY_TOKEN_FILE"} // of the pattern
	for _, n := range envNames {
		if n.kind == envPointer && !slices.Contains(noPath, n.name) {
			names = append(names, n.name)
		}
	}
	for _, name := range names {
		at := "/somewhere/else"
		rules := append(Credentials(nil, env(name, at)), NamedCredentials([]string{name + "=" + at}, nil)...)
		if !slices.ContainsFunc(rules, func(r PathRule) bool { return r.Path == at && r.Access == Hidden }) {
			t.Errorf("%s is said to point to what is hidden, and is not", name)
		}
	}
}

func TestNamedCredentials(t *testing.T) {
	for entry, want := range map[string]string{
		"DB_PASSWORD_FILE=/s/db":        "/s/db",
		"db_password_file=/s/db":        "/s/db",
		"X_TOKEN_FILE=/s/./x/":          "/s/x",
		"TOKEN_FILE=/s/x":               "/s/x",
		"SNOWFLAKE_PRIVATE_KEY_PATH=/k": "/k",
		"AZURE_FEDERATED_TOKEN_FILE=/k": "/k",
		// No file of a secret.
		"PASSWORD_STORE_DIR=/s":         "",
		"VAULT_CACERT=/etc/ssl/ca.pem":  "",
		"DB_PASSWORD=/s/db":             "",
		"SSL_CERT_FILE=/s":              "",
		"LOG_FILE=/s":                   "",
		"EMACS_SERVER_FILE=/s":          "",
		"DB_PASSWORD_FILE=relative":     "",
		"DB_PASSWORD_FILE=":             "",
		"DB_PASSWORD_FILE":              "",
		"DB_PASSWORD_FILE=/":            "",
		"DB_PASSWORD_FILE=/dev/null":    "",
		"DB_PASSWORD_FILE=/dev/stdin":   "",
		"DB_PASSWORD_FILE=/proc/self/x": "",
		"A\x1bB_TOKEN_FILE=/s":          "",
		"ANSIBLE_VAULT_PASSWORD_FILE=/": "", // of Credentials
		"KEPT_TOKEN_FILE=/s":            "",
	} {
		got := NamedCredentials([]string{"PATH=/bin", entry}, []string{"KEPT_*"})
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || got[0].Path != want || !got[0].IsSingle() || !got[0].File) {
			t.Errorf("%q: %+v, want %q", entry, got, want)
		}
		for _, r := range got {
			if text := r.Rule().Text; !strings.HasPrefix(text, "credentials that ") || HasControl(text) {
				t.Errorf("%q: %q", entry, text)
			}
		}
	}
}

// A path with a colon is one path, but in Kubernetes' lists.
func TestVariablesOfOnePath(t *testing.T) {
	seen := checkRules(t, Credentials(nil, env("PGPASSFILE", "/a:/b", "KUBE_CONFIG_PATHS", "/k1:/k2", "KRB5CCNAME", "FILE:/t/krb5cc_1",
		"KRB5_KTNAME", "KEYRING:x", "COURSIER_CREDENTIALS", "file:///c/p", "GOOGLE_CREDENTIALS", `{"token_uri":"https:/x","private_key":"/s"}`)), Hidden)
	for path, want := range map[string]bool{
		"/a:/b": true, "/a": false, "/b": false, "/k1": true, "/k2": true, "/t/krb5cc_1": true, "/c/p": true,
	} {
		if _, ok := seen[path]; ok != want {
			t.Errorf("%q is hidden: %v, want %v", path, ok, want)
		}
	}
	for path := range seen {
		if strings.Contains(path, "private_key") || strings.Contains(path, "token_uri") {
			t.Errorf("a piece of a secret: %q", path)
		}
	}
}
