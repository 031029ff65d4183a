#!/bin/sh
# Runs the unit tests given as arguments, one line each, the output of those that fail, and last
# the count of test functions: "N passed, N failed".
passed=0 failed=0
for test; do
	output=$(timeout -s KILL 120 "$test" 2>&1)
	code=$?
	ok=$(printf '%s\n' "$output" | sed -n 's/^\[  PASSED  \] \([0-9]*\) test.*/\1/p' | tail -n 1)
	bad=$(printf '%s\n' "$output" | sed -n 's/^\[  FAILED  \] \([0-9]*\) test.*/\1/p' | head -n 1)
	ok=${ok:-0} bad=${bad:-0}
	# A test that crashed, or ran nothing, failed.
	if [ "$code" -ne 0 ] && [ "$bad" -eq 0 ] || [ "$ok" -eq 0 ] && [ "$bad" -eq 0 ]; then
		bad=1
	fi
	passed=$((passed + ok)) failed=$((failed + bad))
	printf '%-40s %3d passed, %d failed\n' "$(basename "$test")" "$ok" "$bad"
	[ "$bad" -eq 0 ] || printf '%s\n' "$output" | tail -n 60
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
