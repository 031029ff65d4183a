#!/bin/bash
# Prints docs/sequences.md: chosen stories as diagrams. Every line of a diagram was said by a machine
# in a run of the simulator; `make sim` fails when a story is told differently, and tests/sim/check.sh
# when this page is not what comes out here.
set -u
cd "$(dirname "$0")/stories" || exit 1

diagram() { # STORY
	printf '\n## %s\n\n' "$2"
	sed -n 's/^# //p' "$1.story" | grep -v '^Proves '
	printf '\n```mermaid\nsequenceDiagram\n    participant A as hub-a\n    participant B as hub-b\n'
	awk '
		/^> run/ { next }
		/^> / { sub(/^> /, ""); printf "    Note over A,B: %s\n", $0; next }
		/^\[/ {
			time = $0
			sub(/^\[ */, "", time)
			sub(/\].*/, "", time)
			sub(/^\[[ 0-9.]*\] /, "")
			if ($1 == "*") { sub(/^\* /, ""); printf "    Note over A,B: %s s: %s\n", time, $0; next }
			hub = $1
			from = $2
			to = $4
			sub(/:$/, "", to)
			sub(/^[^:]*: /, "")
			gsub(/;/, ",")
			if (from == to)
				printf "    Note over %s: %s s: %s\n", hub, time, $0
			else
				printf "    %s->>%s: %s s, %s: %s\n", hub, hub, time, to, $0
		}
		/^= [AB] / { sub(/^= /, ""); ends = ends (ends == "" ? "" : "; ") $0 }
		/^= (one|not)/ { sub(/^= /, ""); ends = ends "; " $0 }
		END { printf "```\n\nAt the end: %s.\n", ends }
	' "$1.story"
	printf '\nStory: `tests/sim/stories/%s.story`\n' "$1"
}

cat <<'HEAD'
# Sequences

<!-- Printed by tests/sim/sequences.sh; do not edit. -->

How two hubs come to have one leader, step by step. The diagrams are printed from stories of the
simulator: two whole pairs of processes in virtual time, the machine's own object files, a lease of
15 s, renewed every 2 s within 10 s, padding 5 s (so that the threshold is 20 s). The sentences are
those of the log. Times are seconds since the start. An arrow from a hub to itself is a change of
state; what comes before the colon is the new one.
HEAD
diagram start 'Normal start'
diagram failover 'Failover'
diagram old-active-returns 'The old Active returns'
diagram switchover 'Switchover and back'
diagram switchover-declined 'Switchover that is declined'
diagram C9-one-way 'One way between the hubs is cut'
diagram both-down-old-one-first 'Both hubs were down'
