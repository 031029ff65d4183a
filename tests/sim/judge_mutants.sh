# The loop that the mutant scripts of workers and of the mirror share; sourced by them. The caller sets
# work, equal, every and files, and defines units_notice FILE and simulator_notices FILE.
# shellcheck shell=bash disable=SC2154

# Does it notice $work/mutant.c, put in the place of FILE?
is_noticed() { # FILE
	gcc -std=gnu11 -D_GNU_SOURCE -I. -O1 -w -fsanitize=bounds-strict,shift -fsanitize-undefined-trap-on-error -c "$work/mutant.c" -o "$work/mutant.o" 2>/dev/null || return 0
	{ units_notice "$1" || simulator_notices "$1"; } 2>/dev/null
}

# judge_all WHOSE FOLDER: each change of FOLDER$file.c is tried; the last line counts. 1: one survived.
judge_all() {
	local file count i name plain total=0 survived=0 equals=0
	for file in $files; do
		# What notices a file as it is notices nothing.
		cp "$2$file.c" "$work/mutant.c"
		if is_noticed "$file"; then
			echo "mutants of $1: $2$file.c does not pass unchanged" >&2
			return 1
		fi
		count=$(awk -f tests/sim/mutate.awk "$2$file.c")
		for ((i = 1; i <= count; i += every)); do
			name=$(awk -v pick="$i" -f tests/sim/mutate.awk "$2$file.c" 2>&1 >"$work/mutant.c")
			total=$((total + 1))
			is_noticed "$file" && continue
			plain=$(sed 's/\.c:[0-9]*: /: /' <<<"$name")
			if [ -e "$equal" ] && grep -qxF -- "$plain" "$equal"; then
				equals=$((equals + 1))
				continue
			fi
			survived=$((survived + 1))
			echo "survived: $name"
		done
	done
	echo "mutants of $1: $total, $survived survived ($equals change nothing that anybody could notice)"
	[ "$survived" -eq 0 ]
}
