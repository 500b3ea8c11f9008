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
	if ! (
		export CGO_ENABLED=0 GOOS="${platform%/*}" GOARCH="${platform#*/}"
		go build -o /dev/null . ./cmd/bawn && go vet ./...
	); then
		failed="$failed $platform"
	fi
done
if [ -n "$failed" ]; then
	echo "failed:$failed" >&2
	exit 1
fi
