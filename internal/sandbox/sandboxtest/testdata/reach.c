// reach DIR KEY [control] tries what reaches past a sandbox without a file's name: sockets
// of other families, kernel interfaces, other processes, its own first
// process. One line each: its name and "ok", the name of the errno, or how the
// process that tried it ended.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/fs.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/msg.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/quota.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static long fail(int e) { return errno = e, -1; }

static void say(const char *name, long r) {
	printf("%s %s\n", name, r < 0 ? strerrorname_np(errno) : "ok");
	fflush(stdout);
}

#define alone(name, call) do { \
	fflush(stdout); \
	if (fork() == 0) { say(name, (call)); _exit(0); } \
	int st; wait(&st); \
	if (WIFSIGNALED(st)) printf("%s signal %d\n", name, WTERMSIG(st)); \
} while (0)

static long sock(int family, int type, int proto) { return syscall(SYS_socket, family, type, proto); }

// clone3 with flags; the child ends at once.
static long clone3(unsigned long flags) {
	unsigned long args[11] = {flags, 0, 0, 0, SIGCHLD};
	long r = syscall(SYS_clone3, args, sizeof args);
	if (r == 0) _exit(0);
	return r;
}

static long sysclone(unsigned long flags) {
	long r = syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
	if (r == 0) _exit(0);
	return r;
}

// filtered puts a filter of its own on the process, which lets all pass.
static long filtered(unsigned flags) {
	struct sock_filter f[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog p = {1, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)) return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
}

// unfiltered is whether a filter of its own undoes the sandbox's.
static long unfiltered(void) {
	if (filtered(0)) return -1;
	return unshare(CLONE_NEWUSER);
}

// spliced is whether a pipe can change the pages of a file that is open for
// reading only.
static long spliced(const char *path) {
	int fd = open(path, O_RDONLY), p[2];
	char before[1], after[1];
	if (fd < 0 || pipe(p) || pread(fd, before, 1, 0) != 1) return -1;
	int size = fcntl(p[1], F_GETPIPE_SZ);
	static char page[65536];
	for (int i = 0; i < size;) i += write(p[1], page, size - i < 65536 ? size - i : 65536);
	for (int i = 0; i < size;) i += read(p[0], page, size - i < 65536 ? size - i : 65536);
	loff_t off = 0;
	if (splice(fd, &off, p[1], 0, 1, 0) != 1) return -1;
	char evil = before[0] + 1;
	off = 0;
	int q[2];
	if (pipe(q) || tee(p[0], q[1], 1, 0) != 1) return -1;
	struct iovec v = {&evil, 1};
	if (write(p[1], &evil, 1) != 1 || vmsplice(q[1], &v, 1, 0) != 1) return -1;
	if (pread(fd, after, 1, 0) != 1) return -1;
	return before[0] == after[0] ? fail(EROFS) : 0;
}

// memory writes into the pages of a file that it may only read, past its own
// protection.
static long memory(const char *path) {
	int fd = open(path, O_RDONLY), mem = open("/proc/self/mem", O_RDWR);
	char after[1];
	char *m = mmap(0, 1, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || mem < 0 || m == MAP_FAILED) return -1;
	char evil = *m + 1;
	long r = pwrite(mem, &evil, 1, (off_t)m);
	if (pread(fd, after, 1, 0) == 1 && after[0] == evil) return 0;
	return r < 0 ? -1 : fail(EROFS);
}

static long exec_memfd(void) {
	int fd = syscall(SYS_memfd_create, "x", 0), from = open("/bin/true", O_RDONLY);
	static char buf[1 << 16];
	for (ssize_t n; (n = read(from, buf, sizeof buf)) > 0;) if (write(fd, buf, n) != n) return -1;
	char *argv[] = {"true", 0};
	pid_t p = fork();
	if (p == 0) { syscall(SYS_execveat, fd, "", argv, argv + 1, 0x1000); _exit(errno); }
	int st;
	waitpid(p, &st, 0);
	return WEXITSTATUS(st) ? fail(WEXITSTATUS(st)) : 0;
}

