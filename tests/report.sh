# One line for each check of a script, as tests/check.sh counts them; sourced by such scripts.
# shellcheck shell=bash

failed=0
report() { # NAME PROBLEMS
	if [ -z "$2" ]; then
		echo "ok - $1"
	else
		echo "not ok - $1: $(printf '%s' "$2" | tr '\n' ';' | head -c 600)"
		# shellcheck disable=SC2034 # the exit code of who sources this
		failed=1
	fi
}
