#!/bin/bash
# Part of `make mutants`: does a test notice when a decision of repointer/ or follower/ is changed in
# one place? The unit tests of its directory run first, then schedules of workers.
#
#   WORKER_FILES="repointer/workers", WORKER_SEEDS=N schedules each, and what judge_mutants.sh names
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/sim/judge_mutants.sh
seeds=${WORKER_SEEDS:-60}
# shellcheck disable=SC2034
whose=' of workers' work=$BUILD/mutants/workers equal=tests/sim/worker_mutants.equal
# shellcheck disable=SC2034
files=${WORKER_FILES:-repointer/workers repointer/push follower/rule follower/follow}

others() { # DIRECTORY FILE PATTERN-TO-LEAVE-OUT: its objects without the one that is changed
	find "$BUILD/obj/$1" -name '*.o' ! -path "*/$2.o" | grep -vE "/($3)\.o$"
}

prepare() { # FILE
	# shellcheck disable=SC2046
	ld -r -o "$work/$1/unit.o" $(others "${1%/*}" "$1" main) "$BUILD"/obj/build_id.o
	# shellcheck disable=SC2046
	ld -r -o "$work/$1/sim.o" "$BUILD"/obj/tests/sim/worker_*.o $(others repointer "$1" 'main|messages') \
		$(others follower "$1" 'main|messages|handover') "$BUILD"/obj/build_id.o
}

notice() { # FILE DIRECTORY
	a_unit_test_fails "$2" "$(basename -a -s .c tests/unit/"${1%/*}"_*.c)" "$work/$1/unit.o" \
		'-lcmocka -lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap' && return 0
	gcc -pie -o "$2/sim" "$2/mutant.o" "$work/$1/sim.o" "$BUILD"/lib{kube,ipc,policy,base}.a \
		-ljansson -lmsgpackc -lcap || { echo 'the linker'; return 0; }
	limited "$2/sim" --first --seeds "$seeds" >/dev/null 2>&1 || { echo "$seeds schedules"; return 0; }
	return 1
}

judge "$@"
