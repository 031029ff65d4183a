#!/bin/bash
# Goal: what is installed fits what was built: every program lies where understudyd looks for it, the
# service manager accepts the unit and it is as closed as it says, each uid has its name. Method: make
# install into an empty directory, systemd's own checkers, and the pages printed from the role table.
# Lines `ok - NAME`, `not ok - NAME: why`. BUILD is where make put the programs.
set -u
cd "$(dirname "$0")/.." || exit
build=${BUILD:-build}
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
. tests/report.sh
unit=packaging/understudyd.service

problems=$(make --no-print-directory BUILD="$build" DESTDIR="$root" install 2>&1 >/dev/null)
for program in $(sed -nE 's/^\| ([a-z-]+) \| base.*/\1/p' docs/privileges.md | sed 's/.*-dialer/dialer/' | sort -u) runner; do
	[ -x "$root/usr/libexec/understudy/$program" ] || problems="$problems no $program"
done
report 'make install puts every program where understudyd looks for it' "$problems"

# --- systemd (F25) ----------------------------------------------------------------------------
# The unit is checked where its programs are: verify wants to see them.
sed "s|/usr/bin/|$root/usr/bin/|" $unit >"$root/understudyd.service"
report 'systemd-analyze verify has nothing to say' \
	"$(SYSTEMD_LOG_LEVEL=warning systemd-analyze verify --man=no "$root/understudyd.service" 2>&1)"
report 'the unit is as closed as can be: exposure 2.0 at most' \
	"$(systemd-analyze security --offline=true --no-pager --threshold=20 $unit >"$root/security" 2>&1 || tail -n 1 "$root/security")"
problems=
for line in Type=notify NotifyAccess=main KillMode=mixed OOMPolicy=continue RuntimeDirectoryPreserve=yes NoNewPrivileges=yes \
	'CapabilityBoundingSet=CAP_SETUID CAP_SETGID CAP_SETPCAP CAP_KILL'; do
	grep -qx "$line" $unit || problems="$problems no $line;"
done
grep -qE '^(User|Group|LoadCredential)' $unit && problems="$problems it must not set User, Group or LoadCredential;"
report 'the unit ends, keeps and feeds its processes as they expect' "$problems"
# A call that a role may use must pass the unit's filter, too, which every process inherits.
problems=$(python3 - "$unit" <<'PYTHON'
import re, subprocess, sys
groups, at = {}, None
for line in subprocess.run(["systemd-analyze", "syscall-filter", "--no-pager"], capture_output=True, text=True).stdout.splitlines():
    word = line.strip()
    if line.startswith("@"):
        at = groups.setdefault(word, [])
    elif line.startswith("    ") and word and not word.startswith("#") and at is not None:
        at.append(word)
def names(words):
    for word in words:
        if word.startswith("@"):
            yield from names(groups[word])
        else:
            yield word
allowed = set()
for line in open(sys.argv[1]):
    if line.startswith("SystemCallFilter="):
        words = line.split("=", 1)[1].split()
        if words[0].startswith("~"):
            allowed -= set(names([words[0][1:]] + words[1:]))
        else:
            allowed |= set(names(words))
allowed |= set(names(["@default"]))
wanted = {m.group(1) for m in re.finditer(r"^CALL\(\w+, (\w+), ALLOW", open("policy/syscalls.def").read(), re.M)}
# What understudyd and the start of a process need besides, up to the second filter.
wanted |= set("setgroups setresgid setresuid capset capget prctl execveat fork clone seccomp landlock_create_ruleset "
              "landlock_add_rule landlock_restrict_self mlock signalfd4 epoll_create1 close_range fallocate flock "
              "pidfd_open kill wait4 socketpair pipe2 memfd_create sendmsg bind listen accept4 prlimit64 setsid".split())
if len(wanted) < 60 or not groups:
    print("the lists cannot be read")
for name in sorted(wanted - allowed):
    print(name)
PYTHON
)
report 'the unit allows every call that a role may use' "$problems"

