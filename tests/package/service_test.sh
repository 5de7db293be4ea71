#!/usr/bin/env bash
# tests/package/service_test.sh: installs the Debian package in a small Debian that systemd has
# booted, and serves as its service: confined, under load, killed, with invalid settings, and
# through its socket. Needs root and Debian's mirrors. Everything runs in its own namespaces and
# ends with them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/debian_root.sh"

require_root service_test
package=$("$root/etc/package.sh")
make_scratch
cp "$package" "$scratch/perennial.deb"
unshare --mount --pid --fork --mount-proc --kill-child "$here/in_service.sh" "$scratch"
