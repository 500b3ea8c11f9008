package sandbox

// NoBackend says why sandboxed tiers do not run on a platform without a
// backend (SPEC T10). goos is as in runtime.GOOS.
func NoBackend(goos string) *Unavailable {
	switch goos {
	case "windows":
		return &Unavailable{Mechanism: "windows", Reason: "Windows has no boundary that bawn can use"}
	}
	return &Unavailable{Mechanism: goos, Reason: "there is no backend for this system"}
}

// NoBackendHint is the way out on such a platform.
func NoBackendHint(goos string) string {
	if goos == "windows" {
		return "run bawn inside WSL2, or use --tier open (no sandbox)"
	}
	return "use --tier open (no sandbox), or run bawn on Linux"
}
