package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bawn/internal/config"
	"bawn/internal/config/disk"
	"bawn/internal/config/importer"
)

// importFlags are the flags of `bawn import`.
type importFlags struct {
	from, out       string
	force, widening bool
}

func (f *importFlags) specs() []flagSpec {
	file := func(to *string) func(string) error {
		return func(v string) error {
			if v == "" {
				return errors.New("the file's name is empty")
			}
			*to = v
			return nil
		}
	}
	return []flagSpec{
		{name: "--from", arg: "FILE", help: "the tool's settings; - is standard input (default:\nwhere the tool keeps its user's own)", set: file(&f.from)},
		{name: "-o", arg: "FILE", help: "write there, not to standard output; a file that\nexists is left alone", set: file(&f.out)},
		{name: "--force", help: "with -o: replace a file that exists", on: func() { f.force = true }},
		{name: "--include-widening", help: "make the settings hold that allow more than bawn\ndoes by itself; without it they are comments", on: func() { f.widening = true }},
	}
}

// importCommand prints another tool's settings as bawn's.
func importCommand(args []string) int {
	var f importFlags
	specs := f.specs()
	rest, err := parseFlags(args, specs)
	if err == nil && len(rest) > 1 { // flags may stand after the tool
		var more []string
		more, err = parseFlags(rest[1:], specs)
		rest = append(rest[:1:1], more...)
	}
	switch {
	case errors.Is(err, errHelp):
		return helpCommand([]string{"import"})
	case err != nil:
		return usageError("import", err)
	case len(rest) == 0:
		return usageError("import", fmt.Errorf("import needs a tool: %s", strings.Join(wordsOf("import"), ", ")))
	case len(rest) > 1:
		return usageError("import", fmt.Errorf("import takes one tool, got %q too", rest[1]))
	case f.force && f.out == "":
		return usageError("import", errors.New("--force goes with -o"))
	}
	tool, err := importer.Find(rest[0])
	if err != nil {
		return usageError("import", err)
	}
	if err := f.run(tool); err != nil {
		return fail(err)
	}
	return 0
}

func (f *importFlags) run(tool importer.Tool) error {
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		home = ""
	}
	name, data, err := f.read(tool, home)
	if err != nil {
		return err
	}
	r, err := importer.Import(tool, data, importer.Options{
		File: name, Home: filepath.ToSlash(home), UserFile: f.from == "" || isPlace(f.from, home, tool), IncludeWidening: f.widening,
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if f.out == "" {
		_, err = io.WriteString(os.Stdout, r.Text)
	} else if err = makeConfigDir(f.out); err == nil {
		err = writeNew(f.out, []byte(r.Text), f.force)
	}
	if err != nil {
		return err
	}
	warn("%s", imported(r, f.widening))
	return nil
}

// imported counts what came of the settings.
func imported(r importer.Result, widening bool) string {
	wide := fmt.Sprint(r.Widens)
	switch {
	case r.Widens > 0 && widening:
		wide += " (these hold)"
	case r.Widens > 0:
		wide += " (these are comments)"
	}
	return fmt.Sprintf("settings taken: %d; that allow more than the defaults: %s; remarks at the end: %d", r.Active, wide, r.Remarks)
}

// read returns the settings and where they were found.
func (f *importFlags) read(tool importer.Tool, home string) (string, []byte, error) {
	switch {
	case f.from == "-":
		data, err := io.ReadAll(io.LimitReader(os.Stdin, importer.MaxFile+1))
		return "standard input", data, err
	case f.from != "":
		data, err := readSettings(f.from)
		return f.from, data, err
	case home == "":
		return "", nil, errors.New("the home folder is not known; name the settings with --from FILE")
	}
	for _, place := range tool.Places {
		data, err := readSettings(filepath.Join(home, place))
		if !errors.Is(err, fs.ErrNotExist) {
			return "~/" + place, data, err
		}
	}
	return "", nil, fmt.Errorf("no settings of %s were found at ~/%s; name them with --from FILE", tool.Name, tool.Places[0])
}

// isPlace reports whether a file is one that the tool keeps for its user.
func isPlace(name, home string, tool importer.Tool) bool {
	abs, err := filepath.Abs(name)
	return err == nil && home != "" && slices.ContainsFunc(tool.Places, func(p string) bool { return abs == filepath.Join(home, p) })
}

// readSettings reads a plain file: what stands there is not waited for, and no
// link is followed to where somebody else wants it to be read from.
func readSettings(name string) ([]byte, error) {
	name = filepath.Clean(name)
	d, err := disk.Open(filepath.Dir(name))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	data, _, err := d.Read(filepath.Base(name), importer.MaxFile)
	if errors.Is(err, disk.ErrLink) {
		if to, lerr := filepath.EvalSymlinks(name); lerr == nil {
			return nil, fmt.Errorf("%w; if that is right, name where it leads: --from %s", err, to)
		}
	}
	return data, err
}

// makeConfigDir makes bawn's own folder of settings, if that is where name is to
// be written; any other folder is there or is a mistake.
func makeConfigDir(name string) error {
	dir := config.UserDir(os.Environ(), "")
	if abs, err := filepath.Abs(name); err != nil || dir == "" || filepath.Dir(abs) != filepath.Clean(dir) {
		return nil
	}
	d, err := disk.Make(dir)
	if err != nil {
		return err
	}
	return d.Close()
}

// writeNew writes a whole file or none, for the owner alone. Without force
// nothing that stands there is touched, not even a link to nothing.
func writeNew(name string, data []byte, force bool) (err error) {
	tmp, err := os.CreateTemp(filepath.Dir(name), ".bawn-import-*")
	if err != nil {
		return err
	}
	defer func() {
		if rerr := os.Remove(tmp.Name()); err == nil && !errors.Is(rerr, fs.ErrNotExist) {
			err = rerr
		}
	}()
	_, err = tmp.Write(data)
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	if force {
		return os.Rename(tmp.Name(), name)
	}
	err = os.Link(tmp.Name(), name) // fails where anything stands
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists and is left alone; --force replaces it", name)
	}
	return err
}
