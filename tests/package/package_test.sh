#!/usr/bin/env bash
# tests/package/package_test.sh: makes the Debian package, and in a small Debian of its own installs it, serves with
# it, upgrades it over itself with jobs inside, removes, installs again and purges it. Needs root, and Debian's mirrors.
# Everything happens in namespaces of its own, so that no process, mount or port outlives it or meets another's.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/debian_root.sh"

require_root package_test
first=$("$root/etc/package.sh" 1)
second=$("$root/etc/package.sh" 2)
lintian --allow-root --fail-on error,warning "$first" "$second"
echo "package: lintian finds nothing"

make_scratch
cp "$first" "$scratch/first.deb"
cp "$second" "$scratch/second.deb"
unshare --mount --pid --fork --mount-proc --kill-child "$here/in_package.sh" "$scratch"
