//go:build unix && !darwin

package sandbox

import (
	"bufio"
	"os"
	"strconv"
	"strings"

	"bawn/internal/policy"
)

func (in *inspector) macOS(*policy.Config, Request) error { return nil }

func macCredentials([]string) []policy.PathRule { return nil }
func macCaches(string) []policy.PathRule        { return nil }

func onDisk(rules []policy.PathRule) []policy.PathRule { return rules }

func diskPath(path string) (string, error) { return path, nil }

// systemHome reads uid's home from /etc/passwd; "" if it is not there.
func systemHome(uid int) string {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return ""
	}
	defer f.Close()
	want := strconv.Itoa(uid)
	for sc := bufio.NewScanner(f); sc.Scan(); {
		if field := strings.Split(sc.Text(), ":"); len(field) >= 7 && field[2] == want {
			return field[5]
		}
	}
	return ""
}
