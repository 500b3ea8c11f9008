package policy

// dependencyFolders and dependencyFiles are what a package install writes in
// a workspace (SPEC F9), as the tools spell it: folders, and lock files that
// they may replace by rename. Of .yarn only what yarn fills itself: releases
// and plugins in it are programs that yarn runs.
var (
	dependencyFolders = [...]string{
		"node_modules", "target", ".venv", "venv", "vendor", ".yarn/cache", ".yarn/unplugged",
	}
	dependencyFiles = [...]string{
		".pnp.cjs", ".pnp.loader.mjs", ".yarn/install-state.gz", ".yarn/build-state.yml",
		"package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock", "bun.lock", "bun.lockb",
		"Cargo.lock", "uv.lock", "poetry.lock", "pdm.lock", "Pipfile.lock", "pylock.toml",
		"go.sum", "go.work.sum", "Gemfile.lock", "gems.locked", "composer.lock",
	}
	// manifests are what it writes as well when the command adds or removes a
	// package.
	manifests = [...]string{
		"package.json", "pnpm-workspace.yaml", "Cargo.toml", "pyproject.toml", "requirements.txt", "Pipfile",
		"go.mod", "go.work", "Gemfile", "gems.rb", "composer.json",
	}
)

// InstallNames are the names that a package install may write at any depth of
// the workspace. adds: the command changes what the project depends on, so its
// manifests count too.
func InstallNames(adds bool) WriteNames {
	w := WriteNames{
		On:      true,
		Folders: append([]string(nil), dependencyFolders[:]...),
		Files:   append([]string(nil), dependencyFiles[:]...),
		Rule: Rule{
			ID:   "install:names",
			Text: "a package install writes only dependency folders, lock files and, when it adds a package, manifests",
			Lift: "make the change outside the sandbox, or set install_profile = \"off\" in " + UserFile,
		},
	}
	if adds {
		w.Files = append(w.Files, manifests[:]...)
	}
	return w
}
