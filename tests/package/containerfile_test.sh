#!/usr/bin/env bash
# tests/package/containerfile_test.sh FOLDER: checks etc/Containerfile with a linter from npm, which
# it installs into FOLDER, and verifies that everything that the file copies and installs exists.
# container_test.sh builds it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
folder=$1
cd "$here/../.."
recipe=etc/Containerfile
problems=0

problem() {
  echo "containerfile: $*" >&2
  problems=$((problems + 1))
}

install_linter() {
  mkdir -p "$folder"
  cmp -s "$here/lint/package-lock.json" "$folder/installed-lock.json" && return
  cp "$here"/lint/package*.json "$folder"
  (cd "$folder" && npm ci --ignore-scripts --no-audit --no-fund </dev/null >/dev/null)
  cp "$here/lint/package-lock.json" "$folder/installed-lock.json"
}

# The paths that COPY instructions take from the repository, one per line.
copied() {
  sed -n '/--from=/d; s/^COPY //p' "$recipe" | sed 's/ [^ ]*$//' | tr ' ' '\n'
}

install_linter
"$folder/node_modules/.bin/dockerfile-utils" lint "$recipe" || problem "the linter finds faults"
[[ -n $(copied) ]] || problem "it copies nothing"
for path in $(copied); do [[ -e $path ]] || problem "it copies $path, which is not there"; done
# Every path of the tree that CMake reads.
for path in $(sed -nE 's/^(add_subdirectory|include)\(([a-z]+)[/)].*/\2/p' CMakeLists.txt); do
  [[ $path == tests ]] || copied | grep -x "$path" >/dev/null || problem "it does not copy $path"
done
source etc/build.sh
known=$(apt-cache pkgnames)
for package in "${build_packages[@]}" dpkg-dev file; do
  grep -x -- "$package" <<<"$known" >/dev/null || problem "Debian has no package $package"
done
[[ $problems -eq 0 ]] || exit 1
echo "containerfile: nothing found"
