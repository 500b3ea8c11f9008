#!/bin/sh
set -eu
if [ -e /sys/kernel/security/apparmor/.remove ] && [ ! -e /usr/bin/bawn ]; then
	printf bawn >/sys/kernel/security/apparmor/.remove 2>/dev/null || true
fi
