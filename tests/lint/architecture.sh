#!/bin/bash
# Goal: the structure that the documents promise is the structure that is built. Method: includes are
# read from the sources, libraries from the executables, pages are printed again, and one header is
# touched.
set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
layers='base policy ipc kube'
processes='supervisor runner loader dialer observer elector syncer publisher repointer follower monitor ctl'

. tests/report.sh

# --- Include direction: process -> kube -> ipc -> policy -> base ---------------------------
rank() {
	case $1 in
	base) echo 0 ;; policy) echo 1 ;; ipc) echo 2 ;; kube) echo 3 ;; fence) echo 0 ;;
	*) echo 4 ;;
	esac
}
problems=
for dir in $layers $processes; do
	for file in "$dir"/*.[ch]; do
		[ -e "$file" ] || continue
		for target in $(sed -n 's/^#include "\([a-z]*\)\/.*/\1/p' "$file" | sort -u); do
			[ "$target" = "$dir" ] && continue
			# bootstrap --mirror is read as a start reads it: by the loader's reader, which is pure.
			[ "$file $target" = 'ctl/bootstrap_mirror.c loader' ] && continue
			if [ "$(rank "$target")" -ge "$(rank "$dir")" ]; then
				problems="$problems $file includes $target/;"
			fi
		done
	done
done
report 'includes run in one direction and no process includes another' "$problems"

# --- What root links ------------------------------------------------------------------------
for program in understudyd runner; do
	problems=$(readelf -d "$build/$program" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
		grep -vE '^(libc\.so\.6|libcap\.so\.2|ld-linux-x86-64\.so\.2)$' | tr '\n' ' ')
	report "$program links libc and libcap only" "$problems"
done
problems=
for program in loader dialer monitor; do
	found=$(readelf -d "$build/$program" | grep -oE 'lib(curl|ssl)\.so' | tr '\n' ' ')
	[ -z "$found" ] || problems="$problems $program links $found;"
done
report 'only roles that talk to API servers link libcurl and libssl' "$problems"

problems=
for program in understudyd runner loader dialer observer elector syncer publisher repointer follower monitor understudyctl; do
	readelf -hW "$build/$program" | grep -q 'Type: *DYN' || problems="$problems $program is not PIE;"
	readelf -dW "$build/$program" | grep -q BIND_NOW || problems="$problems $program is not BIND_NOW;"
	readelf -lW "$build/$program" | grep -q 'GNU_STACK.*RWE' && problems="$problems $program has an executable stack;"
	readelf -sW --dyn-syms "$build/$program" | grep -q __stack_chk_fail || problems="$problems $program has no stack protector;"
done
report 'executables are hardened' "$problems"

# --- Heads and sizes -----------------------------------------------------------------------
problems=
for file in $(git ls-files '*.c' '*.h'); do
	[ "$(head -c 2 "$file")" = '/*' ] || problems="$problems $file;"
done
report 'each C file says first why it exists' "$problems"
problems=
for file in $(git ls-files '*.c' '*.h' '*.go' '*.sh'); do
	lines=$(wc -l < "$file")
	[ "$lines" -le 600 ] || problems="$problems $file has $lines lines;"
done
report 'no file has more than 600 lines' "$problems"

# --- Printed pages -------------------------------------------------------------------------
printed=$(mktemp -d)
problems=
BUILD=$build tools/docs.sh "$printed" 2>&1 || problems='they cannot be printed'
for page in "$printed"/*; do
	cmp -s "$page" "docs/${page##*/}" || problems="$problems docs/${page##*/} is not what its table says, run make docs;"
done
rm -rf "$printed"
report 'the pages that are printed from tables are what the tables say' "$problems"

report "docs/configuration.schema.json takes what is right and refuses what is not" "$(/usr/bin/python3 tests/lint/schema.py 2>&1)"

# --- What the mirror copies ----------------------------------------------------------------
kinds=$(sed -nE 's/^KIND\([A-Z_]+, "([A-Za-z]+)".*/\1/p' policy/kinds.def)
said=$(sed -nE '/^## Kinds/,/^Of no object/s/^\| ([A-Z][A-Za-z]+) \|.*/\1/p' docs/mirror.md)
problems=
[ -n "$kinds" ] && [ "$kinds" = "$said" ] ||
	problems="$(diff <(printf '%s\n' "$kinds") <(printf '%s\n' "$said") | grep '^[<>]' | tr '\n' ';') or their order"
report 'docs/mirror.md has a row for each kind of policy/kinds.def, in its order' "$problems"

# --- Claims of the threat model ------------------------------------------------------------
page=docs/threat-model.md
problems=
for claim in $(grep -oE '[a-z_]+\.c: [a-z_]+' $page | tr ' ' '@' | sort -u); do
	grep -qE "void ${claim##*@}\(" "tests/unit/${claim%%:*}" 2>/dev/null || problems="$problems ${claim/@/ } is no test;"
done
for name in $(grep -oE '[A-Za-z0-9-]+\.story' $page | sort -u); do
	[ -e "tests/sim/stories/$name" ] || problems="$problems there is no $name;"
done
for name in $(grep -oE '`[a-z]+_[a-z_]+\.c' $page | tr -d '`' | sort -u); do
	[ -e "tests/unit/$name" ] || problems="$problems there is no tests/unit/$name;"
done
for name in $(grep -oE 'fuzz( `[a-z_]+`,?)+' $page | grep -oE '`[a-z_]+`' | tr -d '`' | sort -u); do
	[ -e "tests/fuzz/$name.c" ] || problems="$problems there is no fuzzer $name;"
done
report 'the tests that docs/threat-model.md calls as witnesses are there' "$problems"

# --- Rebuilding ----------------------------------------------------------------------------
# make says what it would compile after one header is touched; the compiler's own notes say who
# includes it.
header=kube/lease.h
compiles() { # what make would compile now
	make -n all 2>/dev/null | grep -oE ' -c [a-z_]+/[a-z_]+\.c' | sed 's/ -c //' | grep -v '^build/' | sort -u
}
if [ -n "$(compiles)" ]; then
	report 'touching a header rebuilds exactly its users' "not built: $(compiles | tr '\n' ' ')"
else
	stamp=$(stat -c %y "$header")
	touch "$header"
	rebuilt=$(compiles)
	touch -d "$stamp" "$header"
	wanted=$(grep -rl --include='*.d' --exclude-dir=tests " $header" "$build/obj" |
		xargs -r -d '\n' sed -s -n '1s/^[^:]*: *\([^ ]*\.c\).*/\1/p' | sort -u)
	problems=$(diff <(echo "$wanted") <(echo "$rebuilt") | grep '^[<>]' | tr '\n' ' ')
	[ -n "$wanted" ] || problems="nobody includes $header"
	report 'touching a header rebuilds exactly its users' "$problems"
fi
