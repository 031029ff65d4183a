"""What the dashboard asks, as recording rules for `promtool check rules`; every metric that the
dashboard or the alerts name must be one that the monitor has; and the file must be what Grafana's
dashboard JSON model says, so that an import loads it on any server: no id of one database, every data
source a variable, panels of core types with their own ids and places that do not overlap. Arguments: the
exposition of build/metrics --sample, dashboard.json, alerts.yaml. Ends with 1 and says what is wrong."""
import json
import re
import sys

exposition, dashboard, alerts = (open(name, encoding="utf-8").read() for name in sys.argv[1:4])
board = json.loads(dashboard)
problems = []


def check(good, words):
    if not good:
        problems.append(words)


# The model: Grafana's documentation, "Dashboard JSON model" and "Import dashboards".
check(board.get("id") is None, "id: it is one of a single server's database; expected none")
check(re.fullmatch(r"[A-Za-z0-9_-]{1,40}", board.get("uid", "")), "uid: expected up to 40 letters, digits, - and _")
check(isinstance(board.get("title"), str) and board["title"], "title: expected a text")
check(isinstance(board.get("schemaVersion"), int) and board["schemaVersion"] >= 36,
      "schemaVersion: expected at least 36, which has data sources as objects")
check(set(board.get("time", {})) == {"from", "to"}, "time: expected from and to")
check(board.get("timezone") in ("", "utc", "browser"), "timezone: expected utc, browser or none")
check(re.fullmatch(r"\d+[smh]", board.get("refresh", "")), "refresh: expected a duration")
check(isinstance(board.get("annotations", {}).get("list"), list), "annotations.list: expected a list")
variables = {v["name"]: v for v in board["templating"]["list"]}
check(len(variables) == len(board["templating"]["list"]), "two variables have one name")
check(variables.get("datasource", {}).get("type") == "datasource" and variables["datasource"].get("query") == "prometheus",
      "templating: expected a variable `datasource` of type datasource, for prometheus")
source = {"type": "prometheus", "uid": "${datasource}"}
for name, variable in variables.items():
    check(variable["type"] in ("datasource", "query"), f"variable {name}: type {variable['type']}")
    check(variable["type"] != "query" or variable.get("datasource") == source, f"variable {name}: expected ${{datasource}}")
cells, ids = {}, set()
for panel in board["panels"]:
    title = panel.get("title", "")
    check(title, "a panel has no title")
    check(isinstance(panel.get("id"), int) and panel["id"] > 0 and panel["id"] not in ids,
          f"{title}: id {panel.get('id')} is none, or another panel's")
    ids.add(panel.get("id"))
    check(panel.get("type") in ("stat", "timeseries", "table", "row", "text", "gauge", "bargauge"),
          f"{title}: {panel.get('type')} is no core panel")
    check(panel.get("datasource") == source, f"{title}: datasource: expected ${{datasource}}")
    check(set(panel.get("fieldConfig", {})) >= {"defaults", "overrides"}, f"{title}: fieldConfig: expected defaults and overrides")
    refs = [target.get("refId") for target in panel["targets"]]
    check(refs and None not in refs and len(refs) == len(set(refs)), f"{title}: refIds {refs}: expected one each")
    for target in panel["targets"]:
        check(target.get("datasource", source) == source, f"{title}: a target has another data source")
        for used in re.findall(r"\$\{?(\w+)", target["expr"]):
            check(used in variables or used in ("__rate_interval", "__range"), f"{title}: there is no variable {used}")
    place = panel["gridPos"]
    check(all(isinstance(place.get(side), int) for side in "xywh") and place["x"] >= 0 and place["w"] > 0 and place["h"] > 0,
          f"{title}: gridPos: expected x, y, w and h")
    for x in range(place["x"], place["x"] + place["w"]):
        for y in range(place["y"], place["y"] + place["h"]):
            check((x, y) not in cells, f"{title}: lies over {cells.get((x, y))}")
            cells[x, y] = title
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
