#!/bin/sh
# gotest.sh [apiserver]: format, vet and tests of the Go parts (the fence page's reader, the test
# bed). With the word apiserver also the tests on real control planes, which take half a minute, and
# the dashboard's, which fetches Grafana's types for it.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
go=$("$root/tools/go.sh")
export GOTOOLCHAIN=local GOWORK=off GOFLAGS=-mod=readonly
tags=${1-}
if [ "$tags" = apiserver ]; then
	"$root/tools/kubebed.sh" >/dev/null
	"$root/tools/bed.sh" >/dev/null
fi
for module in fence tests/apiserver/bed tests/apiserver/kubebed ${tags:+tests/docs/dashboard}; do
	cd "$root/$module"
	unformatted=$("$(dirname "$go")/gofmt" -l .)
	if [ -n "$unformatted" ]; then
		echo "gotest.sh: not gofmt's form in $module: $unformatted" >&2
		exit 1
	fi
	[ "$module" != tests/apiserver/kubebed ] || continue # links Kubernetes; its build is its test
	"$go" vet -tags "$tags" ./...
	"$go" test -count=1 -tags "$tags" ./...
done
