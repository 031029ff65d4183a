#!/bin/bash
# All checks of `make check`, or with --fast those that need no API server, then one line:
# "N passed, N failed". The other arguments are the unit test programs.
#
# A script of checks prints "ok - NAME" or "not ok - NAME: why" per check; a script that ends badly
# without saying so counts as one failure.
set -u
cd "$(dirname "$0")/.." || exit
fast=
if [ "${1-}" = --fast ]; then
	fast=1
	shift
fi
passed=0 failed=0

count() { # NAME OK FAILED EXIT-CODE
	local bad=$3
	[ "$4" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
	[ $(($2 + bad)) -gt 0 ] || bad=1
	passed=$((passed + $2)) failed=$((failed + bad))
	printf -- '--- %s: %d passed, %d failed\n' "$1" "$2" "$bad"
}

script() { # NAME COMMAND...
	local name=$1 output code
	shift
	output=$(mktemp)
	"$@" 2>&1 | tee "$output"
	code=${PIPESTATUS[0]}
	count "$name" "$(grep -c '^ok - ' "$output")" "$(grep -c '^not ok - ' "$output")" "$code"
	rm -f "$output"
}

units() {
	local output code
	output=$(mktemp)
	tests/run-unit.sh "$@" | tee "$output" | sed '$d'
	code=${PIPESTATUS[0]}
	# shellcheck disable=SC2046
	set -- $(tail -n 1 "$output")
	rm -f "$output"
	count unit "$1" "$3" "$code"
}

units "$@"
# Go is there: of the right series, or in its place under build/. The fast part does not fetch it.
has_go() {
	case $(GOTOOLCHAIN=local go version 2>/dev/null) in
	'go version go1.26'[.\ ]*) return 0 ;;
	esac
	[ -d build/go-venv ]
}

# So is a browser, for the status page.
[ -n "$fast" ] || tools/packages.sh chromium || echo '# there is no chromium to be had: the status page is not looked at in a browser'
script documents tests/docs/check.sh
script architecture tests/lint/architecture.sh
script packaging tests/packaging.sh
seeds=20000
[ -z "$fast" ] || seeds=2000
script corpora tests/fuzz/check.sh
script simulator tests/sim/check.sh $seeds
if [ -z "$fast" ]; then
	script 'API servers' tests/integration/run.sh
elif has_go; then
	script Go tests/run-go.sh
else
	echo '--- Go: skipped, no Go 1.26 here yet (make check fetches it)'
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
