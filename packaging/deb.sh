#!/bin/sh
# deb.sh BUILD: builds the Debian package into BUILD/deb from a copy of the sources, so that nothing is
# left beside them. The same sources give the same bytes, wherever they lie. The debug symbols are a
# package of their own.
set -eu
cd "$(dirname "$0")/.."
case $1 in /*) out=$1/deb ;; *) out=$PWD/$1/deb ;; esac
tools/packages.sh debhelper >&2
version=$(sed -n '1s/^[^(]*(\([^)]*\)).*/\1/p' packaging/debian/changelog)
rm -rf "$out"
mkdir -p "$out/understudy-$version"
git ls-files -z --cached --others --exclude-standard -- ':!tests' ':!.ci' | tar --create --null --files-from=- | tar --extract --directory "$out/understudy-$version"
cd "$out/understudy-$version"
mv packaging/debian debian
ln -s ../debian packaging/debian
# The time of the changelog's entry, for every file in the package.
export CCACHE_DISABLE=1 # which knows what another tree compiled, by its paths
if ! DEB_BUILD_OPTIONS="nocheck parallel=$(nproc)" dpkg-buildpackage --build=binary --no-sign >"$out/log" 2>&1; then
	tail -n 30 "$out/log" >&2
	exit 1
fi
cd "$out"
rm -rf "understudy-$version"
ls "$out"/*.deb
