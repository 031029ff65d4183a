#!/bin/bash
# The tests of the Go parts (tools/gotest.sh, same arguments) as lines `ok - NAME` and `not ok -
# NAME: why`, one a package; what a failed test said stands before its line.
set -u
cd "$(dirname "$0")/.." || exit
output=$(mktemp)
trap 'rm -f "$output"' EXIT
tools/gotest.sh "$@" >"$output" 2>&1
code=$?
if [ "$code" -ne 0 ]; then
	grep -vE '^(ok|\?) ' "$output" | tail -n 60
fi
sed -nE 's/^ok[ \t]+([^ \t]+)[ \t].*/ok - Go tests of \1/p
	s/^FAIL[ \t]+([^ \t]+)[ \t].*/not ok - Go tests of \1: see above/p' "$output"
if [ "$code" -eq 0 ]; then
	echo 'ok - Go parts are formatted and vetted'
elif ! grep -q '^FAIL' "$output"; then
	echo "not ok - Go parts are formatted and vetted: $(tail -n 1 "$output" | head -c 400)"
fi
exit "$code"
