// Command removed deletes its own file and then runs a sandboxed command.
package main

import (
	"context"
	"log"
	"os"

	"bawn"
)

func main() {
	p, err := bawn.NewPolicy(bawn.Guarded, os.Args[1], bawn.WithLauncher(bawn.Launcher(os.Args[2])))
	if err != nil {
		log.Fatal(err)
	}
	if err := os.Remove(os.Args[0]); err != nil {
		log.Fatal(err)
	}
	cmd := bawn.Command(context.Background(), p, "echo", "ran")
	cmd.Stdout = os.Stdout
	if err := cmd.Run(); err != nil {
		log.Fatal(err)
	}
}
