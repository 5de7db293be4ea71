#!/usr/bin/env bash
# tests/package/package_test.sh: makes the Debian package. In a small separate Debian it installs
# the package, serves with it, upgrades it with jobs inside, removes, reinstalls and purges it.
# Needs root and Debian's mirrors. Everything runs in its own namespaces, so that no process, mount
# or port remains or conflicts with others.
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
