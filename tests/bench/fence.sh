#!/bin/sh
# What the question "does this hub lead" costs beside a bare read of its clock, with the C header and
# with the Go package: smallest of three runs each. Prints lines for `make bench`.
set -eu
cd "$(dirname "$0")/../.."
"${BUILD:-build}/bench/fence"
go=$(tools/go.sh)
cd fence
GOTOOLCHAIN=local GOWORK=off "$go" test -run '^$' -bench . -benchtime 0.5s -count 3 . | awk '
	/^Benchmark/ { name = $1; sub(/-[0-9]+$/, "", name); if (!(name in least) || $3 < least[name]) least[name] = $3 }
	END {
		ratio = least["BenchmarkIsLeader"] / least["BenchmarkClock"]
		printf "bench fence_clock_go %.1f ns target - ok\n", least["BenchmarkClock"]
		printf "bench fence_check_go %.1f ns target - ok\n", least["BenchmarkIsLeader"]
		printf "bench fence_check_go_ratio %.2f x target 1.30 %s\n", ratio, ratio <= 1.3 ? "ok" : "short"
	}'
