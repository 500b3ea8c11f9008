#!/bin/sh
# Installs one release of bawn: the same for the dev container feature and the
# GitHub action. VERSION and SOURCE say which and from where (an https address
# or a folder with the archives and checksums.txt); PREFIX defaults to /usr/local.
set -eu

version=${VERSION:-}
source=${SOURCE:-}
case $version in
"" | latest) echo 'bawn: the option "version" must name a release, such as 1.2.3: there is no list of releases to look up the latest in' >&2; exit 1 ;;
esac
if [ -z "$source" ]; then
	echo 'bawn: the option "source" must say where the archives lie: bawn has no public download place yet. Build them with scripts/release.sh and give their https address, or a folder' >&2
	exit 1
fi
prefix=${PREFIX:-/usr/local}
case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) echo "bawn: no archive for $(uname -s)" >&2; exit 1 ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) echo "bawn: no archive for $(uname -m)" >&2; exit 1 ;;
esac

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fetch() {
	case $source in
	https://*) curl -fsSL --proto '=https' -o "$dir/$1" "$source/$1" ;;
	/*) cp "$source/$1" "$dir/$1" ;;
	*) echo "bawn: \"$source\" is neither an https address nor a folder" >&2; exit 1 ;;
	esac
}
name=bawn_${version#v}_${os}_${arch}
fetch checksums.txt
fetch "$name.tar.gz"
want=$(awk -v f="$name.tar.gz" '$2 == f {print $1}' "$dir/checksums.txt")
if command -v sha256sum >/dev/null; then
	got=$(sha256sum "$dir/$name.tar.gz")
else
	got=$(shasum -a 256 "$dir/$name.tar.gz")
fi
if [ -z "$want" ] || [ "${got%% *}" != "$want" ]; then
	echo "bawn: $name.tar.gz is not what checksums.txt says" >&2
	exit 1
fi
tar -xzf "$dir/$name.tar.gz" -C "$dir"
mkdir -p "$prefix/bin" "$prefix/share/man/man1" "$prefix/share/man/man5"
install -m 755 "$dir/$name/bawn" "$prefix/bin/bawn"
install -m 644 "$dir/$name/man/bawn.1" "$prefix/share/man/man1/bawn.1"
install -m 644 "$dir/$name/man/bawn-config.5" "$prefix/share/man/man5/bawn-config.5"
"$prefix/bin/bawn" version
