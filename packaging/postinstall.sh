#!/bin/sh
# The profile is loaded where AppArmor knows the rule it is made of; elsewhere
# bawn needs none, and an old parser's complaint must not break the package.
set -eu
if [ -e /etc/apparmor.d/bawn ] && [ -e /sys/module/apparmor/parameters/enabled ] && [ -e /etc/apparmor.d/abi/4.0 ]; then
	apparmor_parser -r -T -W /etc/apparmor.d/bawn || true
fi
