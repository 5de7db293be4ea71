#!/usr/bin/env bash
# tests/package/container_test.sh: builds etc/Containerfile with buildah, on a Debian that debootstrap makes in the place of
# the one from a registry, and serves from the image as a container engine would: with its user, its command, its
# health check and its signal. Needs root, and Debian's mirrors.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/debian_root.sh"
containers=$root/build-package/containers
image=perennial-test

# Uses its own store and none of the machine's settings.
build_tool() {
  buildah --root "$containers" --runroot "$containers.run" --storage-driver vfs "$@"
}

inspect() {
  build_tool inspect --type image --format "{{.Docker.Config.$1}}" "$image"
}

# same WHAT SEEN WANTED
same() {
  [[ $2 == "$3" ]] && return
  echo "container: $1: $2, and not $3" >&2
  exit 1
}

make_base_images() {
  local container
  container=$(build_tool from scratch)
  build_tool add --quiet "$container" "$base_tar" / >/dev/null
  build_tool commit --quiet --rm "$container" docker.io/library/debian:12 >/dev/null
  build_tool tag docker.io/library/debian:12 docker.io/library/debian:12-slim
}

clean_up() {
  build_tool rm --all >/dev/null 2>&1 || true
  rm -rf --one-file-system "$containers" "$containers.run"
}

main() {
  require_root container_test
  make_base_tar
  trap clean_up EXIT
  make_base_images
  build_tool build --quiet --pull=never --isolation chroot --network host --format docker \
    --tag "$image" --file "$root/etc/Containerfile" "$root" >"$containers.log" 2>&1 ||
    { tail -20 "$containers.log" >&2; exit 1; }
  same 'user' "$(inspect User)" 11300:11300
  same 'volumes' "$(inspect Volumes)" 'map[/var/lib/perennial:{}]'
  same 'ports' "$(inspect ExposedPorts)" 'map[11300/tcp:{}]'
  same 'signal' "$(inspect StopSignal)" SIGTERM
  same 'command' "$(inspect Entrypoint)" '[perenniald --data-dir /var/lib/perennial]'
  same 'health check' "$(inspect Healthcheck.Test)" \
    '[CMD perennial stats --server 127.0.0.1:11300]'
  local folder
  folder=$(build_tool mount "$(build_tool from --pull=never "$image")")
  unshare --net --mount --pid --fork --mount-proc --kill-child "$here/in_container.sh" "$folder"
  echo 'container: built, served, healthy, stopped'
}

main
