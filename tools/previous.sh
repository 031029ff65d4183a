#!/bin/sh
# Builds the commit before this one into build/previous, for the test of an upgrade. PREVIOUS=COMMIT:
# that one. Exits with 3 where there is none, as in a shallow clone.
set -eu
cd "$(dirname "$0")/.."
commit=$(git rev-parse --verify --quiet "${PREVIOUS:-HEAD~1}^{commit}") || {
	echo "there is no commit ${PREVIOUS:-HEAD~1} here to build" >&2
	exit 3
}
to=$PWD/build/previous
[ "$(cat "$to/commit" 2>/dev/null)" != "$commit" ] || exit 0
rm -rf "$to" "$to.src"
mkdir -p "$to.src"
git archive "$commit" -- . ':!tests' | tar -x -C "$to.src"
make -C "$to.src" -j"$(nproc)" NODEPS=1 all >"$to.log" 2>&1 || { tail -n 20 "$to.log" >&2; exit 1; }
mkdir -p "$to"
for program in understudyd understudyctl runner loader dialer monitor observer elector syncer publisher repointer follower; do
	cp "$to.src/build/$program" "$to/"
done
rm -rf "$to.src"
echo "$commit" >"$to/commit"
