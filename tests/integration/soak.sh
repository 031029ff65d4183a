#!/bin/sh
# `make soak`: leadership for long. 10^8 reads of a fence page beside a writer that never rests, in C
# and in Go; every situation on real API servers; then random faults: FAULTS of them, or for DURATION
# (as 90m), drawn from SEED. Ends with "soak: N faults, ..., 0 broken, ...", or with what broke and 1.
set -eu
cd "$(dirname "$0")/../.."
build=${BUILD:-build}
tools/kubebed.sh >/dev/null
tools/bed.sh >/dev/null
echo 'fence page, C:'
TORN_READS=100000000 "$build/tests/unit/elector_fence" 2>&1 | grep -E 'whole page|PASSED|FAILED'
echo 'fence page, Go:'
go=$(tools/go.sh)
(cd fence && TORN_READS=100000000 GOTOOLCHAIN=local GOWORK=off "$go" test -count=1 -v -run HalfAPage . | grep -E 'whole page|ok|FAIL')
"$build/bed" leader --dir "$build/soak.run"
if [ -n "${DURATION-}" ]; then
	set -- --for "$DURATION"
else
	set -- --faults "$FAULTS"
fi
"$build/bed" leader --dir "$build/soak.run" --seed "$SEED" "$@"
