package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bawn/internal/config/disk"
)

// An agent starts bawn with an environment that files of the workspace may
// have changed: a project's settings, a .env. So hooks and shims take what
// steers bawn itself from a record that setup made, and none of it from there.

// recorded are the variables that are kept, in the order of the record.
var recorded = [...]string{
	"HOME", "PATH", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

const (
	shimFolder = "shims"       // in the state folder
	recordName = "environment" // in it
	maxRecord  = 64 << 10
)

func shimDir() string {
	if trustState() == "" {
		return ""
	}
	return filepath.Join(trustState(), shimFolder)
}

// record is what the variables are now, each ended by a NUL.
func record() []byte {
	var b strings.Builder
	for _, name := range recorded {
		if v, ok := os.LookupEnv(name); ok {
			b.WriteString(name + "=" + v + "\x00")
		}
	}
	return []byte(b.String())
}

// useRecord makes the record in dir bawn's own environment. Of the agent's only
// BAWN_SANDBOX=1 is kept, which asks for a sandbox and cannot end one.
func useRecord(dir string) error {
	fail := func(err error) error {
		return fmt.Errorf("what setup recorded cannot be read: %w; run bawn setup again", err)
	}
	if !filepath.IsAbs(dir) {
		return fail(fmt.Errorf("%q is no absolute path", dir))
	}
	d, err := disk.Open(dir)
	if err != nil {
		return fail(err)
	}
	defer d.Close()
	in, err := d.Info()
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return fail(err)
	}
	data, in, err := d.Read(recordName, maxRecord)
	if err == nil {
		err = in.OnlyOwners(os.Geteuid())
	}
	if err != nil {
		return fail(err)
	}
	on := os.Getenv("BAWN_SANDBOX")
	for _, e := range os.Environ() {
		if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, "BAWN_") && name != "BAWN_SANDBOXED" {
			os.Unsetenv(name)
		}
	}
	if on == "1" || on == "true" {
		os.Setenv("BAWN_SANDBOX", on)
	}
	for _, name := range recorded {
		os.Unsetenv(name)
	}
	entries := strings.Split(string(data), "\x00")
	for _, e := range entries[:len(entries)-1] {
		name, value, ok := strings.Cut(e, "=")
		if !ok || os.Setenv(name, value) != nil {
			return fail(errors.New("it is damaged"))
		}
	}
	if os.Getenv("HOME") == "" {
		return fail(errors.New("it is damaged"))
	}
	return nil
}
