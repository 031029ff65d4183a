#!/bin/sh
# man.sh BUILD: puts the manual into BUILD/man. understudyctl(1), understudy.conf(5) and the table of
# understudy(7) are printed from the tables that the programs themselves use; the date is that of the
# changelog's entry.
set -eu
cd "$(dirname "$0")/.."
build=$1
to=$build/man
date=$(LC_ALL=C date -u -d "$(sed -n '/^ -- /{s/.*>  //p;q}' packaging/debian/changelog)" '+%B %-d, %Y')
rm -rf "$to"
mkdir -p "$to"
"$build/manual" >"$to/understudyctl.1"
{ cat man/understudy.conf.5.in && "$build/configuration" man && cat man/understudy.conf.5.tail; } >"$to/understudy.conf.5"
{
	cat man/understudy.7.in
	echo '.Bl -tag -width "repointer-dialer"'
	"$build/privileges" | sed -nE 's/^\| ([a-z-]+) \| (0|base \+ [0-9]+( \+ shard)?) \|.*\| ([^|]*) \|$/.It Cm \1\n\4/p' |
		sed -E '/^\.It/!s/-/\\-/g'
	echo '.El'
	cat man/understudy.7.tail
} >"$to/understudy.7"
cp man/understudyd.8 man/fence.3 "$to"
# A sentence begins on a line of its own, and no line is longer than 78: what manuals are written like.
for page in "$to"/*; do
	awk -v date="$date" '
		/^\.Dd / { print ".Dd " date; next }
		/^\.Bd / { plain = 1 }
		/^\.Ed/ { plain = 0 }
		plain || /^[.]/ || length == 0 { print; next }
		{
			line = ""
			for (i = 1; i <= NF; i++) {
				if (line != "" && length(line) + length($i) + 1 > 78) { print line; line = "" }
				line = line == "" ? $i : line " " $i
				if ($i ~ /[.!?]$/) { print line; line = "" }
			}
			if (line != "") print line
		}' "$page" >"$page.new"
	mv "$page.new" "$page"
done
