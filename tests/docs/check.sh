#!/bin/bash
# Goal: what people read and load agrees with what is built. Method: promtool reads the metrics as the
# monitor's own code prints them, the alerts with their tests, and the dashboard's expressions; each
# alert has a test that makes it fire and a section of the runbook; links lead somewhere; a browser, where
# there is one, shows the status page. That Grafana reads the dashboard, the Go test beside this shows.
set -u
cd "$(dirname "$0")/../.." || exit
build=${BUILD:-build}
promtool=$(command -v promtool || echo build/promtool)
rules=packaging/prometheus
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT

step() { # NAME COMMAND...
	local name=$1
	shift
	if "$@" >"$place/out" 2>&1; then
		echo "ok - $name"
	else
		echo "not ok - $name: $(tail -n 5 "$place/out" | tr '\n' ' ' | head -c 600)"
	fi
}

"$build/metrics" --sample >"$place/metrics"
# promtool says what it dislikes and ends with 3.
clean_metrics() { "$promtool" check metrics <"$place/metrics"; }
step 'promtool has nothing to say about the metrics' clean_metrics
step 'promtool takes the alerts' "$promtool" check rules "$rules/alerts.yaml"
step 'each alert fires when it should and not beside it' "$promtool" test rules "$rules/alerts_test.yaml"

alerts() { sed -n 's/^  - alert: //p' "$rules/alerts.yaml"; }
tested() { # alerts with a test in which one fires
	sed -n 's/^    alertname: //p' "$rules/alerts_test.yaml"
}
quiet() { sed -n 's/.*alertname: \([A-Za-z]*\), exp_alerts: \[\].*/\1/p' "$rules/alerts_test.yaml"; }
step 'each alert has a test in which it fires' diff <(alerts) <(tested)
step 'each alert has a test in which it does not' diff <(alerts) <(quiet)
step 'each alert links its own section of the runbook' diff \
	<(alerts | tr '[:upper:]' '[:lower:]') \
	<(sed -n 's|^      runbook_url: docs/runbook.md#||p' "$rules/alerts.yaml")

step 'the runbook has a section for each alert, in their order' diff <(alerts) <(sed -n 's/^### //p' docs/runbook.md)

without_command() { # alerts whose section shows none
	awk '/^### / { if (name && !shown) print name; name = $2; shown = 0 }
		/^hub-[ab]\$ / { shown = 1 }
		END { if (name && !shown) print name }' docs/runbook.md
}
step "each alert's section shows a command, which the runbook's test runs" diff <(without_command) /dev/null

dashboard() {
	python3 tests/docs/dashboard.py "$place/metrics" "$rules/dashboard.json" "$rules/alerts.yaml" \
		>"$place/asked.yaml" && "$promtool" check rules "$place/asked.yaml"
}
step 'the dashboard asks only for metrics that there are, in words that Prometheus takes' dashboard

# Each change makes it something that a server would not load, or would show wrongly.
broken_dashboards() {
	local change
	# shellcheck disable=SC2016 # the dashboard's variables, not the shell's
	for change in 's/"id": 2,/"id": 1,/' 's/"uid": "understudy"/"uid": "a b"/' 's/"x": 4,/"x": 2,/' \
		's/"type": "stat"/"type": "dial"/' 's/"schemaVersion": 38/"schemaVersion": 16/' \
		's/\$pair/$pear/' '0,/"refId": "B"/s//"refId": "A"/' '0,/"uid": "${datasource}"/s//"uid": "P1"/'; do
		sed "$change" "$rules/dashboard.json" >"$place/broken.json"
		if cmp -s "$rules/dashboard.json" "$place/broken.json"; then
			echo "$change: changes nothing" && return 1
		fi
		if python3 tests/docs/dashboard.py "$place/metrics" "$place/broken.json" "$rules/alerts.yaml" >/dev/null 2>&1; then
			echo "$change: is not noticed" && return 1
		fi
	done
}
step 'a dashboard that Grafana would not load as it is meant is noticed' broken_dashboards

mapfile -t pages < <(git ls-files '*.md')
step 'links in the documents lead somewhere' python3 tests/docs/links.py "${pages[@]}"

# Chromium is large: what it alone can say is asked where it is there, as `make check` wants it to be.
browser=$(command -v chromium || true)
if [ -n "$browser" ]; then
	PAGE_OUT=$place/page.html "$build/tests/unit/monitor_page" >/dev/null 2>&1
	python3 tests/docs/browser.py "$browser" "$place/page.html" ||
		echo 'not ok - the status page in a browser: see above'
else
	echo '--- status page in a browser: skipped, there is no chromium here'
fi
