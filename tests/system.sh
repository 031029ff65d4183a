#!/bin/bash
# A Debian in a folder, with systemd as its process 1: its own processes, mounts, control groups and host
# name, the caller's network. What it changes is forgotten when it ends, with this script. Needs root.
#
#   system.sh boot ROOT [SOURCE=DESTINATION ...]   until it is ended; binds those files and folders
#   system.sh exec PID COMMAND...                  runs a command in one, PID being that of its boot
set -eu
case ${1-} in
boot)
	root=$2
	shift 2
	exec unshare --mount --pid --fork --uts --ipc --cgroup --kill-child "$0" inside "$root" "$@"
	;;
exec)
	init=$(cat "/proc/$2/task/$2/children")
	shift 2
	exec nsenter --target "${init% }" --all --root --wd -- "$@"
	;;
inside) ;;
*)
	sed -n 's/^# \{0,1\}//p' "$0" | sed -n '5,6p' >&2
	exit 2
	;;
esac
lower=$2
shift 2
mount --make-rprivate /
mount -t tmpfs tmpfs /mnt
mkdir /mnt/upper /mnt/work /mnt/root
mount -t overlay -o "lowerdir=$lower,upperdir=/mnt/upper,workdir=/mnt/work" overlay /mnt/root
cd /mnt/root
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t tmpfs tmpfs sys/fs/cgroup
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs -o mode=755 tmpfs dev
for device in null zero full random urandom tty; do
	touch "dev/$device"
	mount --bind "/dev/$device" "dev/$device"
done
mkdir dev/shm dev/pts before
mount -t tmpfs tmpfs dev/shm
mount -t devpts -o newinstance,ptmxmode=0666 devpts dev/pts
ln -s pts/ptmx dev/ptmx
for bind; do
	to=.${bind#*=}
	if [ -d "${bind%%=*}" ]; then mkdir -p "$to"; else mkdir -p "${to%/*}" && touch "$to"; fi
	mount --bind "${bind%%=*}" "$to"
done
pivot_root . before
umount -l /before
exec </dev/null env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin \
	/lib/systemd/systemd --log-target=console --show-status=no
