#!/usr/bin/env bash
# Called by package_test.sh in its own mount and process namespaces: in_package.sh FOLDER, which
# holds a Debian, first.deb and second.deb. Prints each step and stops at the first failure.
set -euo pipefail
folder=$1
data=/var/lib/perennial
settings=/etc/perennial/perennial.yaml
wanted_by=/etc/systemd/system/multi-user.target.wants/perenniald.service
network=$folder/network
source "$(dirname "${BASH_SOURCE[0]}")/steps.sh"
server=''

main() {
  enter_debian
  have_own_loopback
  test_install
  test_serve
  test_upgrade
  test_kill
  test_remove
  test_purge
  echo 'package: installed, served, upgraded, removed and purged'
}

# ---- A server in its own network, because the port of the settings may be in use outside.

# A file represents the network namespace until this mount namespace ends.
have_own_loopback() {
  touch "$network"
  unshare --net="$network" ip link set lo up
}

on_loopback() {
  nsenter --net="$network" "$@"
}

as_perennial() {
  on_loopback chroot --userspec=perennial:perennial "$folder" "$@"
}

# Starts the server with the command of the installed unit.
start() {
  local command
  command=$(sed -n 's/^ExecStart=//p' "$folder/lib/systemd/system/perenniald.service")
  # No function, so that what gets the signals is the server itself.
  # shellcheck disable=SC2086 # It is words.
  nsenter --net="$network" chroot --userspec=perennial:perennial "$folder" $command \
    2>>"$folder/server.log" &
  server=$!
  for ((tries = 0; tries < 300; ++tries)); do
    as_perennial perennial stats >/dev/null 2>&1 && return
    kill -0 "$server" 2>/dev/null || fail "the server ended"
    sleep 0.1
  done
  fail "the server does not answer"
}

stop() {
  kill -TERM "$server"
  wait "$server" || fail "the server ended with $?"
}

# Prints all jobs with all their fields, in lines that can be compared.
jobs_of() {
  as_perennial perennial dump --data-dir "$data" >"$folder/dump.out" || fail 'dump'
  grep '"id"' "$folder/dump.out"
}

# ---- Steps.

test_install() {
  apt_get update
  apt_get install -y --no-install-recommends /first.deb
  same 'status' "$(here dpkg-query -W -f '${db:Status-Status}' perennial)" installed
  same 'what dpkg finds changed' "$(here dpkg --verify perennial)" ''
  same 'user' "$(here getent passwd perennial | cut -d: -f6,7)" "$data:/usr/sbin/nologin"
  same 'data directory' "$(here stat -c '%U:%G %a' "$data")" 'perennial:perennial 700'
  same 'settings' "$(here stat -c '%U:%G %a' "$settings")" 'root:root 644'
  same 'programs' "$(here stat -c '%U:%G %a' /usr/bin/perenniald /usr/bin/perennial{,-bench,-bench-plot} | sort -u)" 'root:root 755'
  check 'the benchmark beside the tool' here perennial bench --list
  same 'conffiles' "$(here dpkg-query -W -f '${Conffiles}' perennial | awk '{ print $1 }' | xargs)" "$settings"
  # What README.md links to in this tree is installed beside it, and the description is one text.
  for link in $(here sed -nE 's/.*\]\((etc\/[^)#]+).*/\1/p' /usr/share/doc/perennial/README.md | sort -u); do
    check "README.md links to $link" test -e "$folder/usr/share/doc/perennial/$link"
  done
  check 'description' grep -q 'perennial-bench compares the speed of servers\.$' <(here dpkg-query -W -f '${Description}' perennial)
  check 'alerts and a dashboard' test -s "$folder/usr/share/perennial/prometheus/perennial.rules.yml" -a \
    -s "$folder/usr/share/perennial/grafana/perennial.json"
  check 'unit is enabled' test -L "$folder$wanted_by"
  check 'settings are good' as_perennial perenniald --config "$settings" --check-config
  echo 'package: installs, with its dependencies'
}

test_serve() {
  start
  for number in {1..50}; do echo "job $number"; done |
    as_perennial perennial put --tube mail --lines >/dev/null || fail 'put'
  as_perennial perennial put --tube later --delay 3600 'in an hour' >/dev/null || fail 'put, delayed'
  as_perennial perennial bury 7 >/dev/null || fail 'bury'
  same 'where it listens' "$(listening)" '0100007F:2C24'
  stop
  jobs_of >"$folder/jobs"
  same 'jobs' "$(wc -l <"$folder/jobs")" 51
  echo 'package: serves, as its user, with its settings'
}

# 127.0.0.1:11300, as the kernel writes it.
listening() {
  on_loopback cat /proc/self/net/tcp /proc/self/net/tcp6 | awk '$4 == "0A" { print $2 }' | sort -u | xargs
}

test_upgrade() {
  sed -i 's/^verbosity: 0/verbosity: 1/' "$folder$settings"
  check 'settings changed' grep -q '^verbosity: 1' "$folder$settings"
  apt_get install -y --no-install-recommends /second.deb
  check 'the second is there' grep -q -- '-2$' <(here dpkg-query -W -f '${Version}\n' perennial)
  check 'changed settings are kept' grep -q '^verbosity: 1' "$folder$settings"
  jobs_of | diff "$folder/jobs" - || fail 'jobs differ after the upgrade'
  start
  same 'body' "$(as_perennial perennial peek 7 --json | tr -d ' \n' | grep -o 'job7')" 'job7'
  echo 'package: upgrades over itself, with jobs inside'
}

test_kill() {
  as_perennial perennial put --tube mail 'the last' >/dev/null || fail 'put'
  kill -KILL "$server"
  wait "$server" 2>/dev/null || true
  check 'directory is sound' as_perennial perennial check --deep --data-dir "$data"
  start
  stop
  jobs_of >"$folder/jobs"
  same 'jobs after the kill' "$(wc -l <"$folder/jobs")" 52
}

test_remove() {
  apt_get remove -y perennial
  check 'programs are gone' test ! -e "$folder/usr/bin/perenniald"
  check 'settings are kept' grep -q '^verbosity: 1' "$folder$settings"
  check 'user is kept' here getent passwd perennial
  apt_get install -y --no-install-recommends /second.deb
  jobs_of | diff "$folder/jobs" - || fail 'jobs differ after a removal'
  echo 'package: removed, it keeps settings and jobs'
}

test_purge() {
  mkdir -p "$folder/etc/perennial/work"
  echo 'PERENNIAL_TOKEN=secret' >"$folder/etc/perennial/work/mail.env"
  apt_get purge -y perennial
  check 'it says where the jobs are' grep -q "the jobs in $data are kept" "$folder/apt.log"
  check 'settings are gone' test ! -e "$folder/etc/perennial"
  check 'nothing is enabled' test ! -L "$folder$wanted_by"
  check 'jobs are kept' test -d "$folder$data/db"
  apt_get install -y --no-install-recommends /second.deb
  jobs_of | diff "$folder/jobs" - || fail 'jobs differ after a purge'
  rm -r "${folder:?}$data"/*
  apt_get purge -y perennial
  check 'an empty directory goes' test ! -e "$folder$data"
  echo 'package: purged, it keeps jobs and nothing else'
}

main
