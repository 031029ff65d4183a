#!/bin/sh
# build.sh BUILD [TO]: makes in TO (BUILD/oci) bundle/ for crun and runc, and understudy.tar, an image
# archive of the OCI layout, from what make built and the shared libraries that it needs: no base
# image, nothing that is not used. The same inputs give the same bytes (SOURCE_DATE_EPOCH, else the
# time of the changelog's entry).
set -eu
cd "$(dirname "$0")/../.."
build=$1
out=${2:-$build/oci}
epoch=${SOURCE_DATE_EPOCH:-$(date -d "$(sed -n '/^ -- /{s/.*>  //p;q}' packaging/debian/changelog)" +%s)}
version=$(sed -n '1s/^[^(]*(\([^)]*\)).*/\1/p' packaging/debian/changelog)
umask 022
rm -rf "$out"
mkdir -p "$out/bundle/rootfs"
root=$out/bundle/rootfs

# --- Root file system -------------------------------------------------------------------------
install -D -t "$root/usr/bin" "$build/understudyd" "$build/understudyctl"
for program in runner loader dialer monitor observer elector syncer publisher repointer follower; do
	install -D -t "$root/usr/libexec/understudy" "$build/$program"
done
mkdir -p "$root/usr/lib" "$root/usr/lib64" "$root/etc/understudy" "$root/proc" "$root/sys" "$root/dev" "$root/run"
ln -s usr/bin "$root/bin"
ln -s usr/lib "$root/lib"
ln -s usr/lib64 "$root/lib64"
# ldd's lines: `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x...)` and the loader's path alone.
ldd "$root"/usr/bin/* "$root"/usr/libexec/understudy/* | awk '/not found/ { print > "/dev/stderr"; exit 1 }
	$2 == "=>" { print $3; next } $1 ~ /^\// && $2 ~ /^\(/ { print $1 }' | sort -u >"$out/libraries"
[ -s "$out/libraries" ]
while read -r library; do
	install -D -m 0755 "$(readlink -f "$library")" "$root/$library"
done <"$out/libraries"
{
	echo 'root:x:0:0:root:/:/usr/sbin/nologin'
	sed -nE 's/^u ([^ ]+) ([0-9]+) "(.*)"/\1:x:\2:\2:\3:\/:\/usr\/sbin\/nologin/p' packaging/sysusers.conf
} >"$root/etc/passwd"
{
	echo 'root:x:0:'
	sed -nE 's/^u ([^ ]+) ([0-9]+) .*/\1:x:\2:/p' packaging/sysusers.conf
} >"$root/etc/group"
cp packaging/oci/config.json "$out/bundle/config.json"

# --- Image archive ------------------------------------------------------------------------------
blobs=$out/image/blobs/sha256
mkdir -p "$blobs"
archive() { # DIRECTORY: its files as a tar that depends on nothing but them
	tar --create --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner \
		--format=ustar --directory "$1" .
}
blob() { # FILE: moves it to its place and prints `"digest": ..., "size": ...`
	digest=$(sha256sum "$1" | cut -d' ' -f1)
	size=$(stat -c %s "$1")
	mv "$1" "$blobs/$digest"
	printf '"digest": "sha256:%s", "size": %s' "$digest" "$size"
}
archive "$root" >"$out/layer.tar"
diff_id=$(sha256sum "$out/layer.tar" | cut -d' ' -f1)
gzip -n "$out/layer.tar"
layer=$(blob "$out/layer.tar.gz")
created=$(date -u -d "@$epoch" +%Y-%m-%dT%H:%M:%SZ)
cat >"$out/config" <<JSON
{"created": "$created", "architecture": "amd64", "os": "linux",
 "config": {"User": "0:0", "Entrypoint": ["/usr/bin/understudyd"], "Cmd": ["--config", "/etc/understudy/understudy.yaml"],
  "WorkingDir": "/", "Env": ["PATH=/usr/bin"], "StopSignal": "SIGTERM",
  "Labels": {"org.opencontainers.image.title": "understudy", "org.opencontainers.image.version": "$version", "org.opencontainers.image.licenses": "Apache-2.0"}},
 "rootfs": {"type": "layers", "diff_ids": ["sha256:$diff_id"]},
 "history": [{"created": "$created", "created_by": "make oci"}]}
JSON
config=$(blob "$out/config")
cat >"$out/manifest" <<JSON
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
 "config": {"mediaType": "application/vnd.oci.image.config.v1+json", $config},
 "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar+gzip", $layer}]}
JSON
manifest=$(blob "$out/manifest")
cat >"$out/image/index.json" <<JSON
{"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json",
 "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json", $manifest,
  "platform": {"architecture": "amd64", "os": "linux"}, "annotations": {"org.opencontainers.image.ref.name": "$version"}}]}
JSON
printf '{"imageLayoutVersion": "1.0.0"}\n' >"$out/image/oci-layout"
archive "$out/image" >"$out/understudy.tar"
rm -rf "$out/image" "$out/libraries"
echo "$out/bundle, $out/understudy.tar ($(($(stat -c %s "$out/understudy.tar") / 1024)) KiB)"
