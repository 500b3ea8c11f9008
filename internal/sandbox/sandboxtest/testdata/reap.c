// reap MICROSECONDS DEPTH CMD…: starts CMD, waits, kills the descendant at
// DEPTH (0 is CMD itself, 1 its child…; a deeper one is followed as far as
// there are children), then waits until no descendant is left, however it
// was reparented. Exit 0: none is left; 9: one lives on.
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void late(int s) { (void)s; _exit(9); }

static int child_of(int pid) {
	char p[64];
	int c = 0;
	snprintf(p, sizeof p, "/proc/%d/task/%d/children", pid, pid);
	FILE *f = fopen(p, "r");
	if (!f) return 0;
	if (fscanf(f, "%d", &c) != 1) c = 0;
	fclose(f);
	if (c) return c;
	// A thread other than the first may have started it.
	snprintf(p, sizeof p, "cat /proc/%d/task/*/children 2>/dev/null", pid);
	f = popen(p, "r");
	if (f && fscanf(f, "%d", &c) != 1) c = 0;
	if (f) pclose(f);
	return c;
}

int main(int argc, char **argv) {
	if (argc < 4) return 2;
	long us = atol(argv[1]);
	int depth = atoi(argv[2]);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	pid_t p = fork();
	if (p == 0) {
		execvp(argv[3], argv + 3);
		_exit(127);
	}
	struct timespec ts = {us / 1000000, us % 1000000 * 1000};
	nanosleep(&ts, 0);
	int victim = p;
	while (depth-- > 0) {
		int c = child_of(victim);
		if (!c) break;
		victim = c;
	}
	kill(victim, SIGKILL);
	signal(SIGALRM, late);
	alarm(120);
	while (wait(0) > 0 || errno == EINTR) {}
	return 0;
}