// own is an operation on a child of its own, the twin of one on pid 1.
static pid_t own;

static long attach(pid_t p) {
	if (ptrace(PTRACE_SEIZE, p, 0, 0)) return -1;
	return ptrace(PTRACE_DETACH, p, 0, 0), 0;
}

static long pidfd_getfd(pid_t p) { return syscall(SYS_pidfd_getfd, syscall(SYS_pidfd_open, p, 0), 0, 0); }

static long opened(const char *p, int flags) { return open(p, flags | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }

// handled opens the root by a handle: the twin makes the handle.
static long handled(void) {
	struct { struct file_handle h; char room[128]; } h = {.h.handle_bytes = 128};
	int id;
	return name_to_handle_at(AT_FDCWD, "/", &h.h, &id, 0);
}

// pid1 opens a file of the first process, and reads what is no folder.
static long pid1(const char *file, int flags) {
	char p[64], byte;
	snprintf(p, sizeof p, "/proc/1/%s", file);
	int fd = opened(p, flags);
	if (fd < 0) return -1;
	return read(fd, &byte, 1) < 0 && errno != EISDIR ? -1 : 0;
}

int main(int argc, char **argv) {
	const char *dir = argc > 1 ? argv[1] : ".";
	static char zero[4096];
	char file[4096];
	int key = argc > 2 ? atoi(argv[2]) : 0;

	// Families of sockets that leave by other ways, or are rarely tested code.
	struct { const char *name; int family, type, proto; } families[] = {
		{"af-unix", AF_UNIX, SOCK_STREAM, 0}, {"nl-route", AF_NETLINK, SOCK_RAW, 0}, {"nl-audit", AF_NETLINK, SOCK_RAW, 9},
		{"nl-uevent", AF_NETLINK, SOCK_DGRAM, 15}, {"nl-netfilter", AF_NETLINK, SOCK_RAW, 12}, {"nl-generic", AF_NETLINK, SOCK_RAW, 16},
		{"nl-diag", AF_NETLINK, SOCK_RAW, 4}, {"nl-connector", AF_NETLINK, SOCK_DGRAM, 11}, {"nl-xfrm", AF_NETLINK, SOCK_RAW, 6},
		{"nl-crypto", AF_NETLINK, SOCK_RAW, 21}, {"nl-rdma", AF_NETLINK, SOCK_RAW, 20}, {"af-packet", AF_PACKET, SOCK_RAW, 0x300},
		{"af-packet-dgram", AF_PACKET, SOCK_DGRAM, 0x300}, {"af-vsock", AF_VSOCK, SOCK_STREAM, 0}, {"af-vsock-dgram", AF_VSOCK, SOCK_DGRAM, 0},
		{"af-alg", AF_ALG, SOCK_SEQPACKET, 0}, {"af-xdp", 44, SOCK_RAW, 0}, {"af-bluetooth", AF_BLUETOOTH, SOCK_RAW, 1},
		{"af-rxrpc", AF_RXRPC, SOCK_DGRAM, 2}, {"af-key", AF_KEY, SOCK_RAW, 2}, {"af-can", AF_CAN, SOCK_RAW, 1},
		{"af-tipc", AF_TIPC, SOCK_RDM, 0}, {"af-rds", 21, SOCK_SEQPACKET, 0}, {"af-smc", 43, SOCK_STREAM, 0},
		{"af-kcm", 41, SOCK_SEQPACKET, 0}, {"af-qipcrtr", 42, SOCK_DGRAM, 0}, {"af-nfc", 39, SOCK_SEQPACKET, 0},
		{"af-ib", 27, SOCK_DGRAM, 0}, {"af-mctp", 45, SOCK_DGRAM, 0}, {"af-llc", 26, SOCK_STREAM, 0}, {"af-x25", 9, SOCK_SEQPACKET, 0},
		{"af-ax25", 3, SOCK_DGRAM, 0}, {"af-appletalk", 5, SOCK_DGRAM, 0}, {"af-pppox", 24, SOCK_STREAM, 0}, {"af-caif", 37, SOCK_STREAM, 0},
		{"inet-icmp", AF_INET, SOCK_DGRAM, 1}, {"inet-udplite", AF_INET, SOCK_DGRAM, 136}, {"inet-sctp", AF_INET, SOCK_STREAM, 132},
		{"inet-mptcp", AF_INET, SOCK_STREAM, 262}, {"inet-dccp", AF_INET, 6, 33}, {"inet-tcp", AF_INET, SOCK_STREAM, 0},
		{"inet6-raw", AF_INET6, SOCK_RAW, 58}, {"inet-packet", AF_INET, SOCK_PACKET, 0x300},
	};
	for (size_t i = 0; i < sizeof families / sizeof *families; i++)
		alone(families[i].name, sock(families[i].family, families[i].type, families[i].proto));
	int pair[2];
	alone("pair-unix", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	alone("pair-rds", syscall(SYS_socketpair, 21, SOCK_SEQPACKET, 0, pair));

	// Every namespace, by each of the calls that make one.
	struct { const char *name; unsigned long flag; } spaces[] = {
		{"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS}, {"pid", CLONE_NEWPID}, {"net", CLONE_NEWNET},
		{"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS}, {"cgroup", CLONE_NEWCGROUP}, {"time", 0x80},
	};
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		char name[64], ns[64];
		unsigned long f = spaces[i].flag;
		snprintf(name, sizeof name, "unshare-%s", spaces[i].name);
		alone(name, unshare(f));
		snprintf(name, sizeof name, "unshare-user-%s", spaces[i].name);
		alone(name, unshare(CLONE_NEWUSER | f));
		if (f != 0x80) { // there it is a part of the signal's number
			snprintf(name, sizeof name, "clone-%s", spaces[i].name);
			alone(name, sysclone(f));
		}
		snprintf(name, sizeof name, "clone3-%s", spaces[i].name);
		alone(name, clone3(f));
		snprintf(name, sizeof name, "setns-%s", spaces[i].name);
		snprintf(ns, sizeof ns, "/proc/self/ns/%s", spaces[i].name);
		alone(name, syscall(SYS_setns, open(ns, O_RDONLY), 0));
		snprintf(name, sizeof name, "pid1-ns-%s", spaces[i].name);
		snprintf(ns, sizeof ns, "ns/%s", spaces[i].name);
		alone(name, pid1(ns, O_RDONLY));
	}
	alone("clone-fork", sysclone(0));
	alone("setns-pidfd", syscall(SYS_setns, syscall(SYS_pidfd_open, 1, 0), CLONE_NEWNS | CLONE_NEWNET));
	alone("ns-parent", ioctl(open("/proc/self/ns/user", O_RDONLY), 0xb702)); // NS_GET_PARENT

	// The file tree.
	alone("fsmount", syscall(SYS_fsmount, 0, 0, 0));
	alone("fsconfig", syscall(SYS_fsconfig, 0, 6, 0, 0, 0));
	alone("fspick", syscall(SYS_fspick, AT_FDCWD, "/", 0));
	alone("open_tree_attr", syscall(467, AT_FDCWD, "/", 1, zero, 32));
	alone("move_mount-fd", syscall(SYS_move_mount, open(dir, O_PATH), "", AT_FDCWD, "/tmp", 4));
	alone("remount-rw", mount(0, "/", 0, MS_REMOUNT | MS_BIND, 0));
	alone("mount-proc", mount("proc", dir, "proc", 0, 0));
	alone("mount-shared", mount(0, "/", 0, MS_SHARED | MS_REC, 0));
	alone("mount-move", mount("/proc", dir, 0, MS_MOVE, 0));
	alone("make-handle", handled());
	alone("fanotify", syscall(SYS_fanotify_init, 0x200 /* FAN_REPORT_FID */, O_RDONLY));
	alone("inotify", syscall(SYS_inotify_init1, 0));
	alone("quotactl", quotactl(QCMD(Q_SYNC, USRQUOTA), 0, 0, 0));
	alone("quotactl_fd", syscall(SYS_quotactl_fd, open(dir, O_RDONLY), QCMD(Q_GETFMT, USRQUOTA), 0, zero));
	snprintf(file, sizeof file, "%s/swap", dir);
	alone("swapon", swapon(file, 0));
	alone("swapoff", swapoff(file));
	alone("acct", syscall(SYS_acct, file));
	if (argc < 4) alone("chattr", ({ long f = FS_IMMUTABLE_FL; ioctl(open(dir, O_RDONLY), FS_IOC_SETFLAGS, &f); }));
	alone("fscrypt-add", ioctl(open(dir, O_RDONLY), 0xc0506617, zero)); // FS_IOC_ADD_ENCRYPTION_KEY
	alone("fscrypt-remove", ioctl(open(dir, O_RDONLY), 0xc0406618, zero));
	alone("fscrypt-remove-all", ioctl(open(dir, O_RDONLY), 0xc0406619, zero));
	alone("cifs-integrity", ioctl(open(dir, O_RDONLY), 0xcf04, zero)); // CIFS_IOC_SET_INTEGRITY
	alone("cifs-keys", ioctl(open(dir, O_RDONLY), 0xc03acf08, zero)); // _IOWR(0xCF, 8): CIFS_DUMP_KEY
	alone("fs-shutdown", ioctl(-1, 0x8004587d, zero)); // FS_IOC_SHUTDOWN, of no file
	snprintf(file, sizeof file, "%s/caps", dir);
	close(open(file, O_CREAT | O_WRONLY, 0755));
	alone("file-caps", setxattr(file, "security.capability", "\1\0\0\2\0\40\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20, 0));
	alone("trusted-attr", setxattr(file, "trusted.x", "x", 1, 0));

	// The kernel.
	alone("bpf-map", syscall(SYS_bpf, 0, zero, 48));
	alone("bpf-next", syscall(SYS_bpf, 11, zero, 48));
	alone("perf", ({ zero[4] = 64; long r = syscall(SYS_perf_event_open, zero, 0, -1, -1, 0); zero[4] = 0; r; }));
	alone("userfaultfd", syscall(SYS_userfaultfd, 1));
	alone("io_uring-enter", syscall(SYS_io_uring_enter, 0, 0, 0, 0, 0, 0));
	alone("io_uring-register", syscall(SYS_io_uring_register, -1, 0, 0, 0)); // without a ring
	alone("kexec", syscall(SYS_kexec_load, 0, 0, 0, 0));
	alone("module", syscall(SYS_finit_module, 0, "", 0));
	alone("module-old", syscall(SYS_init_module, zero, 0, ""));
	alone("module-out", syscall(SYS_delete_module, "bawn_none", 0));
	alone("reboot", syscall(SYS_reboot, 0, 0, 0, 0)); // without its magic numbers
	alone("syslog", syscall(SYS_syslog, 10, 0, 0));
	alone("settime", syscall(SYS_clock_settime, 9999, 0)); // no such clock: harmless where it is allowed
		alone("unknown-call", syscall(1023, 0, 0, 0));
	alone("personality", personality(READ_IMPLIES_EXEC));
	alone("personality-read", personality(0xffffffff));
	alone("personality-fixed", personality(ADDR_NO_RANDOMIZE));
	alone("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 21, 0, 0));
	alone("securebits", prctl(PR_SET_SECUREBITS, 0));
	alone("keepcaps", prctl(PR_CAPBSET_DROP, 21));
	alone("mm-map", prctl(PR_SET_MM, PR_SET_MM_START_BRK, sbrk(0), 0, 0));
	alone("privs-back", prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
	alone("filter-more", filtered(0));
	alone("filter-listener", filtered(8)); // a second one, to answer in the guard's place
	alone("filter-undone", unfiltered());
	alone("setfsuid", setfsuid(0) == (int)getuid() && setfsuid(-1) == 0 && getuid() ? 0 : fail(EPERM));
	alone("setgroups", ({ gid_t g = 0; syscall(SYS_setgroups, 1, &g); }));
	alone("setresuid", setresuid(-1, getuid() ? 0 : 65534, -1));
	alone("rlimit-up", ({ struct rlimit r; getrlimit(RLIMIT_NOFILE, &r); r.rlim_max += 1; setrlimit(RLIMIT_NOFILE, &r); }));
	alone("nice-up", setpriority(PRIO_PROCESS, 0, -10));
	alone("realtime", ({ struct sched_param s = {1}; sched_setscheduler(0, SCHED_FIFO, &s); }));
	alone("oom-protect", ({ int fd = open("/proc/self/oom_score_adj", O_WRONLY); write(fd, "-1000", 5); }));
	alone("splice-file", spliced("/etc/passwd"));
	alone("mem-file", memory("/etc/passwd"));
	alone("memfd-exec", exec_memfd());
#ifdef __x86_64__
	alone("iopl", syscall(SYS_iopl, 3));
	alone("ldt", syscall(SYS_modify_ldt, 1, zero, 16));
	alone("high-number", syscall(0x100000000L | SYS_unshare, CLONE_NEWUSER));
#endif

	alone("keyctl-join", syscall(SYS_keyctl, 1, "bawn-atk", 0, 0, 0));
	if (argc < 4) alone("keyctl-persistent", syscall(SYS_keyctl, 22, -1, -2, 0, 0));
	alone("keyctl-search", syscall(SYS_keyctl, 10, -4, "user", "bawn-atk", 0));
	alone("keyctl-link", syscall(SYS_keyctl, 8, -4, -2, 0, 0));

	// What host processes share, and the same of its own.
	alone("sem-host", semget(key, 0, 0));
	alone("sem-own", semget(IPC_PRIVATE, 1, IPC_CREAT | 0600));
	alone("msg-host", msgget(key, 0));
	alone("msg-own", msgget(IPC_PRIVATE, IPC_CREAT | 0600));
	snprintf(file, sizeof file, "/dev/shm/bawn-%d", key);
	alone("posix-shm-host", opened(file, O_RDWR));
	snprintf(file, sizeof file, "/dev/shm/bawn-own-%d", getpid());
	alone("posix-shm-own", opened(file, O_RDWR | O_CREAT | O_EXCL));
	unlink(file);

	// The first process of the sandbox: it holds the way to the host.
	const char *files[] = {"mem", "maps", "environ", "auxv", "stack", "syscall", "pagemap", "io", "personality", "fd/0", "fdinfo/0", "cwd/etc", "root/etc", "exe", "task/1/mem", "timerslack_ns"};
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		char name[64];
		snprintf(name, sizeof name, "pid1-%s", files[i]);
		alone(name, pid1(files[i], !strcmp(files[i], "mem") ? O_RDWR : O_RDONLY));
	}
	own = fork();
	if (own == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); for (;;) pause(); }
	alone("pid1-trace", attach(1));
	alone("own-trace", attach(own));
	alone("pid1-getfd", pidfd_getfd(1));
	alone("own-getfd", pidfd_getfd(own));
	alone("pid1-kcmp", syscall(SYS_kcmp, 1, getpid(), 0, 0, 0));
	alone("pid1-read", ({ struct iovec l = {zero, 8}, r = {main, 8}; process_vm_readv(1, &l, 1, &r, 1, 0); }));
	alone("pid1-write", ({ struct iovec l = {zero, 8}, r = {main, 8}; process_vm_writev(1, &l, 1, &r, 1, 0); }));
	alone("own-read", opened("/proc/self/mem", O_RDWR));
	alone("pid1-madvise", ({ struct iovec v = {main, 4096}; syscall(SYS_process_madvise, syscall(SYS_pidfd_open, 1, 0), &v, 1, MADV_PAGEOUT, 0); }));
	alone("pid1-mrelease", syscall(SYS_process_mrelease, syscall(SYS_pidfd_open, 1, 0), 0));
	alone("pid1-pages", syscall(SYS_move_pages, 1, 0, 0, 0, 0, 0));
	kill(own, SIGKILL), waitpid(own, 0, 0);
	// Last: it changes the namespace where it works.
	alone("umount-dev", umount2("/dev", MNT_DETACH));
	return 0;
}
