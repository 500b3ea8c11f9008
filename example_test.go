//go:build linux

package bawn_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"

	"bawn"
)

// workspace stands for the project folder that a program works in.
func workspace() string {
	dir, err := os.MkdirTemp("", "project-")
	if err != nil {
		log.Fatal(err)
	}
	return dir
}

func ExampleCommand() {
	dir := workspace()
	defer os.RemoveAll(dir)

	p, err := bawn.NewPolicy(bawn.Guarded, dir)
	if err != nil {
		log.Fatal(err)
	}
	// The workspace is writable; the rest of the system is not.
	cmd := bawn.Command(context.Background(), p, "sh", "-c", "echo hello >greeting; touch /etc/evil || echo blocked")
	out, err := cmd.Output()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", out)
	greeting, _ := os.ReadFile(filepath.Join(dir, "greeting"))
	fmt.Printf("%s", greeting)
	// Output:
	// blocked
	// hello
}

func ExampleCmd_Output() {
	dir := workspace()
	defer os.RemoveAll(dir)

	p, err := bawn.NewPolicy(bawn.Airlock, dir)
	if err != nil {
		log.Fatal(err)
	}
	_, err = bawn.Command(context.Background(), p, "sh", "-c", "echo no such test >&2; exit 3").Output()
	var exit *bawn.ExitError
	if errors.As(err, &exit) {
		fmt.Println(exit.ExitCode())
		fmt.Printf("%s", exit.Stderr)
	}
	// Output:
	// 3
	// no such test
}

func ExampleCmd_Start() {
	dir := workspace()
	defer os.RemoveAll(dir)

	p, err := bawn.NewPolicy(bawn.Airlock, dir)
	if err != nil {
		log.Fatal(err)
	}
	cmd := bawn.Command(context.Background(), p, "no-such-program")
	var missing *bawn.ExecError
	if err := cmd.Start(); errors.As(err, &missing) {
		fmt.Println(missing.Code, missing)
	}
	// Output:
	// 127 bawn: "no-such-program": command not found
}

func ExampleCmd_StdinPipe() {
	dir := workspace()
	defer os.RemoveAll(dir)

	p, err := bawn.NewPolicy(bawn.Airlock, dir)
	if err != nil {
		log.Fatal(err)
	}
	cmd := bawn.Command(context.Background(), p, "sort")
	in, err := cmd.StdinPipe()
	if err != nil {
		log.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		log.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	io.WriteString(in, "pear\napple\n")
	in.Close()
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Println(lines.Text())
	}
	if err := cmd.Wait(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// apple
	// pear
}

// A context that ends kills the sandbox and everything in it.
func ExampleCommand_cancel() {
	dir := workspace()
	defer os.RemoveAll(dir)

	p, err := bawn.NewPolicy(bawn.Guarded, dir)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cmd := bawn.Command(ctx, p, "sh", "-c", "sleep 1000 & sleep 1000")
	if err := cmd.Start(); err != nil {
		log.Fatal(err)
	}
	cancel()
	err = cmd.Wait()
	fmt.Println(errors.Is(err, context.Canceled), cmd.ProcessState.ExitCode())
	// Output:
	// true 137
}

func ExampleNewPolicy() {
	// A folder that would expose credentials is refused.
	_, err := bawn.NewPolicy(bawn.Guarded, "/")
	var refused *bawn.RefusedError
	fmt.Println(errors.As(err, &refused))
	// Output:
	// true
}

func ExamplePolicy_With() {
	dir, more := workspace(), workspace()
	defer os.RemoveAll(dir)
	defer os.RemoveAll(more)

	p, err := bawn.NewPolicy(bawn.Guarded, dir)
	if err != nil {
		log.Fatal(err)
	}
	wider, err := p.With(bawn.WithDirs(more), bawn.WithEnv([]string{"DEPLOY_TOKEN"}, nil))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(p.Dirs()), len(wider.Dirs())) // p is as it was
	cmd := bawn.Command(context.Background(), wider, "sh", "-c", `echo "$DEPLOY_TOKEN $OTHER_TOKEN."`)
	cmd.Env = append(os.Environ(), "DEPLOY_TOKEN=kept", "OTHER_TOKEN=dropped")
	out, err := cmd.Output()
	fmt.Printf("%s%v\n", out, err)
	// Output:
	// 0 1
	// kept .
	// <nil>
}

func ExamplePolicy_Check() {
	dir := workspace()
	defer os.RemoveAll(dir)

	p, err := bawn.NewPolicy(bawn.Guarded, dir)
	if err != nil {
		log.Fatal(err)
	}
	for _, a := range []bawn.Action{
		bawn.Write{Path: filepath.Join(dir, "main.go")},
		bawn.Read{Path: "/etc/passwd"},
		bawn.Write{Path: "/etc/passwd"},
	} {
		d := p.Check(a)
		fmt.Printf("%-5s  %s\n", d.Verdict, strings.Split(d.Rule.ID, ":")[0])
	}
	// Output:
	// allow  workspace
	// allow  root
	// deny   root
}
