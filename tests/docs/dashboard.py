"""What the dashboard asks, as recording rules for `promtool check rules`; and every metric that the
dashboard or the alerts name must be one that the monitor has. Arguments: the exposition of
build/metrics --sample, dashboard.json, alerts.yaml. Ends with 1 and says what is wrong."""
import json
import re
import sys

exposition, dashboard, alerts = (open(name, encoding="utf-8").read() for name in sys.argv[1:4])
board = json.loads(dashboard)
problems = []
ids = [panel["id"] for panel in board["panels"]]
if len(ids) != len(set(ids)):
    problems.append("two panels have one id")
expressions = [
    (panel["title"], target["expr"]) for panel in board["panels"] for target in panel["targets"]
]
for panel in board["panels"]:
    place = panel["gridPos"]
    if place["x"] + place["w"] > 24:
        problems.append(f"{panel['title']}: wider than the grid")
known = set(re.findall(r"^# TYPE (\S+)", exposition, re.M))
named = re.compile(r"\b(?:kubeslice|understudy)_[a-z0-9_]+")
asked = [(where, name) for where, text in expressions for name in named.findall(text)]
asked += [("alerts", name) for line in alerts.splitlines() if "expr:" in line for name in named.findall(line)]
for where, name in asked:
    if re.sub(r"_(bucket|sum|count)$", "", name) not in known:
        problems.append(f"{where}: no metric is called {name}")
if len(asked) < 20:
    problems.append("fewer names were found than there are alerts")
for problem in problems:
    print(problem, file=sys.stderr)
print("groups:\n- name: dashboard\n  rules:")
for number, (_, text) in enumerate(expressions):
    text = text.replace("$__rate_interval", "5m").replace("$__range", "6h").replace("$pair", "p")
    print(f"  - record: dashboard:{number}\n    expr: {json.dumps(text)}")
sys.exit(bool(problems))
