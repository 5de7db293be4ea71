#!/usr/bin/env bash
# etc/package.sh [REVISION]: installs what is missing, and makes build-package/perennial_VERSION-REVISION_ARCH.deb,
# whose path it prints. REVISION counts the packages of one version, and is 1 if not given.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
source "$root/etc/build.sh"
revision=${1:-1}

if [[ $# -gt 1 || ! $revision =~ ^[0-9][0-9A-Za-z.+~]*$ ]]; then
  echo "usage: etc/package.sh [REVISION], which begins with a digit" >&2
  exit 2
fi
install_packages "${build_packages[@]}" dpkg-dev file

# The same sources give the same package.
SOURCE_DATE_EPOCH=$(git -C "$root" log -1 --format=%ct 2>/dev/null || stat -c %Y "$root/etc/CHANGES.md")
export SOURCE_DATE_EPOCH
folder=$root/build-package
configure "$folder" -DPERENNIAL_TESTS=OFF -DPERENNIAL_CONSOLE=ON -DPERENNIAL_STATIC_ARCHIVE=ON \
  -DCMAKE_INSTALL_PREFIX=/usr -DPERENNIAL_REVISION="$revision"
build "$folder" perenniald perennial perennial-bench perennial_manual
umask 022
(cd "$folder" && cpack >&2)
ls "$folder/perennial_"*"-${revision}_$(dpkg --print-architecture).deb"
