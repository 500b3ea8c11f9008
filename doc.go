// Package bawn runs commands inside a boundary that the operating system
// enforces around the command and everything it starts. [Command] looks and
// feels like [os/exec.Command], with a [Policy] in front:
//
//	p, err := bawn.NewPolicy(bawn.Guarded, "/home/me/project")
//	if err != nil {
//		return err
//	}
//	out, err := bawn.Command(ctx, p, "make", "test").Output()
//
// [LoadPolicy] makes the policy from the user's settings instead, as the
// program bawn does.
//
// Inside, the system is read-only, the workspace and a private temp folder are
// writable, credentials can be neither read nor written, variables that carry
// secrets are gone, and the caller's other processes and sockets are out of
// reach. What each tier allows is at [Tier]; [Policy.Check] says what a policy
// decides about one path, and why. It is not a virtual machine: the command
// shares the kernel with the host.
//
// # Importing this package changes how the program can start
//
// On Linux a sandbox begins with this same program: bawn executes
// /proc/self/exe again as the first process (pid 1) of the new namespaces. An
// init function below this package recognises that start and never returns to
// the program's main: it builds the sandbox, starts the command, and ends with
// it. It acts only if both are true: the process is pid 1, and the environment
// variable BAWN_STAGE is set. Every other start is untouched. It follows that
//
//   - init functions of packages that Go initialises earlier run once more in
//     that process, with an empty environment and before the boundary stands;
//     they should have no side effects (the order is by import path, after
//     dependencies);
//   - a program that is itself pid 1, as in a container, must not be started
//     with BAWN_STAGE in its environment;
//   - the program needs no other set-up: no helper file, no call at the start
//     of main, and it may have been replaced or removed on disk meanwhile.
//
// # What it takes from the program
//
// Each running command holds one operating system thread, since the kernel
// ends a sandbox when the thread that made it ends. No signal handler is
// installed, no working folder or umask is changed, and only processes that
// this package started are waited for. When the program ends, however it
// ends, its sandboxes end too.
//
// # Platforms
//
// Sandboxed tiers work on Linux 5.12 or later. Elsewhere they refuse with
// [ErrUnavailable]; [Open] runs everywhere. Nothing ever falls back to running
// unprotected.
package bawn
