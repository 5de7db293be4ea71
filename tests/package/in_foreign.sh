#!/usr/bin/env bash
# Called by release_test.sh in its own namespaces: in_foreign.sh FOLDER WHERE. FOLDER is the root of a system, and WHERE, in
# it, is what the archive for other distributions holds.
set -euo pipefail
folder=$1
where=$2
as_user=(env -i PATH=/nonexistent "$(command -v chroot)" --userspec=1000:1000 "$folder")

mount --make-rprivate /
mount -t proc proc "$folder/proc"
ip link set lo up
"${as_user[@]}" "$where/bin/perenniald" --data-dir /tmp/data -l 127.0.0.1 2>"$folder/log" &
server=$!
for ((tries = 0; tries < 300; ++tries)); do
  "${as_user[@]}" "$where/bin/perennial" stats >/dev/null 2>&1 && break
  kill -0 "$server" 2>/dev/null || break
  sleep 0.1
done
"${as_user[@]}" "$where/bin/perennial" stats >/dev/null || { cat "$folder/log" >&2; exit 1; }
[[ $("${as_user[@]}" "$where/bin/perennial" put 'far from Debian') == 1 ]]
# All libraries are those of the archive, but for the system's.
foreign=$(awk '$6 ~ /\.so/ { print $6 }' "/proc/$server/maps" | sort -u | grep -v "$where/lib/perennial/" |
  sed 's|.*/||; s/[-.].*//' | sort -u | paste -sd ' ')
if [[ ! $foreign =~ ^(ld|libc|libgcc_s|libm|libpthread|libresolv|libstdc\+\+|\ )*$ ]]; then
  echo "release: loaded from the system: $foreign" >&2
  exit 1
fi
# The tool finds the program beside it, and a worker runs.
"${as_user[@]}" "$where/bin/perennial" bench --list >/dev/null
"${as_user[@]}" "$where/bin/perennial" work --tube default --once -- "$where/bin/perennial" --version 2>>"$folder/log" | grep -q '^perennial '
kill -TERM "$server"
wait "$server"
"${as_user[@]}" "$where/bin/perennial" check --deep --data-dir /tmp/data >/dev/null
