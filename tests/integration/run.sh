#!/bin/bash
# The part of `make check` that needs real API servers or root, as lines `ok - NAME` and
# `not ok - NAME: why`: hostile processes in each role's row, what each identity may do, the main
# job, the test bed itself. BUILD is where make put the programs. Everything started ends with it.
set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
failed=0

# A part that ends badly without a line of its own about it gets one.
part() { # NAME COMMAND...
	local name=$1 output code
	shift
	output=$(mktemp)
	"$@" 2>&1 | tee "$output"
	code=${PIPESTATUS[0]}
	if [ "$code" -ne 0 ]; then
		failed=1
		grep -q '^not ok - ' "$output" ||
			echo "not ok - $name: ended with $code: $(tail -n 1 "$output" | head -c 400)"
	elif ! grep -q '^ok - ' "$output"; then
		failed=1
		echo "not ok - $name: it checked nothing"
	fi
	rm -f "$output"
}

# The main job; then each line that `make demo KEEP=1` prints to look around is run, as a person would
# type it. What comes up in the background takes a while: a line is tried again until it works.
main_job() {
	local page code line try said
	page=$(mktemp) said=$(mktemp)
	build/bed demo --dir build/check.demo --check --keep 2>&1 | tee "$page"
	code=${PIPESTATUS[0]}
	sed -n '/^To end it/q; s/^  \(build\/\|curl \|PATH=\)/\1/p' "$page" >"$said.lines"
	[ "$code" -ne 0 ] || while read -r line; do
		try=0
		until bash -c "$line" >"$said" 2>&1 </dev/null; do
			try=$((try + 1))
			[ $try -lt 60 ] || break
			sleep 1
		done
		if [ $try -lt 60 ]; then
			echo "ok - to look around: ${line//$PWD\//}"
		else
			echo "not ok - to look around: $line: $(tail -n 1 "$said")"
			code=1
		fi
	done <"$said.lines"
	[ "$(wc -l <"$said.lines")" -ge 10 ] || code=1
	build/bed down --dir build/check.demo || code=1
	rm -f "$page" "$said" "$said.lines"
	return "$code"
}

if [ "$(id -u)" != 0 ]; then
	echo "not ok - real processes and API servers: root is needed: each process runs under a uid of its own"
	exit 1
fi
part 'hostile roles' "$build/attack/attack"
if ! tools/kubebed.sh >/dev/null || ! tools/bed.sh >/dev/null; then
	echo 'not ok - API servers: the test bed could not be built'
	exit 1
fi
part 'controller killed' build/bed demo --dir build/check.killed --check --only-controller
part rights build/bed rights --dir build/check.rights
part mirror build/bed mirror --dir build/check.mirror
part 'operator of the mirror' build/bed mirror --dir build/check.verbs --verbs
part 'listed kinds' build/bed mirror --dir build/check.kinds --kinds
part 'hubs without KubeSlice' build/bed mirror --dir build/check.bare --bare
part workers build/bed workers --dir build/check.workers
part 'main job' main_job
if make --no-print-directory oci >/dev/null; then
	part containers build/bed demo --dir build/check.containers --check --containers --changes 3
else
	echo 'not ok - containers: make oci failed'
	failed=1
fi
tools/previous.sh
code=$?
if [ "$code" = 0 ]; then
	part upgrade build/bed scenario --dir build/check.upgrade upgrade
elif [ "$code" = 3 ]; then
	echo '# upgrade: not tested, for this clone has no earlier commit'
else
	echo 'not ok - upgrade: the version before could not be built'
	failed=1
fi
part 'operator' build/bed scenario --dir build/check.operator operator
part 'missing protections' build/bed scenario --dir build/check.waivers waivers
part 'reload and rotation' build/bed scenario --dir build/check.reload reload
part runbook build/bed scenario --dir build/check.runbook runbook
part bootstrap build/bed scenario --dir build/check.bootstrap bootstrap
part 'replicas' build/bed replicas --dir build/check.replicas
part 'hostile roles of a pair' build/bed hostile --dir build/check.hostile --random 10
part leadership build/bed leader --dir build/check.leader --quick --faults 6 --longest 4s
part 'Go parts' tests/run-go.sh apiserver
exit $failed
