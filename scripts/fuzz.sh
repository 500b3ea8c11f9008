#!/bin/sh
# Runs every fuzz target, one after another, for FUZZTIME each (default 1m), from
# the inputs in testdata/corpora.tar.gz on. Arguments narrow the targets to
# folders: scripts/fuzz.sh internal/egress. A line for each tells how it went;
# what makes one fail is kept by go test in testdata/fuzz of its package, to be
# fixed and committed. With -k it runs nothing, and keeps in the archive what Go's
# cache has now.
set -eu
cd "$(dirname "$0")/.."

archive=testdata/corpora.tar.gz
cache=$(go env GOCACHE)/fuzz
mkdir -p "$cache"
if [ "${1:-}" = -k ]; then
	cd "$cache"
	find "$(basename "$(go -C "$OLDPWD" list -m)")" -type f | LC_ALL=C sort |
		tar -cf - --no-recursion --files-from=- --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 |
		gzip -9n >"$OLDPWD/$archive"
	exit
fi
[ ! -e "$archive" ] || tar -xzf "$archive" -C "$cache" --no-same-owner

[ $# -gt 0 ] || set -- .
out=$(mktemp)
targets=$(mktemp)
trap 'rm -f "$out" "$targets"' EXIT
trap 'exit 130' INT TERM
failed=
grep -rEo --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' "$@" | sed 's/func //; s/ //' | sort >"$targets"
while read -r found; do
	package=./$(dirname "${found%:*}") target=${found##*:}
	if go test -run '^$' -fuzz "^$target\$" -fuzztime "${FUZZTIME:-1m}" -parallel "${FUZZPARALLEL:-1}" "$package" >"$out" 2>&1 </dev/null; then
		echo "ok $package $target: $(grep '^fuzz: elapsed' "$out" | tail -n 1 | cut -d ' ' -f 2-)"
	else
		echo "FAILED $package $target"
		cat "$out"
		failed="$failed $package:$target"
	fi
done <"$targets"
if [ -n "$failed" ]; then
	echo "failed:$failed" >&2
	exit 1
fi
