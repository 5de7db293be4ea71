# Sourced by scripts that run in their own namespaces: steps in the Debian in $folder. Not a
# program.

fail() {
  echo "package: $*" >&2
  [[ ! -s $folder/server.log ]] || tail -5 "$folder/server.log" >&2
  exit 1
}

# check WHAT COMMAND...
check() {
  local what=$1
  shift
  "$@" >/dev/null || fail "$what: failed: $*"
}

# same WHAT SEEN WANTED
same() {
  [[ $2 == "$3" ]] || fail "$1: '$2', and not '$3'"
}

here() {
  chroot "$folder" "$@"
}

apt_get() {
  here env DEBIAN_FRONTEND=noninteractive apt-get -qq -o APT::Sandbox::User=root "$@" \
    </dev/null >"$folder/apt.log" 2>&1 || { cat "$folder/apt.log" >&2; fail "apt-get $*"; }
}

# From here on programs of the Debian can be run.
enter_debian() {
  mount --make-rprivate /
  mount -t proc proc "$folder/proc"
  mount --bind /dev "$folder/dev"
}
