package config

import (
	"path/filepath"

	"bawn/internal/config/disk"
)

// Place is where a layer's file belongs.
type Place struct {
	Layer Layer
	Path  string
}

// Paths returns the places of all files, whether they exist or not, the
// weakest layer's first.
func Paths(environ []string, home, workspace string) []Place {
	out := []Place{{Managed, filepath.Join(managedFolder, fileName)}}
	if dir := UserDir(environ, home); dir != "" {
		out = append(out, Place{User, filepath.Join(dir, fileName)}, Place{Saved, filepath.Join(dir, allowedName)})
	}
	if workspace != "" {
		out = append(out, Place{ProjectFile, filepath.Join(workspace, projectFolder, fileName)})
	}
	return append(out, Place{Requirements, filepath.Join(managedFolder, requiredName)})
}

// CheckFile reads one file, at an absolute path, as a user's own: an *Error
// is what would refuse every run. Who owns it does not matter, and nothing of
// it holds. A link is followed, but not to a project's own file, as no run does.
func CheckFile(path, home, workspace string) error {
	if !filepath.IsAbs(home) {
		home = ""
	}
	sc := scope{layer: User, home: filepath.ToSlash(home), workspace: filepath.ToSlash(workspace)}
	if folder := filepath.Dir(path); filepath.Base(folder) == projectFolder && filepath.Base(path) == fileName {
		sc.layer = ProjectFile
		data, err := readProject(filepath.Dir(folder))
		if err != nil {
			return refuse(path, "it cannot be read: "+reason(err), "")
		}
		_, err = parseFile(sc, path, data)
		return err
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return refuse(path, "it cannot be read: "+reason(err), "")
	}
	d, err := disk.Open(filepath.Dir(real))
	if err != nil {
		return refuse(path, "it cannot be read: "+reason(err), "")
	}
	defer d.Close()
	data, _, err := d.Read(filepath.Base(real), maxFile)
	if err != nil {
		return refuse(path, "it cannot be read: "+reason(err), "")
	}
	_, err = parseFile(sc, path, data)
	return err
}
