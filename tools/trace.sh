#!/bin/bash
# `make trace`: each numbered rule that code or tests cite, with the places, then those that a
# finished issue names (docs/rules.md, "Named by finished issues") and nobody cites, then the count.
# A rule that cannot apply stands in docs/rules.md under "Not ours" and is not open.
set -u
cd "$(dirname "$0")/.." || exit
rule='(C(1[0-5]|[1-9])|H(2[01]|1[0-9]|[1-9])|M(1[0-8]|[1-9])|I(1[0-2]|[1-9])|F(3[0-9]|[12][0-9]|[1-9])|P(10[0-4]|[1-9][0-9]?)|[LWGBR][0-9]{1,3})'
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT
cited() { # CODE|TEST PATHS...
	local kind=$1
	shift
	git ls-files "$@" | xargs -r grep -nHoE "(^|[^A-Za-z0-9])$rule($|[^A-Za-z0-9_])" 2>/dev/null |
		sed -nE "s/^([^:]+):([0-9]+):[^A-Z]*($rule).*/\3 $kind \1:\2/p"
}
{
	cited code '*/*.c' '*/*.h' '*/*.def' 'policy/**/*.yaml' 'fence/*.go' | grep -v ' tests/'
	cited test 'tests/*' 'fence/*_test.go'
} | sort -u | awk '
	{ n[$1]++; if (n[$1] <= 6) where[$1 " " $2] = where[$1 " " $2] " " $3; seen[$1 " " $2] = 1 }
	END { for (r in n) print r (seen[r " code"] ? " code" where[r " code"] : "") (seen[r " test"] ? " test" where[r " test"] : "") }
' | sort -t' ' -k1,1V >"$lines"
cat "$lines"
named=$(sed -n '/^## Named by finished issues/,/^## /p' docs/rules.md | grep -oE "\b$rule\b" | sort -u)
exempt=$(sed -n '/^## Not ours/,/^## /p' docs/rules.md | grep -oE "^- \*\*$rule" | grep -oE "$rule" | sort -u)
open=0
for r in $named; do
	grep -q "^$r " "$lines" && continue
	printf '%s\n' "$exempt" | grep -qx "$r" && continue
	echo "$r open"
	open=$((open + 1))
done
rules=$(wc -l <"$lines")
echo "trace: $rules rules, $open open"
