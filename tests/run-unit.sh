#!/bin/sh
# Runs the unit tests given as arguments, one line each, the output of those that fail, and last
# the count of test functions: "N passed, N failed", and ", N skipped" where a build with sanitizers
# leaves out what only a real sandbox can show.
count() { # OUTPUT WORD: the number behind cmocka's word
	printf '%s\n' "$1" | sed -n "s/^\[ *$2 *\] \([0-9]*\) test.*/\1/p" | head -n 1
}
passed=0 failed=0 skipped=0
for test; do
	output=$(timeout -s KILL 600 "$test" 2>&1)
	code=$?
	ok=$(count "$output" PASSED) bad=$(count "$output" FAILED) out=$(count "$output" SKIPPED)
	ok=${ok:-0} bad=${bad:-0} out=${out:-0}
	# A test that crashed, or said nothing at all, failed.
	if [ "$bad" -eq 0 ] && { [ "$code" -ne 0 ] || [ $((ok + out)) -eq 0 ]; }; then
		bad=1
	fi
	passed=$((passed + ok)) failed=$((failed + bad)) skipped=$((skipped + out))
	printf '%-40s %3d passed, %d failed\n' "$(basename "$test")" "$ok" "$bad"
	[ "$bad" -eq 0 ] || printf '%s\n' "$output" | tail -n 60
done
[ "$skipped" -eq 0 ] || left=", $skipped skipped"
echo "$passed passed, $failed failed${left-}"
[ "$failed" -eq 0 ]
