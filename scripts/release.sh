#!/bin/sh
# Builds what a release consists of into dist/ (or $DIST): an archive per platform with
# its checksum, deb and rpm packages, and npm packages. The same sources,
# version and Go make the same bytes.
#
#   scripts/release.sh VERSION [PLATFORM…]      for example: 1.2.3 linux/amd64
set -eu
umask 022
cd "$(dirname "$0")/.."

if [ $# -lt 1 ]; then
	echo "usage: scripts/release.sh VERSION [PLATFORM…]" >&2
	exit 2
fi
version=${1#v}
shift
case $version in
[0-9]*.[0-9]*.[0-9]*) ;;
*)
	echo "release: \"$version\" is no version: it is MAJOR.MINOR.PATCH" >&2
	exit 2
	;;
esac
[ $# -gt 0 ] || set -- linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64

# Times in archives: the last commit's, unless the caller says another.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH CGO_ENABLED=0
# What the caller has set for builds of their own changes bytes, or asks for a
# newer processor.
export GOAMD64=v1 GOARM64=v8.0 GOFIPS140=off GOFLAGS=-mod=readonly
unset GOEXPERIMENT
out=$(pwd)/${DIST:-dist}
case ${DIST:-} in /*) out=$DIST ;; esac
rm -rf "$out"
mkdir -p "$out/files"

build() { # OS ARCH FILE
	GOOS=$1 GOARCH=$2 go build -trimpath -buildvcs=false -ldflags "-s -w -buildid= -X main.version=$version" -o "$3" ./cmd/bawn
}

# The program for this machine writes its own completions and manual.
build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$out/files/host"
for shell in bash zsh fish; do
	"$out/files/host" completion $shell >"$out/files/bawn.$shell"
done
"$out/files/host" completion man >"$out/files/bawn.1"
"$out/files/host" completion man-config >"$out/files/bawn-config.5"
scripts/changelog.sh "$version" "$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%d)" >"$out/files/CHANGELOG.md"
for f in bawn.1 bawn-config.5; do
	gzip -9n <"$out/files/$f" >"$out/files/$f.gz"
done
gzip -9n <"$out/files/CHANGELOG.md" >"$out/files/CHANGELOG.gz"

archive() { # FOLDER: its contents as FOLDER.tar.gz
	tar -C "$out" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rw,go=rX \
		-cf - "$1" | gzip -9n >"$out/$1.tar.gz"
	rm -r "${out:?}/$1"
}

for platform; do
	os=${platform%/*} arch=${platform#*/}
	name=bawn_${version}_${os}_${arch}
	exe=bawn
	[ "$os" != windows ] || exe=bawn.exe
	mkdir -p "$out/$name"
	build "$os" "$arch" "$out/$name/$exe"
	mkdir -p "$out/files/$os-$arch"
	cp "$out/$name/$exe" "$out/files/$os-$arch/"
	cp README.md "$out/files/CHANGELOG.md" "$out/$name/"
	if [ "$os" != windows ]; then
		mkdir -p "$out/$name/completions" "$out/$name/man"
		cp "$out/files/bawn.bash" "$out/files/bawn.zsh" "$out/files/bawn.fish" "$out/$name/completions/"
		cp "$out/files/bawn.1" "$out/files/bawn-config.5" "$out/$name/man/"
	fi
	[ "$os" != linux ] || cp packaging/apparmor "$out/$name/apparmor-profile"
	archive "$name"

	if [ "$os" = linux ]; then
		for kind in deb rpm; do
			ARCH=$arch VERSION=$version BINARY="$out/files/$os-$arch/bawn" FILES="$out/files" \
				go -C packaging/tools tool nfpm package -f ../nfpm.yaml -p $kind -t "$out/" >"$out/files/nfpm.log" 2>&1 || {
				cat "$out/files/nfpm.log" >&2
				exit 1
			}
		done
	fi
done
packaging/npm/build.sh "$version" "$out" "$@"

rm -r "$out/files"
cd "$out"
for f in *.tar.gz *.deb *.rpm *.tgz; do
	[ ! -e "$f" ] || sha256sum -- "$f"
done >checksums.txt
[ -s checksums.txt ]
cat checksums.txt
