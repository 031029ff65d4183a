#!/bin/sh
# packages.sh NAME...: installs those Debian packages that are missing, for what only some need.
set -eu
missing=
for package; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
echo "installing:$missing"
[ "$(id -u)" = 0 ] || { echo "error: root is needed to install$missing" >&2; exit 1; }
log=$(mktemp)
# shellcheck disable=SC2086
if ! { apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
	tail -n 20 "$log" >&2
	exit 1
fi
rm -f "$log"
