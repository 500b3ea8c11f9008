package sandbox

// Workspace returns the real path of a workspace: "" is the current folder.
func Workspace(dir string) (string, error) { return realFolder("workspace", dir) }
