// kernel DIR KEY tries calls that would break the boundary and prints one line for
// each: its name and "ok" or the name of the errno.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *name, long r) {
	printf("%s %s\n", name, r < 0 ? strerrorname_np(errno) : "ok");
	fflush(stdout);
}

// alone runs a call in a child, for what changes the process.
#define alone(name, call) do { \
	fflush(stdout); \
	if (fork() == 0) { say(name, (call)); _exit(0); } \
	int st; wait(&st); \
	if (WIFSIGNALED(st)) printf("%s signal %d\n", name, WTERMSIG(st)); \
} while (0)

#ifdef __x86_64__
static long int80(long nr, long a, long b, long c) {
	long r;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(nr), "b"(a), "c"(b), "d"(c) : "memory", "r8", "r9", "r10", "r11");
	if (r < 0) errno = -r;
	return r < 0 ? -1 : r;
}
#endif

int main(int argc, char **argv) {
	const char *dir = argc > 1 ? argv[1] : ".";
	int key = argc > 2 ? atoi(argv[2]) : 0;
	char queue[32];
	snprintf(queue, sizeof queue, "/bawn-%d", key);
	char node[4096], params[256] = {0}, attr[64] = {0};
	snprintf(node, sizeof node, "%s/node", dir);
	alone("mount-tmpfs", mount("none", dir, "tmpfs", 0, 0));
	alone("mount-bind", mount("/etc", dir, 0, MS_BIND, 0));
	alone("chroot", chroot(dir));
	alone("unshare-user", unshare(CLONE_NEWUSER));
	alone("unshare-mount", unshare(CLONE_NEWNS));
	alone("unshare-net", unshare(CLONE_NEWNET));
	alone("unshare-files", unshare(CLONE_FILES)); // harmless: the twin
	alone("clone-user", syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0));
	alone("setns", syscall(SYS_setns, open("/proc/self/ns/mnt", O_RDONLY), 0));
	alone("open_tree", syscall(SYS_open_tree, AT_FDCWD, "/", 1));
	alone("fsopen", syscall(SYS_fsopen, "tmpfs", 0));
	alone("mknod-char", mknod(node, S_IFCHR | 0600, makedev(1, 3)));
	alone("mknod-block", mknod(node, S_IFBLK | 0600, makedev(254, 0)));
	alone("mknod-fifo", mknod(node, S_IFIFO | 0600, 0)); // the twin
	alone("open-handle", syscall(SYS_open_by_handle_at, AT_FDCWD, params, O_RDONLY));
	alone("io_uring", syscall(SYS_io_uring_setup, 4, params));
	alone("keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_SESSION_KEYRING, 0));
	alone("add_key", syscall(SYS_add_key, "user", "atk", "x", 1, KEY_SPEC_PROCESS_KEYRING));
	alone("request_key", syscall(SYS_request_key, "user", "bawn-atk", 0, 0));
	alone("bpf", syscall(SYS_bpf, 0, params, 48));
	alone("setuid", setuid(getuid() ? 0 : 1));
	alone("setgid", setgid(getgid() ? 0 : 1));
	char host[256] = "";
	gethostname(host, sizeof host - 1); // its own name: outside, as root, the call works
	alone("sethostname", sethostname(host, strlen(host)));
	alone("quiet-read", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 ? 0 : (errno = EBADE, -1));
	alone("shm-host", shmget(key, 0, 0));
	alone("shm-own", shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600));
	alone("mq-host", mq_open(queue, O_RDONLY));
	snprintf(queue, sizeof queue, "/bawn-own-%d", key);
	alone("mq-own", mq_open(queue, O_RDWR | O_CREAT, 0600, 0));
	mq_unlink(queue);
	alone("inet-raw", syscall(SYS_socket, 2, 3, 1));
#ifdef __x86_64__
	alone("i386-socket", int80(359, 1, 1, 0));
	alone("x32-socket", syscall(0x40000000 | SYS_socket, 1, 1, 0));
#endif
	// Last, what changes the namespace where it works.
	alone("remount", mount("none", "/", 0, MS_REMOUNT | MS_BIND, 0));
	alone("umount", umount2("/proc", MNT_DETACH));
	alone("umount-home", umount2(getenv("HOME"), MNT_DETACH));
	alone("pivot_root", syscall(SYS_pivot_root, dir, dir));
	alone("move_mount", syscall(SYS_move_mount, AT_FDCWD, "/proc", AT_FDCWD, dir, 0));
	alone("mount_setattr", syscall(SYS_mount_setattr, AT_FDCWD, "/", 0, attr, 32));
	return 0;
}
