#!/bin/bash
# Part of `make mutants`: does a test notice when a decision of the mirror is changed in one place? Each
# change of tests/sim/mutate.awk is compiled alone and linked with the objects of the rest; the unit tests
# of syncer/ run, then schedules of the simulated mirror, first those that once broke. A change that
# none of them notices survives and is named. Those that change nothing anybody could notice stand
# with the reason in tests/sim/mirror_mutants.equal.
#
#   MIRROR_FILES="engine judge" of syncer/, EVERY=N only each Nth, MIRROR_SEEDS=N schedules each
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
work=$build/mutants
seeds=${MIRROR_SEEDS:-60}
every=${EVERY:-1}
files=${MIRROR_FILES:-brake judge seen engine}
equal=tests/sim/mirror_mutants.equal
libraries=$(echo "$build"/lib{kube,ipc,policy,base}.a)
mkdir -p "$work"

# All of syncer/ without it and main in one object, so that a link is short.
prepare() { # FILE
	# shellcheck disable=SC2046
	ld -r -o "$work/without_$1.o" $(find "$build/obj/syncer" -name '*.o' ! -name main.o ! -name "$1.o")
}

units_notice() { # FILE
	local test
	for test in tests/unit/syncer_*.c; do
		test=$(basename "$test" .c)
		[ -e "$build/obj/tests/unit/$test.o" ] || continue
		# shellcheck disable=SC2086
		gcc -pie -o "$work/unit" "$build/obj/tests/unit/$test.o" "$work/mutant.o" "$work/without_$1.o" \
			"$build"/obj/build_id.o $libraries -lcmocka -lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap -lz \
			2>/dev/null || return 0
		timeout 60 "$work/unit" >/dev/null 2>&1 || return 0
	done
	return 1
}

simulator_notices() { # FILE
	# shellcheck disable=SC2086
	gcc -pie -o "$work/mirror" "$build"/obj/tests/sim/mirror/*.o "$build"/obj/sim/syncer_main.o "$work/mutant.o" \
		"$work/without_$1.o" $libraries -lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap -lz || return 0
	! timeout 300 "$work/mirror" --first --list tests/sim/mirror/seeds --seeds "$seeds" >/dev/null 2>&1
}

for file in $files; do
	prepare "$file"
done
. tests/sim/judge_mutants.sh
judge_all 'the mirror' syncer/
