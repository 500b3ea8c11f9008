// probe reads one operation per line (op TAB path [TAB second]) and answers
// each with one line: "ok", "ok TAB content", or the name of the errno.
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

static int fd_close(int fd) {
	if (fd < 0) return -1;
	close(fd);
	return 0;
}

static char content[65536];

static int do_read(const char *p) {
	int fd = open(p, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd < 0) return -1;
	ssize_t n = read(fd, content, sizeof content - 1);
	int e = errno;
	close(fd);
	if (n < 0 && e == EISDIR) return 0; // a folder that opens can be listed
	if (n < 0) return errno = e, -1;
	content[n] = 0;
	for (ssize_t i = 0; i < n; i++)
		if (content[i] == '\n' || content[i] == '\t' || content[i] == 0) content[i] = ' ';
	return 0;
}

static int do_list(const char *p) {
	DIR *d = opendir(p);
	if (!d) return -1;
	size_t n = 0;
	for (struct dirent *e; (e = readdir(d));) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..")) continue;
		if (n + strlen(e->d_name) + 2 > sizeof content) break;
		n += sprintf(content + n, "%s ", e->d_name);
	}
	closedir(d);
	return 0;
}

static int do_unix(const char *name, int abstract, int listening) {
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = strlen(name);
	if (n + 1 > sizeof a.sun_path) return errno = ENAMETOOLONG, -1;
	memcpy(a.sun_path + abstract, name, n);
	socklen_t len = sizeof a.sun_family + n + 1;
	for (int type = SOCK_STREAM;;) {
		int s = socket(AF_UNIX, type, 0);
		if (s < 0) return -1;
		if (listening) return bind(s, (void *)&a, len) ? -1 : listen(s, 8);
		int r = connect(s, (void *)&a, len), e = errno;
		close(s);
		if (r == 0 || e != EPROTOTYPE) return errno = e, r;
		type = type == SOCK_STREAM ? SOCK_DGRAM : SOCK_SEQPACKET;
	}
}

// do_walk lists what below root can be opened for writing and is no process.
static size_t walked;
static int do_walk(const char *root, int top) {
	DIR *d = opendir(root);
	if (!d) return 0;
	for (struct dirent *e; (e = readdir(d));) {
		char p[4096];
		struct stat st;
		if (e->d_name[0] == '.' || (top && e->d_name[0] >= '0' && e->d_name[0] <= '9')) continue;
		if (snprintf(p, sizeof p, "%s/%s", root, e->d_name) >= (int)sizeof p || lstat(p, &st)) continue;
		if (S_ISDIR(st.st_mode)) do_walk(p, 0);
		if (S_ISLNK(st.st_mode)) continue;
		walked++;
		if (access(p, W_OK)) continue;
		if (S_ISCHR(st.st_mode)) { // a mask: a device on a mount without devices
			if (fd_close(open(p, O_WRONLY | O_NONBLOCK)) && errno == EACCES) continue;
		}
		size_t n = strlen(content);
		if (n + strlen(p) + 2 < sizeof content) sprintf(content + n, "%s ", p);
	}
	closedir(d);
	return 0;
}

static int do_trace(pid_t p) {
	if (ptrace(PTRACE_SEIZE, p, 0, 0)) return -1;
	ptrace(PTRACE_DETACH, p, 0, 0);
	return 0;
}

static int run(const char *op, const char *a, const char *b) {
#define IS(s) (!strcmp(op, s))
	if (IS("read")) return do_read(a);
	if (IS("list")) return do_list(a);
	if (IS("write")) return fd_close(open(a, O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY));
	if (IS("creat")) return fd_close(open(a, O_WRONLY | O_CREAT | O_EXCL | O_NOCTTY, 0600));
	if (IS("fill")) {
		int fd = open(a, O_WRONLY | O_CREAT | O_TRUNC, 0644);
		if (fd < 0) return -1;
		int r = write(fd, b, strlen(b)) < 0;
		return close(fd), -r;
	}
	if (IS("truncate")) return truncate(a, 0);
	if (IS("mkdir")) return mkdir(a, 0755);
	if (IS("rmdir")) return rmdir(a);
	if (IS("unlink")) return unlink(a);
	if (IS("rename")) return rename(a, b);
	if (IS("exchange")) return renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE);
	if (IS("link")) return link(a, b);
	if (IS("symlink")) return symlink(a, b);
	if (IS("mkfifo")) return mkfifo(a, 0600);
	if (IS("mknodc")) return mknod(a, S_IFCHR | 0600, makedev(1, 3));
	if (IS("chmod")) return chmod(a, 0777);
	if (IS("chdir")) return chdir(a);
	if (IS("stat")) { struct stat st; return stat(a, &st); }
	if (IS("access")) return access(a, W_OK);
	if (IS("readlink")) {
		ssize_t n = readlink(a, content, sizeof content - 1);
		return n < 0 ? -1 : (content[n] = 0);
	}
	if (IS("connect")) return do_unix(a, 0, 0);
	if (IS("abstract")) return do_unix(a, 1, 0);
	if (IS("listen")) return do_unix(a, 0, 1);
	if (IS("listenabstract")) return do_unix(a, 1, 1);
	if (IS("walk")) {
		walked = 0;
		do_walk(a, !strcmp(a, "/proc"));
		size_t n = strlen(content);
		sprintf(content + n, "| %zu", walked);
		return 0;
	}
	if (IS("kill")) return kill(atoi(a), SIGKILL);
	if (IS("trace")) return do_trace(atoi(a));
	if (IS("peek")) {
		char buf[8];
		struct iovec l = {buf, 8}, r = {(void *)run, 8};
		return process_vm_readv(atoi(a), &l, 1, &r, 1, 0) < 0 ? -1 : 0;
	}
	if (IS("fork")) { // a child that waits for its end
		pid_t p = fork();
		if (p == 0) for (;;) pause();
		sprintf(content, "%d", p);
		return p < 0 ? -1 : 0;
	}
	if (IS("reap")) {
		int st;
		if (waitpid(atoi(a), &st, 0) < 0) return -1;
		sprintf(content, "%d", WIFSIGNALED(st) ? WTERMSIG(st) : 0);
		return 0;
	}
	if (IS("getenv")) {
		const char *v = getenv(a);
		if (!v) return errno = ENODATA, -1;
		snprintf(content, sizeof content, "%s", v);
		return 0;
	}
	return errno = ENOTSUP, -1;
}

int main(void) {
	char *line = NULL;
	size_t cap = 0;
	for (ssize_t n; (n = getline(&line, &cap, stdin)) > 0;) {
		if (line[n - 1] == '\n') line[n - 1] = 0;
		char *op = strsep(&line, "\t");
		char *a = line ? strsep(&line, "\t") : "", *b = line ? line : "";
		content[0] = 0;
		if (run(op, a, b)) printf("%s\n", strerrorname_np(errno));
		else printf(content[0] ? "ok\t%s\n" : "ok\n", content);
		fflush(stdout);
		line = NULL; // getline's buffer was cut up: a new one each time
		cap = 0;
	}
	return 0;
}
