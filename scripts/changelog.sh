#!/bin/sh
# Prints the changelog: one section for each release, the newest first. What is in
# changelog/unreleased becomes the section of VERSION; after a release it moves
# to changelog/VERSION/, with the day in a file "date".
#
#   scripts/changelog.sh VERSION [DATE]      for example: 1.2.3 2026-01-31
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../changelog"

if [ $# -lt 1 ]; then
	echo "usage: scripts/changelog.sh VERSION [DATE]" >&2
	exit 2
fi

for f in */*.md; do
	[ -s "$f" ] || { echo "changelog: $f is empty" >&2; exit 1; }
done

# Each file is one entry or some: lines that begin with "- ", or a paragraph. What
# concerns security comes first. A link leads from this folder, which packages
# do not have: its words stay.
section() { # TITLE FOLDER
	echo "## $1"
	echo
	for f in "$2"/*.md; do
		awk '
			FNR == 1 && !/^- / { $0 = "- " $0; paragraph = 1 }
			paragraph && FNR > 1 && NF { $0 = "  " $0 }
			NF { print }
		' "$f"
	done | sed -E 's/\[([^]]*)\]\([^)]*\)/\1/g' | awk '
		function flush() { if (entry != "") { if (entry ~ /^- Security:/) security = security entry; else rest = rest entry } entry = "" }
		/^- / { flush() }
		{ entry = entry $0 "\n" }
		END { flush(); printf "%s%s", security, rest }
	'
}

echo "# Changelog"
echo
section "${1#v}${2:+ ($2)}" unreleased
for dir in $(find . -mindepth 1 -maxdepth 1 -type d -name '[0-9]*' | sort -t. -k2,2nr -k3,3nr -k4,4nr); do
	echo
	section "${dir#./}$([ ! -s "$dir/date" ] || echo " ($(cat "$dir/date"))")" "$dir"
done
