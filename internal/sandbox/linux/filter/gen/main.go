// Gen writes the filters' programs, one file per filter and architecture, into
// the current folder. go generate runs it in the folder above.
package main

import (
	"fmt"
	"os"

	"bawn/internal/sandbox/linux/filter/internal/cbpf"
	"bawn/internal/sandbox/linux/filter/internal/rules"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run() error {
	for _, f := range rules.Filters() {
		for _, a := range rules.Arches {
			prog, err := rules.Compile(f, a)
			if err != nil {
				return err
			}
			name := f.Name + "_" + a.Name + ".bpf"
			if err := os.WriteFile(name, cbpf.Encode(prog), 0o644); err != nil {
				return err
			}
			fmt.Printf("%s: %d instructions\n", name, len(prog))
		}
	}
	return nil
}
