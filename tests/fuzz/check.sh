#!/bin/bash
# Gives each fuzzer its corpus, in the build that is tested: one line `ok - ` or `not ok - ` each. A crash
# that `make fuzz` found once stays found.
set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
failed=0
for path in tests/fuzz/*.c; do
	name=$(basename "$path" .c)
	[ "$name" != replay ] || continue
	files=("tests/fuzz/corpus/$name"/*)
	if [ ! -e "${files[0]}" ]; then
		failed=1
		echo "not ok - corpus $name: there is none"
	elif output=$("$build/fuzz/$name" "${files[@]}" 2>&1 >/dev/null); then
		echo "ok - corpus $name: ${#files[@]} inputs and their beginnings"
	else
		failed=1
		echo "not ok - corpus $name: $(printf '%s' "$output" | grep -v ' info \| warn ' | tail -n 1 | head -c 300)"
	fi
done
exit $failed
