#!/bin/sh
# Packs the npm packages: one with the program for each platform, and the one
# that people install, which depends on them optionally. Nothing is downloaded
# and no script runs at install time.
set -eu
cd "$(dirname "$0")/../.."
version=$1 out=$2
shift 2

optional=
for platform; do
	os=${platform%/*} arch=${platform#*/} cpu=${platform#*/} exe=bawn
	[ "$arch" != amd64 ] || cpu=x64
	case $os in
	windows) node=win32 exe=bawn.exe ;;
	*) node=$os ;;
	esac
	name=bawn-sandbox-$node-$cpu
	dir=$out/files/npm/$name
	mkdir -p "$dir/bin"
	cp "$out/files/$os-$arch/$exe" "$dir/bin/$exe"
	chmod 755 "$dir/bin/$exe"
	cat >"$dir/package.json" <<JSON
{
  "name": "$name",
  "version": "$version",
  "description": "bawn for $node-$cpu; install bawn-sandbox",
  "os": ["$node"],
  "cpu": ["$cpu"],
  "files": ["bin"]
}
JSON
	optional="$optional${optional:+,}
    \"$name\": \"$version\""
	(cd "$out" && npm pack --silent --ignore-scripts "./files/npm/$name" >/dev/null)
done

dir=$out/files/npm/bawn-sandbox
mkdir -p "$dir/bin"
cp packaging/npm/bawn.js "$dir/bin/bawn.js"
chmod 755 "$dir/bin/bawn.js"
cp README.md "$out/files/CHANGELOG.md" "$dir/"
cat >"$dir/package.json" <<JSON
{
  "name": "bawn-sandbox",
  "version": "$version",
  "description": "A sandbox for the shell commands of AI coding agents",
  "bin": {"bawn": "bin/bawn.js"},
  "files": ["bin"],
  "engines": {"node": ">=16"},
  "optionalDependencies": {$optional
  }
}
JSON
(cd "$out" && npm pack --silent --ignore-scripts "./files/npm/bawn-sandbox" >/dev/null)
