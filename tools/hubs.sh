#!/bin/sh
# hubs.sh up|down: hub-a, hub-b and worker-1 on loopback, to look around in by hand.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
state=$root/build/hubs
case ${1-} in
up)
	"$root/tools/kubebed.sh" >/dev/null
	"$("$root/tools/bed.sh")" up --dir "$state" hub-a hub-b worker-1
	echo "for example: build/kubectl --kubeconfig build/hubs/hub-a/admin.kubeconfig get namespaces"
	echo "to end it:   make hubs-down"
	;;
down)
	"$("$root/tools/bed.sh")" down --dir "$state"
	;;
*)
	echo "usage: hubs.sh up|down" >&2
	exit 2
	;;
esac