# --- uids and directories -----------------------------------------------------------------------
named=$(sed -nE 's/^u _understudy-([a-z0-9-]+) ([0-9]+) .*/\1 \2/p' packaging/sysusers.conf | sort)
wanted=$({
	sed -nE 's/^\| ([a-z-]+) \| base \+ ([0-9]+) \|.*/\1 \2/p' docs/privileges.md |
		while read -r role n; do echo "$role $((20000 + n))"; done
	for shard in $(seq 0 31); do echo "repointer-$shard $((20032 + shard))"; done
	sed -nE 's/^#define ROLE_UID_(WORKLOAD|CANARY|SIGNALLER) +([0-9]+)/\1 \2/p' policy/roles.h |
		while read -r name n; do echo "${name,,} $((20000 + n))"; done
} | sort)
report 'each uid of the role table has its name, and no other has one' "$(diff <(echo "$wanted") <(echo "$named") | grep '^[<>]')"
mkdir -p "$root/etc"
problems=$(systemd-sysusers --root="$root" understudy.conf 2>&1 >/dev/null | grep -iE 'fail|invalid|error')
grep -q '^_understudy-elector:' "$root/etc/passwd" 2>/dev/null || problems="$problems no user was made"
grep -q '^understudy-admin:' "$root/etc/group" 2>/dev/null || problems="$problems no group was made"
report 'systemd-sysusers makes them' "$problems"
problems=$(systemd-tmpfiles --root="$root" --create understudy.conf 2>&1)
[ "$(stat -c %a "$root/etc/understudy/credentials" 2>&1)" = 700 ] || problems="$problems credentials is not closed"
[ "$(stat -c '%a %u %g' "$root/run/understudy/hub" 2>&1)" = '2750 20007 20008' ] || problems="$problems the hand-over directory is not the follower's"
report 'systemd-tmpfiles makes the directories' "$problems"

# --- Manual and completion --------------------------------------------------------------------
problems=
for page in "$build"/man/*; do
	problems="$problems$(mandoc -Tlint "$page" 2>/dev/null | grep -v 'referenced manual not found')"
	name=${page##*/}
	[ -s "$root/usr/share/man/man${name##*.}/$name" ] || problems="$problems $name is not installed;"
	# What the page refers to is a page of ours, or one that every system has.
	while read -r other section; do
		case $other in understudy*|fence) [ -s "$build/man/$other.$section" ] || problems="$problems $name refers to $other($section);" ;; esac
	done < <(sed -nE 's/^\.Xr ([^ ]+) ([0-9]).*/\1 \2/p' "$page")
done
[ -s "$build/man/understudy.conf.5" ] || problems="$problems there are no pages"
report 'mandoc has nothing to say about the manual' "$problems"
problems=
for role in $(sed -nE 's/^\| ([a-z-]+) \| (base|0).*/\1/p' docs/privileges.md); do
	grep -qx "\.It Cm $role" "$build/man/understudy.7" || problems="$problems $role;"
done
report 'understudy(7) names every process' "$problems"

problems=
mandoc -Tascii "$build/man/understudyctl.1" | tr -s ' \n' ' ' >"$root/page"
for word in $("$build/understudyctl" --help | sed -nE 's/^  ([a-z][a-z-]*) .*/\1/p'); do
	usage=$("$build/understudyctl" help "$word" | sed -n '1,/^$/p' | tr -s ' \n' ' ')
	grep -qF -- "${usage#*PATH] }" "$root/page" || problems="$problems $word;"
done
[ -n "$usage" ] || problems="$problems there is no command"
report 'understudyctl(1) has the usage of every command' "$problems"

complete() { # WORDS...: what bash would offer for the last word
	bash -c 'source "$0" && COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _understudyctl && printf "%s " "${COMPREPLY[@]}"' \
		"$root/usr/share/bash-completion/completions/understudyctl" "$@"
}
problems=
offers() { # WANTED WORDS...
	local wanted=$1 got
	shift
	got=$(complete "$@" 2>&1)
	[ "$got" = "$wanted" ] || problems="$problems $*: \"$got\", not \"$wanted\";"
}
offers 'switchover ' understudyctl sw
offers 'sync ' understudyctl --socket /run/x sy
offers 'diff discard ' understudyctl sync di
offers '--accept-incomplete ' understudyctl promote --yes hub-b --a
offers 'text json ' understudyctl status -o ''
offers 'bash zsh fish ' understudyctl completion ''
offers 'history ' understudyctl help hi
offers ' ' understudyctl status no
offers ' ' understudyctl switchover --to ''
offers "$root/usr " understudyctl check-config "$root/us"
offers "$root/usr " understudyctl check-config x --pair "$root/us"
offers '--pair ' understudyctl check-config --
report 'bash completes commands, verbs, options and formats' "$problems"
report 'fish offers files for options that take one, and for no other' \
	"$("$build/understudyctl" completion fish | grep -e '-r -F$' | grep -vE ' -l (socket|kubeconfig|to-kubeconfig|offline|pair|out) ')"
