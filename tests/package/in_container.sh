#!/usr/bin/env bash
# Called by container_test.sh in its own namespaces: in_container.sh FOLDER, the root of the image.
# It applies the settings of the image as an engine would.
set -euo pipefail
folder=$1
as_user=(chroot --userspec=11300:11300 "$folder")

mount --make-rprivate /
mount -t proc proc "$folder/proc"
ip link set lo up
[[ $(stat -c '%u:%g %a' "$folder/var/lib/perennial") == '11300:11300 700' ]]
"${as_user[@]}" perenniald --data-dir /var/lib/perennial 2>"$folder/tmp/log" &
server=$!
for ((tries = 0; tries < 300; ++tries)); do
  "${as_user[@]}" perennial stats --server 127.0.0.1:11300 >/dev/null 2>&1 && break
  sleep 0.1
done
"${as_user[@]}" perennial stats --server 127.0.0.1:11300 >/dev/null || { cat "$folder/tmp/log" >&2; exit 1; }
[[ $("${as_user[@]}" perennial put 'in a container') == 1 ]]
kill -TERM "$server"
wait "$server"
"${as_user[@]}" perennial check --deep --data-dir /var/lib/perennial >/dev/null
