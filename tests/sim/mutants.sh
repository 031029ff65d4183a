#!/bin/bash
# `make mutants`: does a test notice when the machine is changed in one place? Each change of
# tests/sim/mutate.awk is compiled alone and linked with the objects of the rest. Then what is
# cheapest runs first, and the first that notices ends it: the stories, a few random schedules, the
# elector's unit tests, more schedules. A change that nothing notices survives and is named. Those
# that change nothing anybody could notice stand with the reason in tests/sim/mutants.equal.
#
# Mode replicas has its schedules among the unit tests.
#
#   FILES="machine machine_guards"  of elector/, EVERY=N only each Nth, JOBS=N at a time (all cores),
#   MUTANT_SEEDS=N schedules each; $BUILD/mutants/caught tells what noticed which
set -u
cd "$(dirname "$0")/../.." || exit 1
export BUILD=${BUILD:-build} SEEDS=${MUTANT_SEEDS:-3000}
work=$BUILD/mutants
files=${FILES:-machine machine_facts machine_guards machine_watch machine_acts machine_handover machine_checks terms replicas replicas_facts}
equal=tests/sim/mutants.equal

is_replicas() { # FILE
	[[ $1 = replicas* ]]
}

objects_without() { # FILE: the machine's other objects
	find "$BUILD"/obj/elector \( -name 'machine*.o' -o -name terms.o -o -name trace.o \) ! -name "$1.o"
}

unit_tests() { # FILE
	local about='machine|terms|elector_(world|command)'
	is_replicas "$1" && about=replicas
	grep -lE "$about" tests/unit/elector_*.c | sed 's|.*/||; s|\.c$||'
}

# Everything but the mutant in one object, so that a link is short.
prepare() { # FILE
	local rest=$work/$1
	mkdir -p "$rest"
	# shellcheck disable=SC2046
	ld -r -o "$rest/sim.o" $(find "$BUILD"/obj/tests/sim -maxdepth 1 -name "*.o" ! -name "worker*") \
		$(objects_without "$1") "$BUILD"/obj/base/*.o
	# shellcheck disable=SC2046
	ld -r -o "$rest/unit.o" $(find "$BUILD"/obj/elector -name '*.o' ! -name "$1.o" ! -name main.o) \
		"$BUILD"/obj/build_id.o
}

# Processor time, so that a busy machine catches nothing.
limited() { # COMMAND...
	(ulimit -t 20 && exec timeout 900 "$@")
}

simulator_holds() { # FILE DIRECTORY SEEDS STORY...
	local seeds=$3 directory=$2
	is_replicas "$1" && return
	shift 3
	limited "$directory/sim" --first --out "$directory" --seeds "$seeds" "$@" >"$directory/log" 2>&1
}

units_hold() { # FILE DIRECTORY
	local test
	for test in $(unit_tests "$1"); do
		gcc -pie -o "$2/unit" "$BUILD/obj/tests/unit/$test.o" "$2/mutant.o" "$work/$1/unit.o" \
			"$BUILD"/lib{kube,ipc,policy,base}.a \
			-lcmocka -lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap &&
			limited "$2/unit" >/dev/null 2>&1 || { echo "$test"; return 1; }
	done
}

# One change; prints how it ended, a tab, and its name.
mutant() { # FILE N
	local directory=$work/$1/$2 name by
	mkdir -p "$directory"
	if [ "$2" = 0 ]; then
		name='no change' && cp "elector/$1.c" "$directory/mutant.c"
	else
		name=$(awk -v pick="$2" -f tests/sim/mutate.awk "elector/$1.c" 2>&1 >"$directory/mutant.c")
	fi
	if ! gcc -std=gnu11 -D_GNU_SOURCE -I. -O0 -w -fsanitize=bounds-strict,shift -fsanitize-undefined-trap-on-error -c "$directory/mutant.c" -o "$directory/mutant.o" 2>/dev/null ||
		! { is_replicas "$1" || gcc -pie -o "$directory/sim" "$directory/mutant.o" "$work/$1/sim.o"; } 2>/dev/null; then
		by='the compiler'
	elif ! simulator_holds "$1" "$directory" 0 tests/sim/stories/*.story; then
		by='the stories'
	elif ! simulator_holds "$1" "$directory" 300; then
		by='300 schedules'
	elif ! by=$(units_hold "$1" "$directory"); then
		:
	elif ! simulator_holds "$1" "$directory" "$SEEDS"; then
		by="$SEEDS schedules"
	elif grep -qxF -- "$(sed 's/^elector\/\([a-z_]*\)\.c:[0-9]*/\1/' <<<"$name")" <(grep -v '^#' "$equal"); then
		by=equal
	else
		by=survived
	fi
	printf '%s\t%s\n' "$by" "$name"
	rm -rf "$directory"
}

if [ "${1-}" = --one ]; then
	mutant "$2" "$3" 2>/dev/null
	exit
fi
rm -rf "$work"
mkdir -p "$work"
for file in $files; do
	prepare "$file"
	# What notices a file as it is notices nothing.
	if [ "$("$0" --one "$file" 0)" != "$(printf 'survived\tno change')" ]; then
		echo "mutants: elector/$file.c does not pass unchanged: $("$0" --one "$file" 0)" >&2
		exit 1
	fi
	count=$(awk -f tests/sim/mutate.awk "elector/$file.c")
	seq -f "$file %g" 1 "${EVERY:-1}" "$count"
done | xargs -r -P "${JOBS:-$(nproc)}" -L 1 "$0" --one >"$work/caught"
survived=$(grep -c '^survived' "$work/caught")
sed -n 's/^survived\t/survived: /p' "$work/caught"
cut -f 1 "$work/caught" | sort | uniq -c | sort -rn | sed 's/^ *\([0-9]*\) /  \1 noticed by /; s/noticed by survived/survived/; s/noticed by equal/change nothing that anybody could notice/'
echo "mutants: $(wc -l <"$work/caught"), $survived survived"
[ "$survived" -eq 0 ]