for shell in zsh fish; do
	command -v $shell >/dev/null || continue
	"$build/understudyctl" completion $shell >"$root/script"
	report "$shell reads its script" "$($shell -n "$root/script" 2>&1 || echo 'it does not')"
done

# --- Log ------------------------------------------------------------------------------------------
# The loader's word, turned by understudyd; and the other form without being asked.
printf 'mode: "wrong\\\\"\n' >"$root/wrong.yaml"
chmod 0600 "$root/wrong.yaml"
problems=$("$build/understudyd" --log json -n --config "$root/wrong.yaml" 2>&1 | python3 -c '
import json, sys
lines = [json.loads(line) for line in sys.stdin]
if [(l["level"], l["process"]) for l in lines] != [("error", "loader")] or "wrong\\" not in lines[0]["msg"]:
    print(lines)' 2>&1)
"$build/understudyd" -n --config "$root/wrong.yaml" 2>&1 | grep -q '^time=[^ ]* level=error process=loader msg="' || problems="$problems no logfmt"
report 'the log is JSON where that is asked for' "$problems"

# --- Container image ------------------------------------------------------------------------------
problems=$(packaging/oci/build.sh "$build" "$root/once" 2>&1 >/dev/null)
problems="$problems$(umask 077 && packaging/oci/build.sh "$build" "$root/again" 2>&1 >/dev/null)"
cmp -s "$root/once/understudy.tar" "$root/again/understudy.tar" || problems="$problems two builds differ"
report 'the image archive is the same twice' "$problems"
mkdir -p "$root/image" "$root/rootfs"
problems=$(tar -xf "$root/once/understudy.tar" -C "$root/image" 2>&1)
problems="$problems$(python3 - "$root/image" 2>&1 <<'PYTHON'
import gzip, hashlib, json, sys
at = sys.argv[1]
def blob(d):
    data = open(f"{at}/blobs/{d['digest'].replace(':', '/')}", "rb").read()
    if hashlib.sha256(data).hexdigest() != d["digest"][7:] or len(data) != d["size"]:
        print(d["digest"], "is another blob")
    return data
index = json.load(open(f"{at}/index.json"))
manifest = json.loads(blob(index["manifests"][0]))
config = json.loads(blob(manifest["config"]))
layers = [gzip.decompress(blob(l)) for l in manifest["layers"]]
if ["sha256:" + hashlib.sha256(l).hexdigest() for l in layers] != config["rootfs"]["diff_ids"]:
    print("the layer is not the one that the configuration names")
open(f"{at}/layer.tar", "wb").write(layers[0])
PYTHON
)"
report 'each blob of the image is what its digest says' "$problems"
problems=$(tar -xf "$root/image/layer.tar" -C "$root/rootfs" 2>&1)
[ -n "$(find "$root/rootfs" ! -type l -perm /07022)" ] && problems="$problems something is setuid or writable by others"
for program in understudyd understudyctl; do
	chroot "$root/rootfs" /usr/bin/$program --version >/dev/null 2>&1 ||
		problems="$problems $program does not start in it;"
done
for program in "$root"/rootfs/usr/libexec/understudy/*; do
	chroot "$root/rootfs" /lib64/ld-linux-x86-64.so.2 --list "/usr/libexec/understudy/${program##*/}" >/dev/null 2>"$root/missing" ||
		problems="$problems ${program##*/}: $(cat "$root/missing")"
done
report 'the image has all that its programs need, and nothing setuid' "$problems"
exit $failed
