#!/bin/sh
# What vet does not look for: staticcheck, for each system that bawn runs on,
# and gosec. Neither is a dependency: each is built by its version, once.
set -eu
cd "$(dirname "$0")/.."
export CGO_ENABLED=0

staticcheck=honnef.co/go/tools/cmd/staticcheck@v0.8.2
gosec=github.com/securego/gosec/v2/cmd/gosec@v2.30.0

tools=$(mktemp -d)
trap 'rm -rf "$tools"' EXIT
GOBIN=$tools go install "$staticcheck"
GOBIN=$tools go install "$gosec"

"$tools/staticcheck" ./...
for system in darwin windows freebsd; do
	# What only another system uses is unused there.
	GOOS=$system "$tools/staticcheck" -checks inherit,-U1000 ./...
done

# Rules that do not hold here:
#   G103       unsafe: system calls that Go's packages have no function for
#   G104       errors: those of Close and of deadlines, after which nothing depends on the file
#   G115       conversions: of descriptors, and of numbers that were bounded where they were read
#   G204 G702  commands that are not constant: to run those is what bawn is for
#   G304 G703  paths that are not constant: nor are they; those that a command could turn
#              elsewhere are opened beneath a descriptor, which tests hold (docs/cases.md)
# Folders of which no release has anything: measurements, tests, what writes generated files.
"$tools/gosec" -quiet -exclude=G103,G104,G115,G204,G304,G702,G703 \
	-exclude-dir=bench -exclude-dir=testdata -exclude-dir=internal/tools -exclude-dir=internal/sandbox/sandboxtest \
	-exclude-dir=internal/config/reference/gen -exclude-dir=internal/sandbox/linux/filter/gen \
	-nosec-require-rules -nosec-require-justification ./...
