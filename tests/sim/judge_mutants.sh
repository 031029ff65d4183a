# The loop that the scripts of `make mutants` share; sourced by them. Each change of mutate.awk to each
# of $files is compiled alone, and what is cheapest runs first: what notices it ends it. A change that
# nothing notices survives and is named. Those that change nothing anybody could notice stand in
# $equal, as they are named but for the line's number, with the reason before each.
#
# The caller sets whose, work, files (without .c) and equal, and defines
#   prepare FILE           links what all changes of FILE have in common, into $work
#   notice FILE DIRECTORY  prints what noticed DIRECTORY/mutant.o; 1: nothing did
#
#   EVERY=N only each Nth, JOBS=N at a time (all cores); $work/caught tells what noticed which
# shellcheck shell=bash disable=SC2154

export BUILD=${BUILD:-build}

# Processor time, so that a busy machine catches nothing.
limited() { # COMMAND...
	(ulimit -t 20 && exec timeout 900 "$@")
}

# Prints the first of the unit TESTS that fails with the change; 1: none does.
a_unit_test_fails() { # DIRECTORY TESTS OBJECTS LIBRARIES
	local test
	for test in $2; do
		# shellcheck disable=SC2086,SC2015
		gcc -pie -o "$1/unit" "$BUILD/obj/tests/unit/$test.o" "$1/mutant.o" $3 \
			"$BUILD"/lib{kube,ipc,policy,base}.a $4 &&
			limited "$1/unit" >/dev/null 2>&1 || { echo "$test"; return 0; }
	done
	return 1
}

# One change; prints how it ended, a tab, and its name.
judge_one() { # FILE N, 0: none
	local directory=$work/$1.$2 name='no change' by
	mkdir -p "$directory"
	if [ "$2" = 0 ]; then
		cp "$1.c" "$directory/mutant.c"
	else
		name=$(awk -v pick="$2" -f tests/sim/mutate.awk "$1.c" 2>&1 >"$directory/mutant.c")
	fi
	if ! gcc -std=gnu11 -D_GNU_SOURCE -I. -O0 -w -fsanitize=bounds-strict,shift -fsanitize-undefined-trap-on-error -c "$directory/mutant.c" -o "$directory/mutant.o"; then
		by='the compiler'
	elif by=$(notice "$1" "$directory"); then
		:
	elif grep -qxF -- "$(sed 's/\.c:[0-9]*: /: /' <<<"$name")" "$equal"; then
		by=equal
	else
		by=survived
	fi
	printf '%s\t%s\n' "$by" "$name"
	rm -rf "$directory"
}

# The whole of a script, called with its arguments. The last line counts; 1: one survived.
judge() {
	local file unchanged survived
	if [ "${1-}" = --one ]; then
		judge_one "$2" "$3" 2>/dev/null
		return
	fi
	rm -rf "$work"
	for file in $files; do
		mkdir -p "$work/$file"
		prepare "$file"
		# What notices a file as it is notices nothing.
		unchanged=$("$0" --one "$file" 0)
		if [ "$unchanged" != "$(printf 'survived\tno change')" ]; then
			echo "mutants$whose: $file.c does not pass unchanged: $unchanged" >&2
			return 1
		fi
		seq -f "$file %g" 1 "${EVERY:-1}" "$(awk -f tests/sim/mutate.awk "$file.c")" >>"$work/all"
	done
	xargs -P "${JOBS:-$(nproc)}" -L 1 "$0" --one <"$work/all" >"$work/caught"
	survived=$(grep -c '^survived' "$work/caught")
	sed -n 's/^survived\t/survived: /p' "$work/caught"
	cut -f 1 "$work/caught" | sort | uniq -c | sort -rn | sed 's/^ *\([0-9]*\) /  \1 noticed by /; s/noticed by survived/survived/; s/noticed by equal/change nothing that anybody could notice/'
	echo "mutants$whose: $(wc -l <"$work/caught"), $survived survived"
	[ "$survived" -eq 0 ] && cmp -s <(wc -l <"$work/all") <(wc -l <"$work/caught")
}
