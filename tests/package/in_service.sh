#!/usr/bin/env bash
# Called by service_test.sh in its own mount and process namespaces: in_service.sh FOLDER, which
# holds a Debian and perennial.deb. Prints each step and stops at the first failure.
set -euo pipefail
folder=$1
scripts=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
settings=/etc/perennial/perennial.yaml
unit=perenniald.service
first_process=''
source "$scripts/steps.sh"

main() {
  enter_debian
  install
  boot
  test_start
  test_confined
  test_load
  test_kill
  test_settings
  test_credential
  test_other_user
  test_worker
  test_socket
  test_stop
  echo 'package: served under systemd'
}

install() {
  apt_get update
  apt_get install -y --no-install-recommends systemd /perennial.deb
  # These units would wait for devices and networks that do not exist here.
  check 'mask' here systemctl --quiet mask systemd-udevd.service systemd-networkd.service getty.target
  # Allows a body of a hundred megabytes.
  sed -i 's/^job_bytes_max:.*/job_bytes_max: 268435456/' "$folder$settings"
}

boot() {
  unshare --net --mount --uts --ipc --pid --cgroup --fork --kill-child "$scripts/init.sh" "$folder" \
    </dev/null >"$folder/server.log" 2>&1 &
  local outer=$!
  for ((tries = 0; tries < 600; ++tries)); do
    first_process=$(pgrep --parent "$outer" || true)
    case $(inside systemctl is-system-running 2>/dev/null) in
      running | degraded) return ;;
    esac
    sleep 0.1
  done
  fail 'systemd does not come up'
}

