package policy

import "fmt"

// CheckFolder says whether a folder may be added to the writable ones: nil, or
// a *RefusedError with the reason. New refuses as a whole what a person named
// on the command line; a caller drops what a file names, with a warning (SPEC
// F6). The folder is named by its real path.
func (c Config) CheckFolder(dir string) error {
	if !IsClean(dir) {
		return &RefusedError{What: fmt.Sprintf("added folder %q", dir), Why: "not an absolute clean path"}
	}
	return checkFolder("added folder", dir, c)
}
