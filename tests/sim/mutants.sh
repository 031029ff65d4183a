#!/bin/bash
# `make mutants`: does a test notice when the machine is changed in one place? The stories run first, a
# few random schedules, the elector's unit tests, more schedules.
#
# Mode replicas has its schedules among the unit tests.
#
#   FILES="elector/machine elector/machine_guards", MUTANT_SEEDS=N schedules each, and what
#   judge_mutants.sh names
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/sim/judge_mutants.sh
seeds=${MUTANT_SEEDS:-3000}
# shellcheck disable=SC2034
whose='' work=$BUILD/mutants/elector equal=tests/sim/mutants.equal
# shellcheck disable=SC2034
files=${FILES:-$(printf 'elector/%s ' machine machine_facts machine_guards machine_watch machine_acts machine_handover machine_checks terms replicas replicas_facts)}

is_replicas() { # FILE
	[[ $1 = */replicas* ]]
}

objects_without() { # FILE: the machine's other objects
	find "$BUILD"/obj/elector \( -name 'machine*.o' -o -name terms.o -o -name trace.o \) ! -path "*/$1.o"
}

unit_tests() { # FILE
	local about='machine|terms|elector_(world|command)'
	is_replicas "$1" && about=replicas
	grep -lE "$about" tests/unit/elector_*.c | sed 's|.*/||; s|\.c$||'
}

prepare() { # FILE
	# shellcheck disable=SC2046
	ld -r -o "$work/$1/sim.o" $(find "$BUILD"/obj/tests/sim -maxdepth 1 -name "*.o" ! -name "worker*") \
		$(objects_without "$1") "$BUILD"/obj/base/*.o
	# shellcheck disable=SC2046
	ld -r -o "$work/$1/unit.o" $(find "$BUILD"/obj/elector -name '*.o' ! -path "*/$1.o" ! -name main.o) \
		"$BUILD"/obj/build_id.o
}

simulator_holds() { # DIRECTORY SEEDS STORY...
	local seeds=$2 directory=$1
	shift 2
	limited "$directory/sim" --first --out "$directory" --seeds "$seeds" "$@" >"$directory/log" 2>&1
}

notice() { # FILE DIRECTORY
	if ! is_replicas "$1"; then
		gcc -pie -o "$2/sim" "$2/mutant.o" "$work/$1/sim.o" || { echo 'the linker'; return 0; }
		simulator_holds "$2" 0 tests/sim/stories/*.story || { echo 'the stories'; return 0; }
		simulator_holds "$2" 300 || { echo '300 schedules'; return 0; }
	fi
	a_unit_test_fails "$2" "$(unit_tests "$1")" "$work/$1/unit.o" '-lcmocka -lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap' && return 0
	is_replicas "$1" || simulator_holds "$2" "$seeds" || { echo "$seeds schedules"; return 0; }
	return 1
}

judge "$@"
