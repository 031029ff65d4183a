#!/bin/sh
# Builds build/bed, the test bed's launcher, and prints its path. Standard library only: seconds
# when cold, nothing when it is up to date.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
go=$("$root/tools/go.sh")
mkdir -p "$root/build"
cd "$root/tests/apiserver/bed"
CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS=-mod=readonly "$go" build -trimpath -o "$root/build/bed" . >&2
echo "$root/build/bed"
