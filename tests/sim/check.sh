#!/bin/bash
# Goal: whole pairs hold their invariants in every schedule (leadership-rules 4). Method: the written
# stories, then random schedules; `make sim` runs more of them (the same seed is the
# same run). One "ok - " line for each.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
output=$("$build"/sim/sim --out "$build"/sim --seeds "${1:-2000}" tests/sim/stories/*.story 2>&1)
code=$?
stories=$(grep '^stories: ' <<<"$output")
schedules=$(grep '^sim: [0-9]* schedules' <<<"$output")
case $stories in
*', 0 not') echo "ok - $stories" ;;
*) echo "not ok - $stories: $(grep -m 3 -E 'differs|broken' <<<"$output" | tr '\n' ' ')" ;;
esac
if [ "$code" -eq 0 ] || { [ "${stories%, 0 not}" = "$stories" ] && grep -q ' 0 broken, 0 rows not hit$' <<<"$schedules"; }; then
	echo "ok - $schedules"
else
	echo "not ok - $schedules: $(grep -m 5 -E '^broken|^row |^replay|CHECK' <<<"$output" | tr '\n' ' ')"
fi
# Workers: the files of repointer/ and follower/ themselves, in a hundredth as many schedules.
if workers=$("$build"/sim/workers --seeds $((${1:-2000} / 100)) 2>&1); then
	echo "ok - ${workers##*$'\n'}"
else
	echo "not ok - $(tr '\n' ' ' <<<"$workers" | head -c 1000)"
	code=1
fi
# The mirror: all of syncer/, in a two-hundredth as many, and those that once broke.
if mirror=$("$build"/sim/mirror --list tests/sim/mirror/seeds --seeds $((${1:-2000} / 200)) 2>&1); then
	echo "ok - mirror, known ${mirror%%$'\n'*}; ${mirror##*$'\n'}"
else
	echo "not ok - $(tr '\n' ' ' <<<"$mirror" | head -c 1000)"
	code=1
fi
if tests/sim/sequences.sh | cmp -s - docs/sequences.md; then
	echo 'ok - docs/sequences.md is what the stories say'
else
	echo 'not ok - docs/sequences.md is what the stories say: tests/sim/sequences.sh >docs/sequences.md'
	code=1
fi
exit "$code"
