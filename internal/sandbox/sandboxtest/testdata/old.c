// Runs a program where no name guard is possible: "nested" under a filter that
// has a listener already, "old" on a kernel that does not know the flag it needs;
// or, as "container", under a filter that forbids namespaces, as containers have it.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOAD(f) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, f))

int main(int argc, char **argv) {
	struct sock_filter all[] = {BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};
	struct sock_filter old[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_seccomp, 0, 3),
		LOAD(args[1]),
		BPF_JUMP(BPF_JMP | BPF_JSET, 1 << 5, 0, 1), // SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
		BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | 22),
		BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
	};
	struct sock_filter container[] = {
		LOAD(nr),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_clone3, 5, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_clone, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_unshare, 0, 2),
		LOAD(args[0]),
		BPF_JUMP(BPF_JMP | BPF_JSET, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET, 2, 0),
		BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | 38),
		BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | 1),
	};
	int nested = argc > 2 && !strcmp(argv[1], "nested");
	struct sock_fprog prog = {nested ? 1 : 6, nested ? all : old};
	if (argc > 2 && !strcmp(argv[1], "container")) prog = (struct sock_fprog){9, container};
	if (argc < 3 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return 99;
	int fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, nested ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0, &prog);
	if (fd < 0) return 98;
	// The listener lives as long as its descriptor, which the program closes.
	pid_t child = fork();
	if (child == 0) {
		execv(argv[2], argv + 2);
		_exit(97);
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) != child) return 96;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
