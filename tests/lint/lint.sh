#!/bin/bash
# `make lint`: clang-format, clang-tidy, cppcheck, then the structure (tests/lint/architecture.sh).
# Installs the tools where they are missing. Ends with 1 when one of them has something to say.
set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
tools/packages.sh clang-format clang-tidy cppcheck shellcheck || exit 1
mapfile -t c < <(git ls-files '*.c' '*.h')
mapfile -t units < <(git ls-files '*.c')
mapfile -t shell < <(git ls-files '*.sh' .ci/run)
status=0
step() { # NAME COMMAND...
	local name=$1
	shift
	if output=$("$@" 2>&1); then
		echo "ok - $name"
	else
		echo "not ok - $name"
		printf '%s\n' "$output" | head -n 60
		status=1
	fi
}
step clang-format clang-format --dry-run --Werror "${c[@]}"
step clang-tidy bash -c 'printf "%s\n" "$@" | xargs -n 1 -P 2 clang-tidy -p "$0" --quiet 2>/dev/null | grep -E "(warning|error):" | sort -u | { ! grep . ; }' "$build" "${units[@]}"
# Not across units: it takes a function of one program for another program's of the same name.
step cppcheck cppcheck --quiet --enable=warning,performance,portability --error-exitcode=1 \
	--inline-suppr --suppress=missingIncludeSystem --suppress=ctunullpointer --suppress=ctuuninitvar --std=c11 -I. -D_GNU_SOURCE -D__x86_64__ -j 2 "${units[@]}"
step shellcheck shellcheck -S warning "${shell[@]}"
structure=$(tests/lint/architecture.sh)
printf '%s\n' "$structure"
printf '%s\n' "$structure" | grep -q '^not ok' && status=1
exit $status
