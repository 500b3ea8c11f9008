/* System calls that Go cannot make or survive, for the filter's kernel tests.
 * Prints what happened; "calls MODE". */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int say(const char *what, long r) {
	if (r < 0)
		printf("%s: %s\n", what, strerror(errno));
	else
		printf("%s: ok\n", what);
	return 0;
}

static void *thread(void *arg) { return arg; }

#ifdef __x86_64__
#include <sys/user.h>

static int int80(void) {
	long r = 20; /* i386 getpid */
	__asm__ volatile("int $0x80" : "+a"(r) : : "memory", "r8", "r9", "r10", "r11");
	return say("int80", r > 0 ? 0 : -1);
}

/* A tracer that skips its child's getppid and answers 4242 at the entry. */
static int skip(void) {
	struct user_regs_struct regs;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(2);
		kill(getpid(), SIGSTOP);
		_exit(syscall(SYS_getppid) == 4242 ? 0 : 1);
	}
	for (;;) {
		waitpid(pid, &status, 0);
		if (WIFEXITED(status))
			break;
		ptrace(PTRACE_GETREGS, pid, 0, &regs);
		if (regs.orig_rax == SYS_getppid) {
			regs.orig_rax = -1;
			regs.rax = 4242;
			ptrace(PTRACE_SETREGS, pid, 0, &regs);
		}
		ptrace(PTRACE_SYSCALL, pid, 0, 0);
	}
	printf("skip: %s\n", WEXITSTATUS(status) == 0 ? "ok" : "answer lost");
	return 0;
}
#endif

int main(int argc, char **argv) {
	const char *mode = argc > 1 ? argv[1] : "";
	alarm(60); /* a filter that breaks a mode must not hang the test */
	setvbuf(stdout, NULL, _IONBF, 0);
	if (!strcmp(mode, "thread")) {
		pthread_t t;
		int e = pthread_create(&t, NULL, thread, NULL);
		errno = e;
		if (e == 0)
			pthread_join(t, NULL);
		return say("thread", e ? -1 : 0);
	}
	if (!strcmp(mode, "spawn"))
		return say("spawn", system("exit 0") == 0 ? 0 : -1);
	if (!strcmp(mode, "clone3"))
		return say("clone3", syscall(435, 0, 0));
#ifdef __x86_64__
	if (!strcmp(mode, "x32"))
		return say("x32", syscall(0x40000000 | SYS_socket, 1, 1, 0));
	if (!strcmp(mode, "int80"))
		return int80();
	if (!strcmp(mode, "skip"))
		return skip();
#endif
	return 2;
}
