package sandbox

import (
	"bytes"
	"fmt"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"bawn/internal/policy"
)

// macOS sets what only that system has.
func (in *inspector) macOS(c *policy.Config, r Request) error {
	if r.Caches == policy.PrivateCaches && c.CacheAccess() {
		return &policy.RefusedError{What: `caches "private"`, Why: "macOS cannot lay a folder over another", Lift: `set caches = "shared", or use --tier airlock, which writes no cache`}
	}
	if c.Profile == policy.ScratchProfile {
		return &policy.RefusedError{What: "the scratch profile", Why: "macOS cannot give a run a file system of its own", Lift: "name an empty folder: --tier airlock -C DIR"}
	}
	temp, err := userTemp()
	if err != nil {
		return fmt.Errorf("find the folder for temporary files: %w", err)
	}
	c.MacOS = &policy.MacOS{Temp: temp, Cache: policy.Parent(temp) + "/C"}
	return nil
}

func macCredentials(homes []string) []policy.PathRule { return policy.MacCredentials(homes) }
func macCaches(home string) []policy.PathRule         { return policy.MacCaches(home) }

// userTemp asks the system, not a variable: what is hidden and what is
// writable depends on it.
func userTemp() (string, error) {
	cmd := exec.Command("/usr/bin/getconf", "DARWIN_USER_TEMP_DIR")
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("getconf: %w", err)
	}
	real, err := filepath.EvalSymlinks(string(bytes.TrimRight(out, "/\n")))
	if err != nil {
		return "", err
	}
	return diskPath(real)
}

// systemHomes has the home of the user database, whatever $HOME says.
func systemHomes(uid int) []string {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return nil
	}
	return []string{u.HomeDir}
}

// onePath: what is one file on the disk may be spelled in several ways.
const onePath = false

// onDisk adds to rules whose place exists the spelling that the disk has.
func onDisk(rules []policy.PathRule) []policy.PathRule {
	for _, r := range rules[:len(rules):len(rules)] {
		if path, err := diskPath(r.Path); err == nil && path != r.Path && policy.IsClean(path) {
			r.Path = path
			rules = append(rules, r)
		}
	}
	return rules
}

// diskPath is how the disk spells a path that exists: rules are held against
// that, and /users/DEV may be what was typed.
func diskPath(path string) (string, error) {
	fd, err := unix.Open(path, unix.O_EVTONLY|unix.O_SYMLINK|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", fmt.Errorf("path %q: %w", path, err)
	}
	defer unix.Close(fd)
	var buf [1024]byte // MAXPATHLEN
	if _, _, errno := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), unix.F_GETPATH, uintptr(unsafe.Pointer(&buf))); errno != 0 {
		return "", fmt.Errorf("path %q: %w", path, errno)
	}
	return unix.ByteSliceToString(buf[:]), nil
}
