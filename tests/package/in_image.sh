#!/usr/bin/env bash
# Called by release_test.sh in its own namespaces, for which this is process 1 of the outer ones: in_image.sh FOLDER UID:GID.
# FOLDER is the root of the image. It applies the settings of the image as an engine would: the root is read-only, the volume
# is taken over from the image, the server is process 1 of its namespace and has no capabilities.
set -euo pipefail
folder=$1
user=$2
volume=$(mktemp -d)
log=$(mktemp)
trap 'rm -f "$log" "$log.out"' EXIT
chroot=$(command -v chroot) # The PATH is that of the image.

fail() {
  echo "release: image, as $user: $*" >&2
  cat "$log" >&2
  exit 1
}

as_user() {
  nsenter --target "$server" --pid --mount -- env -i PATH=/usr/bin LANG=C.UTF-8 "$chroot" --userspec="$user" "$folder" "$@"
}

mount --make-rprivate /
mount -t proc proc /proc
mount --bind "$folder" "$folder"
mount -t tmpfs -o "mode=$(stat -c %a "$folder/var/lib/perennial")" volume "$volume"
chown --reference="$folder/var/lib/perennial" "$volume"
mount --bind "$volume" "$folder/var/lib/perennial"
umount "$volume"
rmdir "$volume"
mount -o remount,bind,ro "$folder"
ip link set lo up
! touch "$folder/written" 2>/dev/null || fail 'the root is not read-only, so this test means nothing'

# The engine's part: a process namespace whose first process is the server.
unshare --pid --fork --mount-proc="$folder/proc" --kill-child -- env -i PATH=/usr/bin LANG=C.UTF-8 "$chroot" --userspec="$user" "$folder" \
  perenniald --data-dir /var/lib/perennial 2>"$log" >"$log.out" &
outer=$!
server=''
for ((tries = 0; tries < 300; ++tries)); do
  [[ -n $server ]] || server=$(pgrep --parent "$outer" || true)
  if [[ -n $server ]] && as_user perennial health >/dev/null 2>&1; then break; fi
  kill -0 "$outer" 2>/dev/null || break
  sleep 0.1
done
[[ -n $server ]] || fail 'it does not start'
as_user perennial health >/dev/null || fail 'it is not healthy'
[[ $(awk '$1 == "NSpid:" { print $NF }' "/proc/$server/status") == 1 ]] || fail 'it is not process 1'
for address in 127.0.0.1 '[::1]'; do
  [[ $(as_user perennial put --server "$address:11300" 'in a container') =~ ^[0-9]+$ ]] || fail "it is not served at $address"
done
grep -q 'at=store' "$log" || fail 'it does not log to standard error'
as_user perennial schedule next '0 9 * * *' --zone Europe/Berlin --count 1 >/dev/null || fail 'it knows no time zones'
kill -TERM "$server"
code=0
wait "$outer" || code=$?
[[ $code -eq 0 ]] || fail "SIGTERM ends it with $code"
# A command beside it, as `exec` of an engine does, and a check of what is left.
env -i PATH=/usr/bin "$chroot" --userspec="$user" "$folder" perennial check --deep --data-dir /var/lib/perennial >/dev/null ||
  fail 'the volume is not sound'
! env -i PATH=/usr/bin "$chroot" --userspec="$user" "$folder" perennial health >/dev/null 2>&1 || fail 'stopped, it is healthy'
