// Command embed uses the library from a program with cgo, busy threads and
// goroutines of its own, and child processes that it waits for itself.
package main

/*
#cgo LDFLAGS: -lpthread
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

static volatile int stop;

static void *spin(void *arg) {
	while (!stop) usleep(100);
	return 0;
}

// Threads that Go knows nothing of, one that blocks all signals among them.
static int start(int n) {
	sigset_t all;
	pthread_t t;
	for (int i = 0; i < n; i++) {
		if (pthread_create(&t, 0, spin, 0)) return -1;
	}
	sigfillset(&all);
	return pthread_sigmask(SIG_BLOCK, &all, 0) || pthread_create(&t, 0, spin, 0) || pthread_sigmask(SIG_UNBLOCK, &all, 0);
}
*/
import "C"

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"sync"

	"bawn"
)

// script waits for the other end of a pipe as well, which the name guard does
// in its place until it is killed, and names are held afterwards.
const script = `echo $0
touch /etc/x 2>/dev/null && echo escaped
mkfifo p$0
timeout -s KILL 0.1 sh -c "exec 3>p$0" && echo opened
mkdir d$0 && mkdir d$0/.git && echo x 2>/dev/null >d$0/.git/config && echo planted
exit $0`

func main() {
	if C.start(4) != 0 {
		log.Fatal("threads")
	}
	p, err := bawn.NewPolicy(bawn.Guarded, os.Args[1], bawn.WithLauncher(bawn.Launcher(os.Args[2])))
	if err != nil {
		log.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			want := fmt.Sprintf("%d\n", i)
			if out, err := exec.Command("echo", fmt.Sprint(i)).Output(); err != nil || string(out) != want {
				log.Fatalf("own child %d: %q, %v", i, out, err)
			}
			cmd := bawn.Command(context.Background(), p, "sh", "-c", script, fmt.Sprint(i))
			out, err := cmd.Output()
			if string(out) != want || cmd.ProcessState.ExitCode() != i {
				log.Fatalf("command %d: %q, %v", i, out, err)
			}
		})
	}
	wg.Wait()
	fmt.Println("done")
}
