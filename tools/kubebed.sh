#!/bin/sh
# Builds tests/apiserver/kubebed once for each state of its sources, into the user's cache folder,
# links build/kubebed and build/kubectl to it and prints its path. A cold build takes minutes and
# 2 GB of memory, so it says every 15 s how far it is, and a second caller waits for the first.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
source=$root/tests/apiserver/kubebed
release=v1.36.3 # of k8s.io/kubernetes in go.mod; without it the server takes itself for v0.0.0

sums=$(cd "$source" && cat go.sum go.mod main.go | sha256sum | cut -c1-16)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/understudy/kubebed-$sums
binary=$cache/kubebed
mkdir -p "$cache" "$root/build"

progress() { # LOG: until killed
	elapsed=0
	while sleep 15 >/dev/null 2>&1; do
		elapsed=$((elapsed + 15))
		echo "kubebed: building Kubernetes $release and etcd, once (first time 4-5 minutes):" \
			"$elapsed s, $(grep -vc '^go: ' "$1") packages compiled, now $(tail -n 1 "$1")" >&2
	done
}

build() {
	go=$("$root/tools/go.sh")
	log=$cache/build.log
	echo "kubebed: building Kubernetes $release and etcd into $cache" >&2
	: >"$log"
	progress "$log" &
	progress=$!
	trap 'kill $progress 2>/dev/null || :' EXIT
	version=k8s.io/component-base/version
	if ! (cd "$source" && CGO_ENABLED=0 GOTOOLCHAIN=local GOWORK=off GOFLAGS=-mod=readonly "$go" build \
		-v -trimpath -o "$binary.new" -ldflags "-s -w -X $version.gitVersion=$release \
		-X $version.gitMajor=1 -X $version.gitMinor=36" . >>"$log" 2>&1); then
		tail -n 20 "$log" >&2
		echo "kubebed: the build failed, all of its output: $log" >&2
		exit 1
	fi
	mv "$binary.new" "$binary"
	kill $progress 2>/dev/null || :
	trap - EXIT
}

if [ ! -x "$binary" ]; then
	exec 9>"$cache/lock"
	flock 9
	[ -x "$binary" ] || build 9>&-
fi
for name in kubebed kubectl; do
	[ "$(readlink "$root/build/$name")" = "$binary" ] || ln -sfn "$binary" "$root/build/$name"
done
echo "$binary"
