#!/bin/bash
# Goal: the Debian package is the same wherever it is built, lintian has nothing to say about it, and in
# a clean Debian it installs, has its users and directories, runs under systemd, alone and as a pair that
# does the main job, and goes again. Method: two builds in different places, and a root of packages
# only, made for this and booted by tests/system.sh. Lines `ok - NAME`, `not ok - NAME: why`.
# Needs root and a Debian mirror, and is not part of make check. BUILD is where make put the programs.
set -u
cd "$(dirname "$0")/.." || exit
build=${BUILD:-build}
work=$(mktemp -d)
# Never into what is still mounted.
trap 'umount "$work/root/proc" "$work/root/run" 2>/dev/null; rm -rf --one-file-system "$work"' EXIT
chmod 0755 "$work"
. tests/report.sh
tools/packages.sh lintian mmdebstrap >&2 || exit
problems=
packaging/deb.sh "$build" >/dev/null || problems='it cannot be built'
packaging/deb.sh "$work/a/longer/path" >/dev/null || problems="$problems it cannot be built elsewhere"
for deb in "$build"/deb/*.deb; do
	cmp -s "$deb" "$work/a/longer/path/deb/${deb##*/}" || problems="$problems ${deb##*/} differs;"
done
report 'two builds in different places give the same bytes' "$problems"
rm -rf "$work/a"
report 'lintian has nothing to say' "$(lintian --allow-root --fail-on error,warning "$build"/deb/*.changes 2>&1)"

# --- In a clean Debian -----------------------------------------------------------------------------
root=$work/root
deb=$(echo "$build"/deb/understudy_*.deb)
cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources >"$work/sources" 2>/dev/null
# What it depends on, and systemd, whose tools its scripts call.
depends=$(dpkg-deb --field "$deb" Depends | sed -E 's/ *\([^)]*\)//g; s/ *\|[^,]*//g; s/ //g')
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
for try in 1 2 3; do # its packages come over a network
	rm -rf "$root"
	mmdebstrap --quiet --mode=root --variant=minbase --include="$depends,systemd" "$release" "$root" "$work/sources" >"$work/log" 2>&1 && break
	[ "$try" = 3 ] || sleep 10
done
if [ ! -x "$root/usr/bin/systemd-sysusers" ]; then
	report 'a clean Debian can be made' "$(tail -n 3 "$work/log")"
	exit 1
fi
inside() { chroot "$root" "$@" 2>&1; }
cp "$deb" "$root/understudy.deb"
mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=755 tmpfs "$root/run"
[ -c "$root/dev/null" ] || mknod -m 666 "$root/dev/null" c 1 3
problems=$(inside dpkg --install /understudy.deb >"$work/log" || tail -n 5 "$work/log")
grep -qiE 'warn|error' "$work/log" && problems="$problems $(grep -iE 'warn|error' "$work/log")"
inside getent passwd _understudy-elector | grep -q ':20004:20004:' || problems="$problems no _understudy-elector;"
inside getent group understudy-admin >/dev/null || problems="$problems no group understudy-admin;"
[ "$(stat -c %a "$root/etc/understudy/credentials" 2>&1)" = 700 ] || problems="$problems credentials is not closed;"
[ -L "$root/etc/systemd/system/multi-user.target.wants/understudyd.service" ] || problems="$problems the unit is not enabled;"
inside systemd-analyze verify --man=no understudyd.service >"$work/log" || problems="$problems $(cat "$work/log")"
report 'it installs in a clean Debian: users, directories, unit' "$problems"

# What a chroot allows: the programs start, and a configuration is checked by the installed loader under
# the uid of the installed user.
problems=
inside understudyd --version | grep -q "^understudyd $(dpkg-deb --field "$deb" Version), build" || problems="$problems understudyd --version: $(inside understudyd --version);"
inside understudyctl status | grep -q 'no daemon answers at /run/understudy/status.sock' || problems="$problems understudyctl status: $(inside understudyctl status);"
printf 'mode: standalone\nself: one\nhubs: [{name: one}]\nlisten: {http: "127.0.0.1:%d"}\n' $((20000 + RANDOM % 10000)) >"$root/etc/understudy/understudy.yaml"
chmod 0600 "$root/etc/understudy/understudy.yaml"
said=$(inside understudyd -n)
[ "$said" = 'configuration ok' ] || problems="$problems understudyd -n: $said;"
sed -i 's/standalone/standalon/' "$root/etc/understudy/understudy.yaml"
inside understudyd -n >"$work/log"
[ $? -eq 2 ] && grep -q 'understudy.yaml:1: mode: ."standalon' "$work/log" || problems="$problems a wrong one: $(cat "$work/log");"
sed -i 's/standalon$/standalone/' "$root/etc/understudy/understudy.yaml"
report 'what it installed starts and checks a configuration' "$problems"

# --- As systemd runs it -----------------------------------------------------------------------------
umount "$root/proc" "$root/run"
mv "$root/etc/understudy/understudy.yaml" "$work/understudy.yaml"
tests/system.sh boot "$root" >"$work/boot.log" 2>&1 &
system=$!
managed() { tests/system.sh exec $system "$@" 2>&1; }
shown() { managed systemctl show understudyd --property="$1" --value; }
for _ in $(seq 600); do
	[ "$(managed systemctl is-system-running)" = running ] && break
	kill -0 $system 2>/dev/null || break
	sleep 0.1
done
problems=
[ "$(shown ActiveState)" = inactive ] && [ "$(shown ConditionResult)" = no ] || problems="without a configuration: $(managed systemctl status understudyd) $(cat "$work/boot.log")"
managed tee /etc/understudy/understudy.yaml <"$work/understudy.yaml" >/dev/null
managed chmod 600 /etc/understudy/understudy.yaml
managed systemctl start understudyd >"$work/log" || problems="$problems start: $(cat "$work/log") $(managed journalctl -u understudyd);"
[ "$(shown ActiveState)" = active ] || problems="$problems after its start it is $(shown ActiveState);"
case $(shown StatusText) in 'leading, term '*) ;; *) problems="$problems status $(shown StatusText);" ;; esac
managed understudyctl status | grep -q one || problems="$problems understudyctl status: $(managed understudyctl status);"
managed journalctl -u understudyd | grep -q 'ready: ' || problems="$problems its log is not in the journal;"
managed sed -i 's/standalone/standalon/' /etc/understudy/understudy.yaml
managed systemctl restart understudyd >"$work/log" && problems="$problems it starts with a wrong configuration;"
sleep 3 # RestartSec is 2 s
[ "$(shown ActiveState) $(shown ExecMainStatus) $(shown NRestarts)" = 'failed 2 0' ] || problems="$problems a wrong configuration is no reason to wait for a person: $(managed systemctl status understudyd);"
managed sed -i 's/standalon$/standalone/' /etc/understudy/understudy.yaml
managed systemctl start understudyd >"$work/log" || problems="$problems start once it was mended: $(cat "$work/log");"
managed systemctl stop understudyd >"$work/log" || problems="$problems stop: $(cat "$work/log");"
[ "$(shown ActiveState) $(shown Result)" = 'inactive success' ] || problems="$problems stopped: $(managed systemctl status understudyd);"
kill -KILL $system
wait $system 2>/dev/null
report 'systemd starts it when there is a configuration, waits for a person when that is wrong, and stops it' "$problems"
# The main job, both hubs under the unit.
problems=
{ tools/kubebed.sh && tools/bed.sh && "$build/bed" demo --dir "$build/deb.run" --check --systemd "$root" --changes 3; } >"$work/log" 2>&1 ||
	problems=$(grep -v '^ok' "$work/log" | tail -n 5)
grep '^ok - systemd' "$work/log"
report 'a pair that systemd runs does the main job' "$problems"
mount -t proc proc "$root/proc" && mount -t tmpfs -o mode=755 tmpfs "$root/run"
mv "$work/understudy.yaml" "$root/etc/understudy/understudy.yaml"

problems=$(inside dpkg --purge understudy >"$work/log" || tail -n 5 "$work/log")
[ -e "$root/usr/bin/understudyd" ] && problems="$problems understudyd is still there"
[ -e "$root/etc/understudy/understudy.yaml" ] || problems="$problems the configuration, which is no file of the package, is gone"
report 'it goes again, and leaves what is not its own' "$problems"
exit $failed
