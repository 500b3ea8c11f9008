package approval

import (
	"strconv"
	"strings"
)

// shown is text without anything that a terminal would act on, or that would
// turn or hide what stands around it.
func shown(s string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '·'
		}
		return r
	}, s)
}
