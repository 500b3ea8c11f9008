#!/bin/sh
# Runs the macOS suite on a Mac and writes a report that can be sent with an
# issue: versions, what doctor finds, and every test with its outcome. It
# contacts no host but the registry of Go modules, if they are not there yet,
# and 192.0.2.1, which is nobody's.
set -u
cd "$(dirname "$0")/.." || exit 1

[ "$(uname -s)" = Darwin ] || { echo "verify-macos.sh: this is no Mac" >&2; exit 2; }
command -v go >/dev/null || { echo "verify-macos.sh: Go 1.26 is needed: https://go.dev/dl" >&2; exit 2; }

report=${1:-verify-macos.txt}
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

step() {
	echo "== $*"
	"$@" 2>&1 || { failed=1; echo "-- failed: $*"; }
}

{
	echo "bawn $(git rev-parse --short HEAD 2>/dev/null) on macOS $(sw_vers -productVersion) $(uname -m), Darwin $(uname -r), $(go version | cut -d' ' -f3)"
	csrutil status 2>/dev/null
	diskutil info / 2>/dev/null | grep -i 'file system personality'
	step go build -o "$work/bawn" ./cmd/bawn
	step "$work/bawn" doctor
	step go test -count=1 -v ./internal/sandbox/seatbelt/...
	step go test -count=1 ./internal/policy ./internal/gitdir ./internal/egress ./internal/session ./internal/sandbox ./cmd/bawn
	# What the kernel refused meanwhile: paths below the tests' own folders.
	echo "== refusals in the log"
	log show --last 5m --style compact --predicate 'sender == "Sandbox" AND eventMessage CONTAINS "deny"' 2>/dev/null | grep -v 'deny(1) file-' | sed 's/.*deny/deny/' | sort | uniq -c | sort -rn | head -40
} >"$work/report"

# The user's name and home are nobody's business.
sed -e "s|$HOME|~|g" -e "s|$(id -un)|USER|g" "$work/report" >"$report"
grep -E '^(--- FAIL|FAIL|-- failed)' "$report"
if [ "$failed" = 0 ]; then echo "all passed; the report is in $report"; else echo "some failed; please send $report"; fi
exit "$failed"
