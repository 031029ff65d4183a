#!/bin/bash
# Part of `make mutants`: does a test notice when a decision of the mirror is changed in one place? The
# unit tests of syncer/ run first, then schedules of the simulated mirror, first those that once broke.
#
#   MIRROR_FILES="syncer/engine syncer/judge", MIRROR_SEEDS=N schedules each, and what judge_mutants.sh
#   names
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/sim/judge_mutants.sh
seeds=${MIRROR_SEEDS:-60}
# shellcheck disable=SC2034
whose=' of the mirror' work=$BUILD/mutants/mirror equal=tests/sim/mirror_mutants.equal
# shellcheck disable=SC2034
files=${MIRROR_FILES:-syncer/brake syncer/judge syncer/seen syncer/engine}
system='-lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap -lz'

prepare() { # FILE
	# shellcheck disable=SC2046
	ld -r -o "$work/$1/rest.o" $(find "$BUILD/obj/syncer" -name '*.o' ! -name main.o ! -path "*/$1.o")
}

notice() { # FILE DIRECTORY
	a_unit_test_fails "$2" "$(basename -a -s .c tests/unit/syncer_*.c)" \
		"$work/$1/rest.o $BUILD/obj/build_id.o" "-lcmocka $system" && return 0
	# shellcheck disable=SC2086
	gcc -pie -o "$2/sim" "$BUILD"/obj/tests/sim/mirror/*.o "$BUILD"/obj/sim/syncer_main.o "$2/mutant.o" \
		"$work/$1/rest.o" "$BUILD"/lib{kube,ipc,policy,base}.a $system || { echo 'the linker'; return 0; }
	limited "$2/sim" --first --list tests/sim/mirror/seeds --seeds "$seeds" >/dev/null 2>&1 ||
		{ echo "$seeds schedules"; return 0; }
	return 1
}

judge "$@"
