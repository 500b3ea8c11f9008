package sandbox

import (
	"slices"
	"strings"
	"testing"
)

func TestCleanNpmrc(t *testing.T) {
	for in, want := range map[string]string{
		"":                                   "",
		"registry=https://npm.example/\n":    "registry=https://npm.example/\n",
		"registry = https://npm.example/":    "registry = https://npm.example/\n",
		"@corp:registry=https://a.example/x": "@corp:registry=https://a.example/x\n",
		"cafile=/etc/ca.pem\r\naudit=false":  "cafile=/etc/ca.pem\naudit=false\n",
		"init-author-email=me@a.example":     "init-author-email=me@a.example\n",
		"save-prefix=~\nfund=false\n":        "save-prefix=~\nfund=false\n",

		"//a.example/:_authToken=SECRET":                         "",
		"_auth=SECRET\n_password=SECRET\nemail=SECRET":           "",
		"@corp:_authToken=SECRET":                                "",
		"unknown=SECRET":                                         "",
		"registry=https://user:SECRET@a.example/":                "",
		"registry=https://SECRET@a.example/":                     "",
		"registry=//user:SECRET@a.example/":                      "",
		"registry=https://a.example/?token=SECRET":               "",
		"registry=https://a.example/ ; SECRET":                   "",
		"registry=https://a.example/ # SECRET":                   "",
		"registry=https://a.example/ https://u:SECRET@b.example": "",
		"registry=https://a.example/\r//a/:_authToken=SECRET":    "registry=https://a.example/\n",
		"registry=https://a.example/${SECRET}":                   "",
		"# registry=https://SECRET.example/":                     "",
		"[SECRET]\nSECRET":                                       "",
		"cafile=ghp_0123456789abcdefghijABCDEFGHIJ012345":        "",
	} {
		if got := cleanNpmrc(in); got != want {
			t.Errorf("cleanNpmrc(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCleanPypirc(t *testing.T) {
	for in, want := range map[string]string{
		"[distutils]\nindex-servers =\n    pypi\n    corp\n\n[corp]\nrepository = https://a.example/\n": "[distutils]\nindex-servers =\n    pypi\n    corp\n[corp]\nrepository = https://a.example/\n",
		"[corp]\nRepository: https://a.example/simple\n":                                                "[corp]\nRepository: https://a.example/simple\n",

		"[pypi]\nusername = SECRET\npassword = SECRET\n":               "[pypi]\n",
		"[pypi]\nusername: SECRET\npassword: SECRET\n":                 "[pypi]\n",
		"[pypi]\npassword:SECRET\n":                                    "[pypi]\n",
		"[pypi]\npassword =\n  SECRET\n\tSECRET\n":                     "[pypi]\n",
		"[pypi]\nrepository = https://u:SECRET@a.example/\n  SECRET\n": "[pypi]\n",
		"[pypi]\nrepository = https://a.example/\npassword = SECRET\n": "[pypi]\nrepository = https://a.example/\n",
		"[pypi]\nrepository = https://a.example/\rpassword = SECRET\n": "[pypi]\nrepository = https://a.example/\n",
		"[pypi]\nindex-servers =\n  corp\n  password = SECRET\n":       "[pypi]\nindex-servers =\n  corp\n",
		"[pypi]\nSECRET\n":          "[pypi]\n",
		"  SECRET\npassword=SECRET": "",
		"[pypi]\n# SECRET\n; SECRET\nrepository = https://a.example/ ;S": "[pypi]\n",
		"[pypi] SECRET\n": "",
	} {
		if got := cleanPypirc(in); got != want {
			t.Errorf("cleanPypirc(%q) = %q, want %q", in, got, want)
		}
	}
}

// secretWord is a value that no kept line may hold: a text of its own, put
// where settings have credentials.
const secretWord = "zq7SECRETzq7"

// FuzzClean puts a secret where each kind of credential stands, among
// whatever other text, and wants it gone. What is kept must be lines of the
// input, and cleaning them again must change nothing.
func FuzzClean(f *testing.F) {
	places := []string{
		"//a.example/:_authToken=S", "_auth=S", "_password = \"S\"", "registry=https://u:S@a.example/", "registry=//S@a.example/",
		"registry=https://a.example/?t=S", "password: S", "password=S", "password =\n S", "username : S", "repository = https://u:S@a.example/x",
		"repository: https://a.example/ https://S@b.example/", "# S", "; S",
	}
	f.Add(0, "[pypi]\n", "\nrepository = https://a.example/\n")
	f.Add(3, "@a:registry=https://a.example/\r\n", "\rfund=false")
	f.Add(7, "index-servers =\n  a\n", "\n  b\n")
	f.Fuzz(func(t *testing.T, place int, before, after string) {
		for name, clean := range map[string]func(string) string{"npmrc": cleanNpmrc, "pypirc": cleanPypirc} {
			text := before + "\n" + strings.ReplaceAll(places[uint(place)%uint(len(places))], "S", secretWord) + "\n" + after
			if strings.Contains(before+after, secretWord) {
				return
			}
			got := clean(text)
			if strings.Contains(got, secretWord) {
				t.Errorf("%s: the secret of %q survives in %q", name, text, got)
			}
			all := lines(text)
			for _, line := range lines(got) {
				if !slices.ContainsFunc(all, func(l string) bool { return l == line || strings.TrimSpace(l) == line }) {
					t.Errorf("%s: the line %q is not in %q", name, line, text)
				}
			}
			if again := clean(got); again != got {
				t.Errorf("%s: %q becomes %q when cleaned again", name, got, again)
			}
		}
	})
}
