#!/bin/sh
# Takes the pictures of docs/pictures from the program as it is now: each is a
# real session on a pseudo-terminal, in a home and a workspace made for it.
set -eu
cd "$(dirname "$0")/.."
out=$PWD/docs/pictures
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -o "$dir/bawn" ./cmd/bawn
CGO_ENABLED=0 go build -o "$dir/shot" ./internal/tools/shot
mkdir -p "$dir/home/.ssh" "$dir/home/work/shop"
echo key >"$dir/home/.ssh/id_ed25519"
echo '{}' >"$dir/home/work/shop/package.json"
cd "$dir/home/work/shop"

take() { # NAME; the script is standard input
	cat >"$dir/script"
	env -i HOME="$dir/home" PATH=/usr/bin:/bin LANG=C.UTF-8 TERM=xterm-256color XDG_STATE_HOME="$dir/state" XDG_RUNTIME_DIR="$dir" \
		"$dir/shot" -size 90x22 -keys "$dir/script" -o "$out/$1.svg" -- "$dir/bawn"
	# The folder has another name each time.
	sed -i "s|$dir/home|/home/me|g" "$out/$1.svg"
}

take session <<'E'
wait 0 allowed
type "ls; cat ~/.ssh/id_ed25519\r"
wait exit 1
type "python3 -m http.server 8000 &\r"
wait task 2
type "curl -s --retry 9 --retry-connrefused http://127.0.0.1:8000/package.json\r"
wait {}
wait exit 0
E
take question <<'E'
wait 0 allowed
type "host=example.org; curl -sS https://$host\r"
wait bawn asks
pause 500ms
E
take tier <<'E'
wait 0 allowed
type "vim.tiny package.json\r"
wait package.json
wait {}
pause 300ms
type "\x1bs"
wait Sandbox: airlock
E
