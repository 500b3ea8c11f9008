package plain

import (
	"slices"
	"strings"
	"testing"

	"bawn/internal/policy"
)

func TestInstalls(t *testing.T) {
	for _, c := range []struct {
		text string
		tool string // of the first; "" = not recognised
		adds bool
	}{
		{"npm install", "npm", false}, {"npm ci", "npm", false}, {"npm i", "npm", false}, {"npm install lodash", "npm", true}, {"npm i -D react@^18 @types/react", "npm", true},
		{"npm ci --ignore-scripts --loglevel error", "npm", false}, {"npm uninstall x", "npm", true}, {"CI=1 npm ci", "npm", false}, {"env CI=1 npm ci", "npm", false},
		{"npm install -g x", "", false}, {"npm install --global x", "", false}, {"npm install --prefix x", "", false}, {"npm install --prefix=x", "", false}, {"npm -g install x", "", false}, {"npm install ./x", "", false}, {"npm install user/repo", "", false},
		{"npm install git+https://github.com/a/b", "", false}, {"npm install github:a/b", "", false}, {"npm install x@file:../x", "", false}, {"npm install https://e.test/x.tgz", "", false}, {"npm install x.tgz", "", false},
		{"npm run build", "", false}, {"npm test", "", false}, {"npm", "", false}, {"npm install-test", "", false}, {"npm install --help", "", false}, {"npm publish", "", false},
		{"npm_config_prefix=/x npm ci", "", false}, {"NPM_CONFIG_PREFIX=/x npm ci", "", false}, {"PATH=/x npm ci", "", false}, {"HOME=/x npm ci", "", false}, {"env -i npm ci", "", false}, {"sudo npm ci", "", false},
		{"npx npm@10 ci", "npm", false}, {"npx -y pnpm@9 install", "pnpm", false}, {"npx pnpm add x", "pnpm", true}, {"npx create-x", "", false}, {"npx", "", false},
		{"corepack pnpm@9.1.0 install", "pnpm", false}, {"corepack enable", "", false}, {"corepack", "", false},
		{"pnpm install --frozen-lockfile", "pnpm", false}, {"pnpm add -D x", "pnpm", true}, {"pnpm -F app add x", "pnpm", true}, {"pnpm add -g x", "", false}, {"pnpm -C x install", "", false}, {"pnpm dlx x", "", false}, {"pnpm build", "", false},
		{"yarn", "yarn", false}, {"yarn --frozen-lockfile", "yarn", false}, {"yarn install --immutable", "yarn", false}, {"yarn add x", "yarn", true}, {"yarn global add x", "", false}, {"yarn build", "", false}, {"yarn --cwd x", "", false}, {"yarn --version", "", false}, {"yarn dlx x", "", false},
		{"bun install", "bun", false}, {"bun add x", "bun", true}, {"bun i x", "bun", true}, {"bun run x", "", false}, {"bun x.ts", "", false}, {"bun", "", false},
		{"pip install -r requirements.txt", "pip", false}, {"pip3 install flask", "pip", false}, {"pip3.12 install flask", "pip", false}, {"python -m pip install 'flask[async]>=2'", "pip", false}, {"python3.12 -m pip install -U pip", "pip", false},
		{"pip install .", "", false}, {"pip install -e .", "", false}, {"pip install '.[dev]'", "", false}, {"pip install --user x", "", false}, {"pip install -t x y", "", false}, {"pip install git+https://e.test/x", "", false}, {"pip install 'x @ https://e.test/x'", "", false}, {"pip install flask>=2", "", false}, {"pip download x", "", false}, {"python -m build", "", false}, {"python x.py", "", false}, {"python", "", false},
		{"uv sync", "uv", false}, {"uv add x", "uv", true}, {"uv pip install x", "uv", false}, {"uv pip sync requirements.txt", "uv", false}, {"uv remove x", "uv", true}, {"uv run x", "", false}, {"uv tool install x", "", false}, {"uv pip install -e .", "", false}, {"uv sync --project x", "", false}, {"uv pip list", "", false}, {"uv pip", "", false},
		{"poetry install", "poetry", false}, {"poetry add x -G dev", "poetry", true}, {"poetry run x", "", false}, {"poetry -C x install", "", false},
		{"cargo fetch", "cargo", false}, {"cargo add serde --features derive", "cargo", true}, {"cargo update -p x", "cargo", false}, {"cargo add --git https://e.test/x", "", false}, {"cargo add --path ../x", "", false}, {"cargo install x", "", false}, {"cargo build", "", false}, {"cargo run", "", false},
		{"go get golang.org/x/tools@latest", "go", true}, {"go mod download", "go", false}, {"go mod tidy", "go", true}, {"go get -u ./...", "go", true}, {"go -C x mod tidy", "", false}, {"go mod tidy -C x", "", false}, {"go install x@latest", "", false}, {"go mod init x", "", false}, {"go build", "", false}, {"go get -toolexec=x y", "", false}, {"go mod", "", false},
		{"gem install rails -v 7", "gem", false}, {"gem install -i x rails", "", false}, {"gem build x", "", false},
		{"bundle install -j 4", "bundle", false}, {"bundle", "bundle", false}, {"bundle add x", "bundle", true}, {"bundle exec x", "", false}, {"bundle install --path x", "", false},
		{"composer install --no-dev", "composer", false}, {"composer require monolog/monolog", "composer", true}, {"composer global require a/b", "", false}, {"composer run x", "", false}, {"composer -d x install", "", false},
		{"npm ci && pip install flask", "npm", false}, {"npm ci && npm test", "", false}, {"cd x && npm ci", "", false}, {"npm ci; npm ci", "", false}, {"npm ci | cat", "", false}, {"npm ci > x", "", false}, {"npm ci &", "", false}, {"npm ci $X", "", false}, {"npm install $(x)", "", false}, {"'npm' ci", "", false}, {"./npm ci", "", false}, {"/usr/bin/npm ci", "", false}, {"npm ci\nx", "", false}, {"npm ci &&", "", false}, {"", "", false}, {"CI=1", "", false},
		{"npm install -- x", "", false}, {"npm install -", "", false}, {"pip install ''", "", false},
	} {
		got, ok := InstallsText(c.text)
		if ok != (c.tool != "") || ok && (got[0].Tool != c.tool || got[0].Adds != c.adds) || !ok && got != nil {
			t.Errorf("%q: %+v, %v; want %q, adds %v", c.text, got, ok, c.tool, c.adds)
		}
	}
	got, _ := InstallsText("npm ci && uv add x")
	if len(got) != 2 || got[1].Tool != "uv" || !got[1].Adds || got[0].Adds {
		t.Errorf("two installs: %+v", got)
	}
}

