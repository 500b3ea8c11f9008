#!/bin/sh
# Vets every package, tests too, for each platform that bawn runs on, and builds
# the program and the library, without cgo. vet type-checks all that it reads, so
# tools of this repository are not linked for platforms where nobody runs them.
# Any argument replaces the list: scripts/crossbuild.sh linux/arm64
set -eu
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
	set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64 freebsd/amd64
fi
failed=
for platform; do
	echo "== $platform"
	# These two analyses read the standard library as well, which is most of vet's
	# time. They have read every file (but tables of numbers for arm64) on
	# linux/amd64, darwin/arm64 and windows/amd64: elsewhere they say nothing new.
	case $platform in
	linux/arm64 | darwin/amd64 | freebsd/*) less="-printf=false -lostcancel=false" ;;
	*) less= ;;
	esac
	# shellcheck disable=SC2086
	if ! (
		export CGO_ENABLED=0 GOOS="${platform%/*}" GOARCH="${platform#*/}"
		go build -o /dev/null . ./cmd/bawn && go vet $less ./...
	); then
		failed="$failed $platform"
	fi
done
if [ -n "$failed" ]; then
	echo "failed:$failed" >&2
	exit 1
fi
