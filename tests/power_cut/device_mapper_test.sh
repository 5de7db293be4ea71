#!/usr/bin/env bash
# tests/power_cut/device_mapper_test.sh: cuts the power of ext4 and xfs under a loaded server.
#
# For machines whose kernel has a device mapper, as root; elsewhere it says in one line what is missing and exits with
# 77. The server of power_cut_test has its data directory on a loop device below the device mapper, and everything is
# compared with its recording, as in power_cut_test.
#
#   dm-log-writes, if replay-log of xfstests is in PATH or in REPLAY_LOG: all writes to the device are logged, with a
#     mark behind each round of answers. Each mark is replayed onto an empty disk.
#   dm-flakey otherwise: from one round on the device drops all writes, CUTS times (5), each at another round.
#
# It prints a line for each cut, "ext4, log-writes, mark 123456: 310 jobs, all as answered", and the sums at the end.
# No machine has run it yet: its commands were checked against their manual pages. It needs 3 GiB below TMPDIR. BUILD is
# the folder of power_cut_test (build/).
set -euo pipefail
build=${BUILD:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build}
disk_bytes=$((512 << 20))
log_bytes=$((2 << 30))
cuts=${CUTS:-5}
replay_log=${REPLAY_LOG:-$(command -v replay-log || true)}
device=perennial-power-cut-$$
failures=0 looks=0

skip() {
  echo "device_mapper_test.sh: skipped: $1"
  exit 77
}

check_machine() {
  local program
  ((EUID == 0)) || skip 'it must be root'
  for program in dmsetup losetup mkfs.ext4 mount blockdev; do
    command -v "$program" >/dev/null || skip "$program is not installed"
  done
  [[ -x $build/power_cut_test ]] || skip "there is no $build/power_cut_test"
  dmsetup version >/dev/null 2>&1 || skip 'the kernel has no device mapper'
  modprobe -q dm-log-writes || true
  modprobe -q dm-flakey || true
  if [[ -z $replay_log ]] || ! dmsetup targets | grep -q '^log-writes '; then
    replay_log=''
    dmsetup targets | grep -q '^flakey ' ||
      skip 'neither dm-log-writes with replay-log of xfstests nor dm-flakey is there'
  fi
}

clean_up() {
  local loop
  mountpoint -q "$work/mount" && umount "$work/mount"
  dmsetup info "$device" >/dev/null 2>&1 && dmsetup remove --retry "$device"
  for loop in "${loops[@]}"; do losetup --detach "$loop" 2>/dev/null || true; done
  rm -rf "$work"
}

# new_loop NAME BYTES: an empty loop device, in $loop.
new_loop() {
  truncate --size 0 "$work/$1"
  truncate --size "$2" "$work/$1"
  loop=$(losetup --find --show "$work/$1")
  loops+=("$loop")
}

# Without discards, which a replay would have to repeat.
make_file_system() {
  case $1 in
    ext4) mkfs.ext4 -q -E nodiscard "$2" ;;
    xfs) mkfs.xfs -q -K "$2" ;;
  esac
}

# load FILE_SYSTEM SCRIPT: runs the load on the mounted disk. SCRIPT runs behind each round of answers, with the size
# of the recording as its argument.
load() {
  mount -t "$1" "/dev/mapper/$device" "$work/mount"
  TMPDIR=$work/mount "$build/power_cut_test" --record "$work/recording" --after-round "$2" >/dev/null
  umount "$work/mount"
}

# judge WHAT FILE_SYSTEM DEVICE KNOWN BEGUN: mounts what the cut has left, and starts on it.
judge() {
  local data said code=0
  mount -t "$2" "$3" "$work/mount"
  data=$(find "$work/mount" -mindepth 2 -maxdepth 2 -type d -path '*/perennial-test-*/data' -print -quit)
  said=$("$build/power_cut_test" --judge "$data" --recording "$work/recording" --known "$4" --begun "$5" 2>&1 |
    tail -n +3) || code=$?
  umount "$work/mount"
  looks=$((looks + 1))
  ((code == 0)) || failures=$((failures + 1))
  echo "$1: ${said:-no data directory}"
}

cut_by_log_writes() {
  local file_system=$1 disk log mark
  new_loop disk "$disk_bytes"
  disk=$loop
  new_loop log "$log_bytes"
  log=$loop
  dmsetup create "$device" --table "0 $(blockdev --getsz "$disk") log-writes $disk $log"
  make_file_system "$file_system" "/dev/mapper/$device"
  cat >"$work/after-round" <<END
#!/bin/sh
echo "\$1" >>"$work/marks" && exec dmsetup message $device 0 mark "\$1"
END
  chmod +x "$work/after-round"
  : >"$work/marks"
  load "$file_system" "$work/after-round"
  dmsetup remove --retry "$device"
  while read -r mark; do
    new_loop replayed "$disk_bytes"
    "$replay_log" --log "$log" --replay "$loop" --end-mark "$mark" >/dev/null
    judge "$file_system, log-writes, mark $mark" "$file_system" "$loop" "$mark" "$mark"
    losetup --detach "$loop"
  done <"$work/marks"
}

# From the round on that is drawn, nothing reaches the disk, though the server is told so.
cut_by_flakey() {
  local file_system=$1 disk sectors known
  new_loop disk "$disk_bytes"
  disk=$loop
  sectors=$(blockdev --getsz "$disk")
  make_file_system "$file_system" "$disk"
  dmsetup create "$device" --table "0 $sectors flakey $disk 0 3600 0"
  echo $((1 + RANDOM % 40)) >"$work/rounds-left"
  cat >"$work/after-round" <<END
#!/bin/sh
left=\$((\$(cat "$work/rounds-left") - 1))
echo "\$left" >"$work/rounds-left"
[ "\$left" -eq 0 ] || exit 0
echo "\$1" >"$work/known"
dmsetup suspend --nolockfs --noflush $device
dmsetup load $device --table "0 $sectors flakey $disk 0 0 3600 1 drop_writes"
exec dmsetup resume $device
END
  chmod +x "$work/after-round"
  load "$file_system" "$work/after-round"
  dmsetup remove --retry "$device"
  known=$(cat "$work/known")
  judge "$file_system, flakey, cut at $known" "$file_system" "$disk" "$known" "$(stat --format %s "$work/recording")"
  losetup --detach "$disk"
}

main() {
  local file_system cut
  check_machine
  work=$(mktemp -d)
  loops=()
  trap clean_up EXIT
  mkdir "$work/mount"
  for file_system in ext4 xfs; do
    if ! command -v "mkfs.$file_system" >/dev/null; then
      echo "$file_system: left out, because mkfs.$file_system is not installed"
      continue
    fi
    if [[ -n $replay_log ]]; then
      rm -f "$work/recording"
      cut_by_log_writes "$file_system"
    else
      for ((cut = 0; cut < cuts; ++cut)); do
        rm -f "$work/recording"
        cut_by_flakey "$file_system"
      done
    fi
  done
  echo "$looks cuts, $failures failures"
  ((looks > 0 && failures == 0))
}

main "$@"
