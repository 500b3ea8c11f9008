//go:build unix && !darwin

package sandbox

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// maxOwners bounds the folders whose owner is looked at.
const maxOwners = 4096

func systemHomes(uid int) []string { return homesIn(uid, "/etc/passwd", "/home") }

// homesIn are uid's homes as the system knows them: the one in the password file.
// Users of a directory service are not there, and to ask the service may take for
// ever: theirs are all folders of theirs in /home, or one further down (a folder of
// root's for each domain).
func homesIn(uid int, passwd, all string) []string {
	if home, ok := passwdHome(uid, passwd); ok {
		return []string{home}
	}
	if uid == 0 {
		return []string{"/root"}
	}
	var out []string
	left := maxOwners
	var look func(dir string, deeper bool)
	look = func(dir string, deeper bool) {
		entries, _, err := readFolder(dir, false)
		if err != nil {
			return
		}
		for _, e := range entries {
			path := dir + "/" + e.Name
			var st unix.Stat_t
			if e.Kind != KindDir || unix.Lstat(path, &st) != nil {
				continue
			}
			if left--; left < 0 {
				return
			}
			switch {
			case int(st.Uid) == uid:
				out = append(out, path)
			case deeper && (st.Uid == 0 || st.Uid == overflowUID):
				look(path, false)
			}
		}
	}
	look(all, true)
	return out
}

// overflowUID owns, in a user namespace, what belongs to nobody in it.
const overflowUID = 65534

// passwdHome reads uid's home from a password file; ok is false if uid is not in
// it. A line may be of any length.
func passwdHome(uid int, file string) (home string, ok bool) {
	fd, err := unix.Open(file, unix.O_RDONLY|unix.O_CLOEXEC, 0) // by os.Open Go's poller would start
	if err != nil {
		return "", false
	}
	f := os.NewFile(uintptr(fd), file)
	defer f.Close()
	want := strconv.Itoa(uid)
	for r := bufio.NewReader(f); ; {
		line, err := r.ReadString('\n')
		if field := strings.Split(strings.TrimSuffix(line, "\n"), ":"); len(field) >= 7 && field[2] == want {
			return field[5], true
		}
		if err != nil {
			return "", false
		}
	}
}
