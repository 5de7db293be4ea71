#!/usr/bin/env bash
# Called by in_service.sh as the first process of its own namespaces: init.sh FOLDER executes the
# systemd of the Debian in the folder. The process sees the machine like a container: only a few
# devices, and nothing writable outside of its folder.
set -euo pipefail
folder=$1

mount --make-rprivate /
mount --bind "$folder" "$folder"
mount -t proc proc "$folder/proc"
mount -t sysfs -o ro sysfs "$folder/sys"
mount -t cgroup2 cgroup2 "$folder/sys/fs/cgroup"
for mounted in run tmp dev; do mount -t tmpfs -o mode=755 tmpfs "$folder/$mounted"; done
chmod 1777 "$folder/tmp"
for device in null zero full random urandom tty; do
  touch "$folder/dev/$device"
  mount --bind "/dev/$device" "$folder/dev/$device"
done
mkdir "$folder/dev/pts" "$folder/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$folder/dev/pts"
ln -s pts/ptmx "$folder/dev/ptmx"
ip link set lo up
# What is mounted for a service, as its credentials are, is seen in the namespace of that service. At the start of a
# machine systemd does this itself, and in a container whoever starts it.
mount --make-rshared /
exec env -i container=test PATH=/usr/sbin:/usr/bin:/sbin:/bin unshare --root="$folder" \
  /lib/systemd/systemd --log-target=console
