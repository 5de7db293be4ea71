#!/usr/bin/env bash
# tests/package/release_test.sh [FOLDER]: makes the release twice, from two clones in folders of different names, the second time
# without what ccache has kept, and compares them byte by byte. Then it tries what was made: the archive for other
# distributions in a root that has nothing but the system libraries it asks for, and the image as an engine would run it.
# With FOLDER, a release that is there, it makes none. Needs root and Debian's mirrors.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/debian_root.sh"
image_bytes_max=$((60 << 20))

fail() {
  echo "release: $*" >&2
  exit 1
}

# same WHAT SEEN WANTED
same() {
  [[ $2 == "$3" ]] || fail "$1: '$2', and not '$3'"
}

main() {
  require_root release_test
  work=$(mktemp -d /var/tmp/perennial-release.XXXXXX)
  trap 'rm -rf --one-file-system "$work"' EXIT
  if [[ $# -eq 1 ]]; then
    release=$(cd "$1" && pwd)
  else
    make_twice
  fi
  check_files
  check_sources
  python3 "$here/sbom_check.py" "$release"
  check_portable
  check_image
}

# ---- The same bytes, wherever and whenever.

make_twice() {
  local first=$work/first second=$work/a-clone-of-another-name
  git clone --quiet "$root" "$first"
  git clone --quiet "$root" "$second"
  expect_refusal "$first"
  timed "$first"
  CCACHE_DISABLE=1 timed "$second" "$work/elsewhere"
  release=$first/build-package/release
  diff "$release/SHA256SUMS" "$work/elsewhere/SHA256SUMS" || fail 'two builds of a commit differ'
  echo 'release: made twice, the same bytes'
}

timed() {
  local began=$SECONDS
  "$1/etc/release" "${@:2}" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; fail "etc/release fails in $1"; }
  echo "release: made in $((SECONDS - began)) s"
}

expect_refusal() {
  local said
  echo 'not of the commit' >"$1/cmd/stray.txt"
  ! said=$("$1/etc/release" 2>&1) || fail 'a release is made of a tree that differs from its commit'
  [[ $said == *'cmd/stray.txt'* ]] || fail "it does not say what is in the way: $said"
  rm "$1/cmd/stray.txt"
}

# ---- What is there.

check_files() {
  (cd "$release" && sha256sum --check --strict --quiet SHA256SUMS) || fail 'checksums are wrong'
  same 'files without a checksum' "$(comm -3 <(find "$release" -type f ! -name SHA256SUMS -printf '%f\n' | sort) <(awk '{ print $2 }' "$release/SHA256SUMS" | sort))" ''
  version=$(sed -n 's/^project(perennial VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")
  arch=$(dpkg --print-architecture)
  for file in "perennial-$version.tar.gz" "perennial_$version-1_$arch.deb" "perennial-$version-linux-$arch.tar.gz" \
    "perennial-$version-oci-$arch.tar" "perennial-$version.spdx.json"; do
    [[ -s $release/$file ]] || fail "there is no $file"
    printf 'release: %11d bytes %s\n' "$(stat -c %s "$release/$file")" "$file"
  done
  same 'the version of the package' "$(dpkg-deb --field "$release/perennial_$version-1_$arch.deb" Version)" "$version-1"
  # package_test.sh runs lintian over the same package.
}

# The sources are what git has, and can be built without it.
check_sources() {
  local archive=$release/perennial-$version.tar.gz
  diff <(tar -tzf "$archive" | sed -n "s|^perennial-$version/||; /[^/]$/p" | sort) <(git -C "$root" ls-tree -r --name-only HEAD | sort) ||
    fail 'the archive of the sources and the commit differ'
}

# ---- The archive for other distributions.

check_portable() {
  local stated seen folder=$work/foreign name=perennial-$version-linux-$arch
  mkdir -p "$folder/opt" "$folder/tmp" "$folder/proc" "$work/debs"
  # These three bring the C library, libstdc++ and libgcc_s, and nothing else: no shell either.
  (cd "$work/debs" && apt-get -qq -o APT::Sandbox::User=root download libc6 libstdc++6 libgcc-s1 >&2)
  for package in "$work/debs"/*.deb; do dpkg-deb -x "$package" "$folder"; done
  tar -C "$folder/opt" -xzf "$release/$name.tar.gz"
  stated=$(sed -n 's/^It needs glibc \([0-9.]*\) or newer, and libstdc++ with \(GLIBCXX_[0-9.]*\) .*/GLIBC_\1 \2/p' "$folder/opt/$name/README")
  # As the linker tells it, and not readelf, by which the README was made.
  seen=$(find "$folder/opt/$name" -type f \( -path '*/bin/perennial*' -o -path '*/lib/perennial/*' \) ! -name '*-plot' -exec objdump -p {} + |
    awk '$NF ~ /^GLIBC(XX)?_[0-9.]+$/ { print $NF }' | sort -uV)
  same 'what the README says it needs' "$stated" "$(grep '^GLIBC_' <<<"$seen" | tail -n 1) $(grep '^GLIBCXX_' <<<"$seen" | tail -n 1)"
  chmod 1777 "$folder/tmp"
  unshare --net --mount --pid --fork --mount-proc --kill-child "$here/in_foreign.sh" "$folder" "/opt/$name"
  echo "release: serves where there is nothing but ${stated/ / and }"
}

# ---- The image.

# Its own store, and none of the machine's settings.
store() {
  buildah --root "$work/store" --runroot "$work/store.run" --storage-driver vfs "$@"
}

check_image() {
  local image=$release/perennial-$version-oci-$arch.tar folder container
  [[ $(stat -c %s "$image") -le $image_bytes_max ]] || fail "the image has more than $image_bytes_max bytes"
  # As podman and Kubernetes read it, and as docker does.
  store pull --quiet "oci-archive:$image" >/dev/null || fail 'no engine takes it as an image of OCI'
  container=$(store from --quiet "docker-archive:$image") || fail 'no engine takes it as an image of Docker'
  inspect() { store inspect --format "{{.Docker.Config.$1}}" "$container"; }
  same 'user' "$(inspect User)" 11300:11300
  same 'volumes' "$(inspect Volumes)" 'map[/var/lib/perennial:{}]'
  same 'ports' "$(inspect ExposedPorts)" 'map[11300/tcp:{} 11400/tcp:{}]'
  same 'signal' "$(inspect StopSignal)" SIGTERM
  same 'command' "$(inspect Entrypoint)" '[perenniald --data-dir /var/lib/perennial]'
  same 'health check' "$(inspect Healthcheck.Test)" '[CMD perennial health]'
  same 'version' "$(store inspect --format '{{index .Docker.Config.Labels "org.opencontainers.image.version"}}' "$container")" "$version"
  folder=$(store mount "$container")
  same 'set-user-id programs' "$(find "$folder" -perm /6000)" ''
  same 'what others may write to' "$(find "$folder" -perm -o+w ! -type l)" "$folder/tmp"
  same 'shells' "$(find "$folder" \( -name sh -o -name bash -o -name busybox \) -type f)" ''
  chroot "$folder" perennial help health >/dev/null 2>&1 || fail 'the tool in the image does not know its health check: perennial health'
  for user in 11300:11300 1000660000:0; do
    unshare --net --mount --pid --fork --kill-child "$here/in_image.sh" "$folder" "$user"
  done
  echo 'release: the image served, healthy, with a root that is read-only, and stopped'
}

main "$@"
