#!/usr/bin/env bash
# Called by play.rb, as the first process of namespaces of its own: sandbox.sh FOLDER REPOSITORY BUILD COMMAND... makes a
# sandbox in the folder and runs the command there. In the sandbox are the programs and settings of this machine, the
# repository as it is built, which cannot be changed, and nothing else: /var/lib, /backup and port 11300 are the
# document's. All of it ends with this process, which takes the processes that nobody waits for.
set -euo pipefail
sandbox=$1 repository=$2 build=$3
shift 3
here=$repository/tests/docs
home=/home/reader # Whose folder perennial is what the documents are played in.

main() {
  mount --make-rprivate /
  mount -t tmpfs -o mode=755 tmpfs "$sandbox"
  mkdir "$sandbox"/{backup,etc,home,mnt,proc,root,run,srv,tmp,var,var/lib,var/log,var/tmp}
  chmod 1777 "$sandbox/tmp" "$sandbox/var/tmp"
  mount -t proc proc "$sandbox/proc"
  show_programs
  show_repository
  make_settings
  make_home
}

show_programs() {
  local name
  for name in usr bin sbin lib lib32 lib64 libx32 opt dev sys; do
    if [[ -L /$name ]]; then
      cp -P "/$name" "$sandbox/$name"
    elif [[ -d /$name ]]; then
      mkdir "$sandbox/$name"
      mount --rbind "/$name" "$sandbox/$name"
    fi
  done
}

# At the path that it has outside, because links and programs name it.
show_repository() {
  local folder
  for folder in "$repository" "$build"; do
    mkdir -p "$sandbox$folder"
    mount --bind "$folder" "$sandbox$folder"
    mount -o remount,bind,ro "$sandbox$folder"
  done
}

# As the package installs them. The user perennial is root by another name, because a sandbox may have only one user. Of
# the machine's settings only those that everybody may read are of use.
make_settings() {
  cp -r /etc/. "$sandbox/etc/" 2>/dev/null || true
  mkdir -p "$sandbox/etc/perennial"
  cp "$build/package/perennial.yaml" "$sandbox/etc/perennial/"
  echo 'perennial:x:0:0::/var/lib/perennial:/usr/sbin/nologin' >>"$sandbox/etc/passwd"
  echo 'perennial:x:0:' >>"$sandbox/etc/group"
}

# It looks like the repository, and new files may be made in it.
make_home() {
  local path
  mkdir -p "$sandbox$home/perennial"
  for path in "$repository"/* "$build"; do
    case ${path##*/} in
      build*) ln -sfn "$build" "$sandbox$home/perennial/build" ;;
      *) ln -s "$path" "$sandbox$home/perennial/${path##*/}" ;;
    esac
  done
}

main
chroot "$sandbox" env -i --chdir="$home/perennial" LANG=C.UTF-8 TERM=dumb HOME="$home" \
  PATH="$here/stand_ins:$build:$build/beanstalkd/usr/bin:$build/etcd-server/usr/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin" "$@"
exit $? # Not exec: somebody has to be the first process.
