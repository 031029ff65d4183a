#!/bin/bash
# Part of `make mutants`: does a test notice when a decision of repointer/ or follower/ is changed in
# one place? Each change of tests/sim/mutate.awk is compiled alone and linked with the objects of the
# rest; the unit tests of its directory run, then schedules of workers. A change that none of them
# notices survives and is named. Those that change nothing anybody could notice stand with the reason
# in tests/sim/worker_mutants.equal.
#
#   WORKER_FILES="repointer/workers", EVERY=N only each Nth, WORKER_SEEDS=N schedules each
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
work=$build/mutants
seeds=${WORKER_SEEDS:-60}
every=${EVERY:-1}
files=${WORKER_FILES:-repointer/workers repointer/push follower/rule follower/follow}
equal=tests/sim/worker_mutants.equal
libraries=$(echo "$build"/lib{kube,ipc,policy,base}.a)
mkdir -p "$work"

others() { # DIRECTORY FILE PATTERN-TO-LEAVE-OUT: its objects without the one that is changed
	find "$build/obj/$1" -name '*.o' ! -name "$(basename "$2").o" | grep -vE "/($3)\.o$"
}

units_notice() { # FILE
	local directory test
	directory=$(dirname "$1")
	for test in tests/unit/"$directory"_*.c; do
		test=$(basename "$test" .c)
		[ -e "$build/obj/tests/unit/$test.o" ] || continue
		# shellcheck disable=SC2046,SC2086
		gcc -pie -o "$work/unit" "$build/obj/tests/unit/$test.o" "$work/mutant.o" \
			$(others "$directory" "$1" main) "$build"/obj/build_id.o $libraries \
			-lcmocka -lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap 2>/dev/null || return 0
		timeout 60 "$work/unit" >/dev/null 2>&1 || return 0
	done
	return 1
}

simulator_notices() { # FILE
	# shellcheck disable=SC2046,SC2086
	gcc -pie -o "$work/workers" "$build"/obj/tests/sim/worker_*.o "$work/mutant.o" \
		$(others repointer "$1" 'main|messages') $(others follower "$1" 'main|messages|handover') \
		"$build"/obj/build_id.o $libraries -ljansson -lmsgpackc -lcap || return 0
	! timeout 120 "$work/workers" --first --seeds "$seeds" >/dev/null 2>&1
}

. tests/sim/judge_mutants.sh
judge_all 'workers' ''
