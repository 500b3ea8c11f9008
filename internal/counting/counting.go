// Package counting is how numbers are written for people.
package counting

import "fmt"

// Count is a number with what it counts: many of them, or one with an s.
func Count(n int, one string, many ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(many) > 0:
		return fmt.Sprintf("%d %s", n, many[0])
	}
	return fmt.Sprintf("%d %ss", n, one)
}
