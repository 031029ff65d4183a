#!/bin/bash
# `make mutants`: does a test notice when the machine is changed in one place? Each change of
# tests/sim/mutate.awk is compiled alone and linked with the objects of the rest; then the stories,
# random schedules and, when those saw nothing, the elector's unit tests run. A change that none of
# them notices survives and is named. Those that change nothing anybody could notice stand with the
# reason in tests/sim/mutants.equal.
#
#   FILES="machine machine_guards"  of elector/, EVERY=N only each Nth, MUTANT_SEEDS=N schedules each
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
work=$build/mutants
seeds=${MUTANT_SEEDS:-3000}
every=${EVERY:-1}
files=${FILES:-machine machine_guards machine_watch machine_handover terms}
objects="$build"/obj/elector
equal=tests/sim/mutants.equal
mkdir -p "$work"

others() { # objects of the machine without FILE
	local o
	for o in "$objects"/machine*.o "$objects"/terms.o "$objects"/trace.o; do
		[ "$o" = "$objects/$1.o" ] || printf '%s\n' "$o"
	done
}

compile() { # FILE
	gcc -std=gnu11 -D_GNU_SOURCE -I. -O1 -w -c "$work/mutant.c" -o "$work/mutant.o"
}

simulator_notices() { # FILE
	# shellcheck disable=SC2046
	gcc -pie -o "$work/sim" "$build"/obj/tests/sim/*.o "$work/mutant.o" $(others "$1") "$build"/libbase.a || return 0
	! timeout 60 "$work/sim" --first --out "$work" --seeds "$seeds" tests/sim/stories/*.story >/dev/null 2>&1
}

units_notice() { # FILE
	local test name
	for test in tests/unit/elector_*.c; do
		name=$(basename "$test" .c)
		[ -e "$build/obj/tests/unit/$name.o" ] || continue
		# shellcheck disable=SC2046
		gcc -pie -o "$work/unit" "$build/obj/tests/unit/$name.o" "$work/mutant.o" $(others "$1") \
			$(find "$objects" -name '*.o' ! -name 'machine*' ! -name 'terms.o' ! -name 'trace.o' ! -name 'main.o') \
			"$build"/obj/build_id.o "$build"/lib{kube,ipc,policy,base}.a \
			-lcmocka -lcurl -lssl -lcrypto -ljansson -lmsgpackc -lcap 2>/dev/null || return 0
		timeout 60 "$work/unit" >/dev/null 2>&1 || return 0
	done
	return 1
}

is_equal() { # NAME without the line number
	[ -e "$equal" ] && grep -qxF -- "$1" <(grep -v '^#' "$equal")
}

total=0 survived=0 equals=0
for file in $files; do
	count=$(awk -f tests/sim/mutate.awk "elector/$file.c")
	for ((i = 1; i <= count; i += every)); do
		name=$(awk -v pick="$i" -f tests/sim/mutate.awk "elector/$file.c" 2>&1 >"$work/mutant.c")
		total=$((total + 1))
		compile "$file" 2>/dev/null || continue # the compiler noticed
		{ simulator_notices "$file"; } 2>/dev/null && continue
		plain=$(sed 's/^elector\/\([a-z_]*\)\.c:[0-9]*/\1/' <<<"$name")
		if is_equal "$plain"; then
			equals=$((equals + 1))
			continue
		fi
		{ units_notice "$file"; } 2>/dev/null && continue
		survived=$((survived + 1))
		echo "survived: $name"
	done
done
echo "mutants: $total, $survived survived ($equals change nothing that anybody could notice)"
[ "$survived" -eq 0 ]
