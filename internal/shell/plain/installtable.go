package plain

// adds says when a verb changes the manifest.
type adds uint8

const (
	never   adds = iota
	byNames      // when packages are named
	always
)

// verb is one way of a tool to install.
type verb struct {
	names string // separated by spaces; two words are joined by a +
	adds  adds
}

// installer is one package tool: how it is told to install, and what it then
// writes in the folder of the package.
type installer struct {
	tool  string
	alias string // other names of the program
	bare  bool   // without a verb it installs
	verbs []verb

	manifests, locks, folders []string

	// values are options whose value is the next word; flags that are not here
	// take none, or bring it with them after a =.
	values string
	// elsewhere are options with which it installs to another place, or from
	// another source: such a command is left alone.
	elsewhere string
	// slash: the name of a package may hold a / that is no place.
	slash bool
	// single: long options have one dash.
	single bool
}

var (
	nodeFolders = []string{"node_modules"}
	venvFolders = []string{".venv", "venv"}
)

// installers is the one table of package tools (SPEC F9).
var installers = [...]installer{
	{
		tool: "npm",
		verbs: []verb{
			{"install i in ins inst insta instal isnt isnta isntal isntall add", byNames},
			{"ci clean-install ic install-clean isntall-clean", never},
			{"update up upgrade udpate dedupe ddp", never},
			{"uninstall un unlink remove rm r", always},
		},
		manifests: []string{"package.json"},
		locks:     []string{"package-lock.json", "npm-shrinkwrap.json"},
		folders:   nodeFolders,
		values:    "--loglevel --registry --cache -w --workspace --omit --include --install-strategy --tag --fetch-timeout --fetch-retries --userconfig",
		elsewhere: "-g --global --location -C --prefix --script-shell",
	},
	{
		tool: "pnpm",
		verbs: []verb{
			{"install i", byNames}, {"add", always}, {"update up upgrade", always},
			{"remove rm uninstall un", always}, {"fetch dedupe", never}, {"ci clean-install ic install-clean", never},
		},
		manifests: []string{"package.json", "pnpm-workspace.yaml"},
		locks:     []string{"pnpm-lock.yaml"},
		folders:   nodeFolders,
		values:    "--loglevel --registry --reporter -F --filter --filter-prod --workspace-concurrency --network-concurrency",
		elsewhere: "-g --global -C --dir --prefix --modules-dir --virtual-store-dir --lockfile-dir --store-dir --global-dir --script-shell",
	},
	{
		tool: "yarn", alias: "yarnpkg", bare: true,
		verbs: []verb{
			{"install", never}, {"add", always}, {"remove", always}, {"up upgrade", always}, {"dedupe", never},
		},
		manifests: []string{"package.json"},
		locks:     []string{"yarn.lock", ".pnp.cjs", ".pnp.loader.mjs", ".yarn/install-state.gz", ".yarn/build-state.yml"},
		folders:   []string{"node_modules", ".yarn/cache", ".yarn/unplugged"},
		values:    "--registry --network-timeout --network-concurrency --mutex --mode --cache-folder",
		elsewhere: "--cwd --modules-folder --global-folder --use-yarnrc --script-shell",
	},
	{
		tool: "bun",
		verbs: []verb{
			{"install i", byNames}, {"ci", never}, {"add a", always}, {"remove rm", always}, {"update", always},
		},
		manifests: []string{"package.json"},
		locks:     []string{"bun.lock", "bun.lockb"},
		folders:   nodeFolders,
		values:    "--registry --filter --backend --network-concurrency --omit",
		elsewhere: "-g --global --cwd -c --config --cache-dir",
	},
	{
		tool: "pip", alias: "pip3",
		verbs:     []verb{{"install", never}, {"uninstall", never}},
		folders:   venvFolders,
		values:    "-r --requirement -c --constraint -i --index-url --extra-index-url --timeout --retries --only-binary --no-binary --progress-bar --trusted-host --upgrade-strategy",
		elsewhere: "-t --target --user --prefix --root -e --editable --python --src -f --find-links --log --report --proxy --config-settings -C --break-system-packages",
	},
	{
		tool: "uv",
		verbs: []verb{
			{"sync", never}, {"lock", never}, {"add", always}, {"remove", always}, {"pip+install pip+sync pip+uninstall", never},
		},
		manifests: []string{"pyproject.toml"},
		locks:     []string{"uv.lock"},
		folders:   venvFolders,
		values:    "--group --extra --only-group --no-group --package --index --index-url --default-index --extra-index-url --resolution --prerelease -P --upgrade-package -p --python -r --requirements --requirement -c --constraints --color --link-mode --optional --bounds",
		elsewhere: "--project --directory --target --prefix --system --script -e --editable --branch --tag --rev --git --config-file --cache-dir --find-links -f --break-system-packages",
	},
	{
		tool: "poetry",
		verbs: []verb{
			{"install sync", never}, {"lock", never}, {"update", never}, {"add", always}, {"remove", always},
		},
		manifests: []string{"pyproject.toml"},
		locks:     []string{"poetry.lock"},
		folders:   venvFolders,
		values:    "-G --group -E --extras --with --without --only --source --python --platform",
		elsewhere: "-C --directory -P --project -e --editable",
	},
	{
		tool: "cargo",
		verbs: []verb{
			{"fetch", never}, {"update", never}, {"generate-lockfile", never}, {"add", always}, {"remove rm", always},
		},
		manifests: []string{"Cargo.toml"},
		locks:     []string{"Cargo.lock"},
		folders:   []string{"target"},
		values:    "-p --package -F --features --precise --target --color --rename --registry",
		elsewhere: "-C --manifest-path --path --git --branch --tag --rev --config -Z --target-dir --lockfile-path",
	},
	{
		tool: "go",
		verbs: []verb{
			{"get", always}, {"mod+download", never}, {"mod+tidy", always}, {"mod+vendor", never},
		},
		manifests: []string{"go.mod", "go.work"},
		locks:     []string{"go.sum", "go.work.sum"},
		folders:   []string{"vendor"},
		values:    "-go -compat -tags",
		elsewhere: "-C -modfile -o -overlay -toolexec -exec",
		slash:     true,
		single:    true,
	},
	{
		tool:      "gem",
		verbs:     []verb{{"install i", never}, {"update", never}, {"uninstall", never}},
		values:    "-v --version --platform",
		elsewhere: "-i --install-dir -n --bindir --user-install -s --source -l --local -g --file -P --config-file --build-root",
	},
	{
		tool: "bundle", alias: "bundler", bare: true,
		verbs: []verb{
			{"install", never}, {"update", never}, {"lock", never}, {"add", always}, {"remove", always},
		},
		manifests: []string{"Gemfile", "gems.rb"},
		locks:     []string{"Gemfile.lock", "gems.locked"},
		folders:   []string{"vendor/bundle"},
		values:    "-j --jobs --retry -v --version -g --group",
		elsewhere: "--path --gemfile --git --github --branch --ref --system --binstubs -s --source --local",
	},
	{
		tool: "composer",
		verbs: []verb{
			{"install i", never}, {"update u upgrade", never}, {"require r", always}, {"remove rm uninstall", always},
		},
		manifests: []string{"composer.json"},
		locks:     []string{"composer.lock"},
		folders:   []string{"vendor"},
		values:    "--ignore-platform-req --prefer-install --audit-format",
		elsewhere: "-d --working-dir",
		slash:     true,
	},
}
