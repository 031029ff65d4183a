#!/bin/sh
# Prints the pages that are made from tables into a directory: [DIRECTORY], docs by default.
# tests/lint prints them elsewhere and compares.
set -eu
cd "$(dirname "$0")/.."
to=${1:-docs}
build=${BUILD:-build}
mkdir -p "$to"
"$build/privileges" >"$to/privileges.md"
"$build/messages" >"$to/messages.md"
"$build/configuration" markdown >"$to/configuration.md"
"$build/configuration" schema >"$to/configuration.schema.json"
"$build/metrics" >"$to/metrics.md"
"$build/refusals" >"$to/refusals.md"
