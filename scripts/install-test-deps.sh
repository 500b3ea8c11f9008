#!/bin/sh
# Installs what the tests run inside the sandbox. Does nothing where all of it
# is there already, or where this user cannot install packages.
set -eu

need=""
have() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ]; }
want() { have "$1" || need="$need $2"; }

want bwrap bubblewrap
want git git
want gcc gcc
want make make
want curl curl
want tmux tmux
want strace strace
want gdb gdb
want javac default-jdk-headless
want python3 python3
want node nodejs
want npm npm
want poetry python3-poetry
[ -x /usr/bin/cargo ] || need="$need cargo" # for every user, unlike one in a home
want keyctl keyutils
want at at
want crontab cron
want busybox busybox-static
want ssh-agent openssh-client
want sshd openssh-server
want psql postgresql-client
want nsenter util-linux
want ss iproute2
want script bsdutils
want vim.tiny vim-tiny
want useradd passwd
want ip iproute2
want dbus-daemon dbus-daemon
want dbus-send dbus-bin
want chromium-headless-shell chromium-headless-shell
want pgrep procps
want zsh zsh
want fish fish
want groff groff-base
want rpm rpm
want shellcheck shellcheck
want setpriv util-linux
want rg ripgrep # an agent looks for files by it, and would load it
want mkfs.ext4 e2fsprogs
[ -e /usr/include/stdio.h ] || need="$need libc6-dev"
python3 -c 'import venv, ensurepip' 2>/dev/null || need="$need python3-venv"

[ -n "$need" ] || exit 0
if [ "$(id -u)" != 0 ] || ! have apt-get; then
	echo "these packages are needed by the tests:$need" >&2
	exit 1
fi
export DEBIAN_FRONTEND=noninteractive
apt-get update -q
# shellcheck disable=SC2086
apt-get install -y -q --no-install-recommends $need
