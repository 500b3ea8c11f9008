package stage

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"bawn/internal/sandbox"
)

// Mark is the variable that makes a process the stage. Its value is the file
// with the profile, which the profile hides.
const Mark = "BAWN_SEATBELT_STAGE"

// Descriptors of the stage besides the command's streams.
const (
	SpecFD   = 3 // sandbox.MarshalSpec's text
	StatusFD = 4 // what the supervisor is told; closed by exec
)

// First bytes of what the supervisor is told.
const (
	Ready  = 'R' // the profile holds
	Failed = 'F' // then the exit code, a blank and the reason
)

// A process that carries the mark never becomes the program that it is else.
func init() {
	profile := os.Getenv(Mark)
	if profile == "" {
		return
	}
	status := os.NewFile(StatusFD, "status")
	code, err := run(profile, status)
	_, _ = status.WriteString(string(Failed) + strconv.Itoa(code) + " " + err.Error())
	os.Exit(code)
}

func run(profile string, status *os.File) (int, error) {
	unix.CloseOnExec(SpecFD)
	unix.CloseOnExec(StatusFD)
	f, err := os.Open(profile)
	if err == nil {
		f.Close()
	}
	if !errors.Is(err, unix.EPERM) {
		return 125, errors.New("sandbox-exec did not apply the profile")
	}
	if _, err := status.Write([]byte{Ready}); err != nil {
		return 125, err
	}
	data, err := io.ReadAll(os.NewFile(SpecFD, "spec"))
	if err != nil {
		return 125, err
	}
	spec, err := sandbox.UnmarshalSpec(data)
	if err != nil {
		return 125, err
	}
	if err := os.Chdir(spec.Dir); err != nil {
		return 125, err
	}
	return execute(spec)
}

// execute becomes the command. It returns only if it cannot.
func execute(spec sandbox.Spec) (int, error) {
	path, err := sandbox.LookPath(spec.Args[0], spec.Path, "")
	if err == nil {
		err = syscall.Exec(path, spec.Args, spec.Env)
	}
	if err == unix.ENOEXEC && sandbox.TextFile(path) {
		err = syscall.Exec("/bin/sh", append([]string{"sh", path}, spec.Args[1:]...), spec.Env)
	}
	code, reason := 126, err.Error()
	if errors.Is(err, unix.ENOENT) {
		code, reason = 127, "command not found"
		if strings.Contains(path, "/") && unix.Access(path, unix.F_OK) == nil {
			reason = "the interpreter that it names is not there"
		}
	}
	return code, errors.New(strconv.Quote(spec.Args[0]) + ": " + reason)
}
