package policy

// dependencyNames are what a package install writes in a workspace (SPEC F9):
// folders, and lock files that tools replace by rename.
var dependencyNames = [...]string{
	"node_modules", "target", ".venv", "venv", "vendor",
	".pnp.cjs", ".pnp.loader.mjs", ".yarn",
	"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb",
	"cargo.lock", "uv.lock", "poetry.lock", "pdm.lock", "pipfile.lock", "pylock.toml",
	"go.sum", "go.work.sum", "gemfile.lock", "composer.lock",
}

// manifestNames are what it writes as well when the command adds or removes a
// package.
var manifestNames = [...]string{
	"package.json", "pnpm-workspace.yaml", "cargo.toml", "pyproject.toml", "requirements.txt", "pipfile",
	"go.mod", "go.work", "gemfile", "composer.json",
}

// InstallNames are the names, in lower case, that a package install may write
// at any depth of the workspace, with all below them. adds: the command
// changes what the project depends on, so its manifests count too.
func InstallNames(adds bool) []string {
	out := append([]string(nil), dependencyNames[:]...)
	if adds {
		out = append(out, manifestNames[:]...)
	}
	return out
}