inside() {
  nsenter --target "$first_process" --net --mount --uts --ipc --pid --cgroup --root --wd \
    env PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# property NAME: a property of the service as systemd reports it.
property() {
  inside systemctl show --value --property "$1" "$unit"
}

# until_is WHAT WANTED COMMAND...: waits for at most thirty seconds.
until_is() {
  local what=$1 wanted=$2 seen
  shift 2
  for ((tries = 0; tries < 300; ++tries)); do
    seen=$("$@" 2>/dev/null || true)
    [[ $seen == "$wanted" ]] && return
    sleep 0.1
  done
  inside journalctl --no-pager --lines 10 --unit "$unit" >&2
  fail "$what: '$seen', and not '$wanted'"
}

body_of() {
  inside perennial peek "$1" --json | tr -d ' \n'
}

# The value of a key in the server's statistics.
stats() {
  inside perennial stats --json | tr -d ' ,"' | sed -n "s/^$1://p"
}

# ---- Steps.

test_start() {
  until_is 'state' active property ActiveState
  same 'what it tells systemd' "$(property StatusText)" 'Serving'
  same 'a job' "$(inside perennial put 'the first')" 1
  echo 'package: its service is started with the machine, and says when it serves'
}

test_confined() {
  local main status
  main=$(property MainPID)
  status=$(inside grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp|Uid):' "/proc/$main/status" | tr '\t\n' '  ')
  [[ $status == *'CapEff: 0000000000000000'*'CapBnd: 0000000000000000'*'NoNewPrivs: 1'*'Seccomp: 2'* ]] ||
    fail "it is not confined: $status"
  ! as_it_sees touch /usr/bin/written 2>/dev/null || fail 'it could write to /usr'
  check 'it can write to its directory' as_it_sees touch /var/lib/perennial
  same 'what may be dumped' "$(inside grep 'Max core file size' "/proc/$main/limits" | tr -s ' ')" \
    'Max core file size 0 0 bytes '
  echo 'package: the service is confined'
}

# Runs a command in the mount namespace of the service.
as_it_sees() {
  inside nsenter --target "$(property MainPID)" --mount --root --wd "$@"
}

# Everything that the server does to disk and memory, under the filter of system calls: flushes,
# compactions, a checkpoint, large bodies, threads.
test_load() {
  inside sh -c 'head -c 100000000 /dev/urandom >/tmp/great'
  same 'a great body' "$(inside perennial put --tube great --file /tmp/great)" 2
  check 'the same body' inside sh -c 'perennial peek 2 --body | cmp - /tmp/great'
  check 'bench' inside perennial bench mixed bodies --seconds 2 --rounds 1
  check 'checkpoint' inside perennial checkpoint create
  same 'state of the store' "$(stats store-state)" ok
  echo 'package: the service carries load'
}

test_kill() {
  check 'kill' inside sh -c "kill -KILL $(property MainPID)"
  until_is 'starts again' 1 property NRestarts
  until_is 'state' active property ActiveState
  [[ $(body_of 1) == *thefirst* ]] || fail 'job 1 is gone'
  echo 'package: killed, the service is back with its jobs'
}

# The service is not restarted after an error that a restart cannot fix.
test_settings() {
  cp "$folder$settings" "$folder/settings"
  echo 'durabillity: commit' >>"$folder$settings"
  ! inside systemctl restart "$unit" 2>/dev/null || fail 'it takes settings that are wrong'
  sleep 2 # Twice RestartSec. No event says that a restart does not happen.
  same 'state' "$(property ActiveState)" failed
  same 'restarts' "$(property NRestarts)" 0
  inside journalctl --no-pager --unit "$unit" | grep -q 'durabillity' || fail 'the journal does not say why'
  cp "$folder/settings" "$folder$settings"
  check 'start' inside systemctl start "$unit"
  echo 'package: settings that are wrong stop the service, and the journal says why'
}

# The key stays with root, and systemd hands it to the service: etc/docs/security.md. The console is served, too.
test_credential() {
  local tls=$folder/etc/perennial/tls
  mkdir -p "$tls" "$folder/etc/systemd/system/$unit.d"
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -keyout "$tls/server.key" -out "$tls/server.pem" 2>/dev/null
  chmod 600 "$tls/server.key"
  printf '[Service]\nLoadCredential=server.key:/etc/perennial/tls/server.key\n' >"$folder/etc/systemd/system/$unit.d/key.conf"
  sed -i -e 's|^listeners:.*|listeners: [{address: "127.0.0.1:11400", tls: {certificate: /etc/perennial/tls/server.pem, key: /run/credentials/perenniald.service/server.key}}]|' \
    -e 's|^http_listen:.*|http_listen: 127.0.0.1:11380|' "$folder$settings"
  check 'reload of units' inside systemctl daemon-reload
  inside systemctl restart "$unit" 2>/dev/null || {
    inside journalctl --no-pager --lines 10 --unit "$unit" >&2
    fail 'it does not start with a key from systemd'
  }
  until_is 'state' active property ActiveState
  [[ $(inside perennial put --tls --ca /etc/perennial/tls/server.pem 'sealed') =~ ^[0-9]+$ ]] || fail 'no job comes by TLS'
  ! inside setpriv --reuid perennial --regid perennial --clear-groups cat /etc/perennial/tls/server.key 2>/dev/null ||
    fail 'the user of the service can read the key of root'
  same 'the console' "$(inside bash -c 'exec 3<>/dev/tcp/127.0.0.1/11380
    printf "GET / HTTP/1.0\r\n\r\n" >&3; head -1 <&3' | tr -d '\r')" 'HTTP/1.1 200 OK'
  cp "$folder/settings" "$folder$settings"
  rm "$folder/etc/systemd/system/$unit.d/key.conf"
  check 'reload of units' inside systemctl daemon-reload
  check 'restart' inside systemctl restart "$unit"
  echo 'package: systemd hands the key of TLS to the service, which serves its console'
}

# Users of the machine get in by the group of the socket's file, and show their uid. Others do not get in.
test_other_user() {
  local server=unix:/run/perennial/perennial.sock
  check 'group' inside usermod --append --groups games perennial
  sed -i -e "s|^listeners:.*|listeners: [{address: \"$server\", mode: 0660, group: games}]|" \
    -e 's|^users:.*|users: [{name: player, uids: [5], grants: [{tubes: ["*"], verbs: [produce]}]}]|' "$folder$settings"
  check 'restart' inside systemctl restart "$unit"
  until_is 'state' active property ActiveState
  same 'the socket' "$(inside stat --format '%A %G' /run/perennial/perennial.sock)" 'srw-rw---- games'
  [[ $(inside setpriv --reuid games --regid games --clear-groups perennial put --server "$server" 'a game') =~ ^[0-9]+$ ]] ||
    fail 'a user of the group is not served'
  ! inside setpriv --reuid nobody --regid nogroup --clear-groups perennial put --server "$server" 'a game' 2>/dev/null ||
    fail 'a user who is not of the group is served'
  cp "$folder/settings" "$folder$settings"
  check 'restart' inside systemctl restart "$unit"
  echo 'package: users of the machine come by the group of the socket'
}

# A unit for each worker. The command may write to its own directory, and may see nothing of the server's.
test_worker() {
  local worker=perennial-work@parcels.service seen=/var/lib/private/perennial-work/parcels/seen
  cat >"$folder/etc/perennial/work/parcels.env" <<'END'
COMMAND=/bin/sh -c 'cat >>seen; echo " $PERENNIAL_TUBE" >>seen; ls /var/lib/perennial >>seen 2>&1; touch /usr/written'
FLAGS="--tries 1 --log logfmt"
END
  check 'start of a worker' inside systemctl start "$worker"
  check 'a job' inside perennial put --tube parcels 'for Ann'
  until_is 'what becomes of it' 1 inside sh -c "journalctl --no-pager --unit $worker | grep -c 'outcome=buried status=1'"
  same 'what the command got' "$(head -n 1 "$folder$seen")" 'for Ann parcels'
  same 'what it sees of the jobs' "$(tail -n 1 "$folder$seen")" "ls: cannot open directory '/var/lib/perennial': Permission denied"
  check 'it cannot write to /usr' test ! -e "$folder/usr/written"
  sed -i "s|; ls .*|'|" "$folder/etc/perennial/work/parcels.env"
  check 'restart of a worker' inside systemctl restart "$worker"
  check 'another job' inside perennial put --tube parcels 'for Bob'
  until_is 'what becomes of it' 1 inside sh -c "journalctl --no-pager --unit $worker | grep -c outcome=deleted"
  check 'stop of a worker' inside systemctl stop "$worker"
  same 'how it ended' "$(inside systemctl show --value --property Result "$worker")" success
  echo 'package: a worker has a unit of its own, and its commands are confined'
}

test_socket() {
  check 'stop' inside systemctl stop "$unit"
  check 'socket' inside systemctl start perenniald.socket
  same 'state' "$(property ActiveState)" inactive
  [[ $(body_of 1) == *thefirst* ]] || fail 'a client of the socket is not served'
  same 'state' "$(property ActiveState)" active
  same 'where it listens' "$(inside cat /proc/net/tcp /proc/net/tcp6 | awk '$4 == "0A" { print $2 }')" '0100007F:2C24'
  echo 'package: the first client of the socket starts the service'
}

test_stop() {
  check 'stop' inside systemctl stop perenniald.socket "$unit"
  same 'result' "$(property Result)" success
  check 'directory is sound' inside perennial check --deep --data-dir /var/lib/perennial
}

main
