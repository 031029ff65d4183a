#!/bin/sh
# `make demo`: two hubs, a worker and a failover, as a timeline. KEEP=1 leaves everything up.
# Arguments go to `bed demo`.
set -eu
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "make demo: root is needed: each process runs under a uid of its own" >&2; exit 1; }
tools/kubebed.sh >/dev/null
tools/bed.sh >/dev/null
build/bed demo --dir build/demo.run ${KEEP:+--keep} "$@"
[ -n "${KEEP-}" ] || echo "KEEP=1 make demo leaves all of it up, and says how to look around"
