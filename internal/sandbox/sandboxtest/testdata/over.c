// over FROM ONTO [FROM ONTO…] -- CMD…: mounts FROM on ONTO in a mount namespace of its own,
// gives up what allowed it, and becomes CMD.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

static void put(const char *file, const char *text) {
	int fd = open(file, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0) perror(file), _exit(3);
	close(fd);
}

int main(int argc, char **argv) {
	int uid = getuid(), gid = getgid(), i = 1;
	if (unshare(uid ? CLONE_NEWUSER | CLONE_NEWNS : CLONE_NEWNS)) return perror("unshare"), 3;
	if (uid) {
		char map[64];
		put("/proc/self/setgroups", "deny");
		snprintf(map, sizeof map, "%d %d 1", uid, uid), put("/proc/self/uid_map", map);
		snprintf(map, sizeof map, "%d %d 1", gid, gid), put("/proc/self/gid_map", map);
	}
	if (mount("none", "/", 0, MS_REC | MS_PRIVATE, 0)) return perror("private"), 3;
	for (; i + 1 < argc && strcmp(argv[i], "--"); i += 2)
		if (mount(argv[i], argv[i + 1], 0, MS_BIND | MS_REC, 0)) return perror(argv[i + 1]), 3;
	execvp(argv[i + 1], argv + i + 1); // a user other than 0 loses the capabilities here
	return perror(argv[i + 1]), 3;
}
