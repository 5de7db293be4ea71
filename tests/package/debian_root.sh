# Sourced by the tests of the package: a small Debian in a folder, of the release and from the
# mirrors of this machine. Not a program. Its user sets `root`, the top of the repository.

base_tar=$root/build-package/debian.tar

# require_root NAME: fails without root, which is needed to make and mount file systems.
require_root() {
  [[ $EUID -eq 0 ]] && return
  echo "$1: must be run by root: it makes a Debian in a folder, and mounts there" >&2
  exit 1
}

# Every mirror of Debian that apt uses here: URI, codename, component.
mirrors() {
  # shellcheck disable=SC2016 # The dollars are apt's.
  apt-get indextargets --format '$(ORIGIN) $(REPO_URI) $(CODENAME) $(COMPONENT)' 'Created-By: Packages' |
    sed -n 's/^Debian //p' | sort -u
}

# Makes $base_tar if it does not exist.
make_base_tar() {
  [[ -f $base_tar ]] && return
  local codename mirror folder
  codename=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(mirrors | awk -v codename="$codename" '$2 == codename && $3 == "main" { print $1; exit }')
  if [[ -z $mirror ]]; then
    echo "apt has no lists of Debian's $codename, main: run apt-get update" >&2
    return 1
  fi
  mkdir -p "$root/build-package"
  folder=$(mktemp -d "$root/build-package/base.XXXXXX")
  chmod 755 "$folder"
  if ! debootstrap --variant=minbase "$codename" "$folder" "$mirror" >"$folder.log" 2>&1; then
    tail -5 "$folder.log" >&2
    rm -rf "$folder"
    return 1
  fi
  mirrors | sed 's/^/deb /' >"$folder/etc/apt/sources.list"
  apt-config dump | grep '^Acquire::' >"$folder/etc/apt/apt.conf.d/90machine"
  rm -f "$folder"/var/cache/apt/archives/*.deb
  tar -C "$folder" --one-file-system -cf "$base_tar.new" .
  mv "$base_tar.new" "$base_tar"
  rm -rf "$folder" "$folder.log"
}

# Makes a Debian that can reach the mirrors in $scratch, which is removed when this program ends.
make_scratch() {
  make_base_tar
  scratch=$(mktemp -d "$root/build-package/scratch.XXXXXX")
  trap 'rm -rf --one-file-system "$scratch"' EXIT
  tar -C "$scratch" -xf "$base_tar"
  chmod 755 "$scratch"
  cp --dereference /etc/resolv.conf /etc/hosts "$scratch/etc/"
}
