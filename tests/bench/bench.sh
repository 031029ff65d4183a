#!/bin/sh
# `make bench`: one line per figure, `bench NAME VALUE UNIT target TARGET ok|short`; exits 0 whatever
# falls short. Lag stands beside its floor, a bare watch and one write, measured in the same run.
set -eu
cd "$(dirname "$0")/../.."
tests/bench/fence.sh
tools/kubebed.sh >/dev/null
tools/bed.sh >/dev/null
build/bed demo --dir build/bench.run --bench
build/bed workers --dir build/bench.run --bench
build/bed leader --dir build/bench.run --bench 20
