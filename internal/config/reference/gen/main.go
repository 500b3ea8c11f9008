// Command gen writes the files that package reference makes into a folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"bawn/internal/config/reference"
)

func main() {
	if err := write(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func write() error {
	if len(os.Args) != 2 {
		return fmt.Errorf("usage: gen FOLDER")
	}
	files, err := reference.Files()
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(os.Args[1], name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}
