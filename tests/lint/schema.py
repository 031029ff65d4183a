#!/usr/bin/env python3
"""The schemas in docs/ are such; that of the configuration takes the configurations that the documents show and
those that the loader's tests call right, and refuses single wrong values. Prints what is not so."""
import json
import re
import sys

import jsonschema
import yaml

validator = jsonschema.Draft202012Validator
for name in "audit", "answers", "configuration":
    schema = json.load(open(f"docs/{name}.schema.json"))
    try:
        validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        print(f"{name}: it is no schema:", error.message, end="; ")
        sys.exit()


def typed(text):
    """As an editor reads it: numbers are numbers."""
    return [e.message[:160] for e in validator(schema).iter_errors(yaml.safe_load(text))]


def c_text(name):
    """A C text of the loader's tests."""
    source = open("tests/unit/loader_config.c").read()
    body = re.search(r"static const char %s\[\] =\n(.*?);\n\n" % name, source, re.S).group(1)
    return "".join(json.loads(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', body))


right = {"README": re.search(r"```yaml\n(.*?)```", open("README.md").read(), re.S).group(1),
         "docs/replicas.md": re.search(r"```yaml\n(.*?)```", open("docs/replicas.md").read(), re.S).group(1),
         "example": c_text("example"), "least": c_text("least")}
for name, text in right.items():
    for fault in typed(text):
        print(f"it refuses the configuration {name}: {fault}", end="; ")

for line in ["mode: leader", "hubs: []", "hub: []", "namespace: N", "lease: {duration: 15}", "lease: {duration: soon}",
             "lease: {ration: 1s}", "repointer: {shard-size: 0}", "repointer: {shard-size: 257}", "mirror: {kinds: [x]}",
             "mirror: {allow-rules: [pods]}", "mirror: {allow-rules: [\"core/po'ds:get\"]}", "allow-missing: [everything]", "dial: {allow: [10.0.0.0]}", "listen: {http: here}",
             "run: {directory: run}", "workload: {command: []}", "workers: [{name: w}]", "credentials: {elector: /e}",
             "credentials: {elektor: {kubeconfig: /e}}", "promotion: {mode: auto}"]:
    key = line.split(":")[0]
    text = "\n".join(l for l in c_text("least").splitlines() if not l.startswith(key + ":") and not (key == "credentials" and l.startswith(" ")))
    if not typed(text + "\n" + line + "\n"):
        print("it takes", line, end="; ")
for key in "mode", "self":
    if not typed("\n".join(l for l in c_text("least").splitlines() if not l.startswith(key + ":"))):
        print("it does not want", key, end="; ")
