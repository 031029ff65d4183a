#!/bin/sh
# Installs the Debian packages that the build and its tests need, when one is missing: BUILD-DIR.
set -eu
build=$1
packages='gcc make pkg-config libcurl4-openssl-dev libssl-dev libmsgpack-dev libcap-dev
libc-ares-dev libcmocka-dev libjansson-dev libyaml-dev libmicrohttpd-dev zlib1g-dev python3 python3-venv iproute2
python3-jsonschema python3-yaml ca-certificates curl systemd crun mandoc'
stamp=$build/.deps
[ -z "$(find "$0" -newer "$stamp" 2>&1)" ] && exit 0
mkdir -p "$build" build
# shellcheck disable=SC2086
"${0%/*}/packages.sh" $packages
# promtool alone, out of its package: installing that would start a server.
if ! command -v promtool >/dev/null && [ ! -x build/promtool ]; then
	place=$(mktemp -d)
	trap 'rm -rf "$place"' EXIT
	apt-get update -qq >"$build/apt.log" 2>&1 || { cat "$build/apt.log" >&2; exit 1; }
	(cd "$place" && apt-get download -qq -o APT::Sandbox::User=root prometheus) >>"$build/apt.log" 2>&1 ||
		{ tail -n 20 "$build/apt.log" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$place"/prometheus_*.deb | tar -x -C "$place" ./usr/bin/promtool
	mv "$place/usr/bin/promtool" build/promtool
fi
touch "$stamp"