// The names of SPEC F9 are all there.
func TestInstallNames(t *testing.T) {
	var locks, folders []string
	for _, i := range installers {
		locks = append(locks, i.locks...)
		folders = append(folders, i.folders...)
		if i.tool != "gem" && len(i.folders) == 0 {
			t.Errorf("%s puts its packages nowhere", i.tool)
		}
		for _, v := range i.verbs {
			if v.adds != never && len(i.manifests) == 0 {
				t.Errorf("%s changes a manifest it does not have", i.tool)
			}
		}
	}
	for _, n := range []string{"package-lock.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb", "Cargo.lock", "uv.lock", "go.sum", "poetry.lock"} {
		if !slices.Contains(locks, n) {
			t.Errorf("no tool has the lock file %s", n)
		}
	}
	for _, n := range []string{"node_modules", "target", ".venv", "venv"} {
		if !slices.Contains(folders, n) {
			t.Errorf("no tool has the folder %s", n)
		}
	}
	a, _ := InstallOf([]string{"npm", "ci"})
	a.Folders[0] = "src"
	if b, _ := InstallOf([]string{"npm", "ci"}); b.Folders[0] != "node_modules" {
		t.Error("the table can be changed from outside")
	}
}

func TestProfile(t *testing.T) {
	for _, c := range []struct {
		text           string
		folders, files string
	}{
		{"npm ci", "node_modules", "package-lock.json npm-shrinkwrap.json"},
		{"npm install x", "node_modules", "package-lock.json npm-shrinkwrap.json package.json"},
		{"npm ci && npm ci", "node_modules", "package-lock.json npm-shrinkwrap.json"},
		{"go mod download", "vendor", "go.sum go.work.sum"}, {"go get x.test/y", "vendor", "go.sum go.work.sum go.mod go.work"},
		{"pip install flask && npm ci", ".venv venv node_modules", "package-lock.json npm-shrinkwrap.json"},
		{"gem install rails", "", ""},
		{"yarn", "node_modules .yarn/cache .yarn/unplugged", "yarn.lock .pnp.cjs .pnp.loader.mjs .yarn/install-state.gz .yarn/build-state.yml"},
	} {
		in, ok := InstallsText(c.text)
		p := Profile(in)
		if !ok || strings.Join(p.Folders, " ") != c.folders || strings.Join(p.Files, " ") != c.files || len(p.Hosts) > 0 || p.Lift != "" {
			t.Errorf("%q: %v, %+v", c.text, ok, p)
		}
	}
	// What a profile names is clean, and no folder stands among the files.
	for _, i := range installers {
		for _, n := range slices.Concat(i.folders, i.locks, i.manifests) {
			if !policy.IsClean("/" + n) {
				t.Errorf("%s: %q", i.tool, n)
			}
		}
	}
}
