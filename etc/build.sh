# Sourced by etc/run and tests/run: what to install and how to build, for Debian 12. Not a program.
#
# Installs only what is missing, asks nothing, and reads no standard input.

build_packages=(
  g++ cmake ninja-build pkg-config
  librocksdb-dev libuv1-dev liburing-dev libyaml-cpp-dev libcli11-dev libfmt-dev libspdlog-dev libabsl-dev
  libboost-dev libjemalloc-dev libssl-dev liblz4-dev zlib1g-dev libxxhash-dev libsystemd-dev nlohmann-json3-dev libutfcpp-dev libncurses-dev
  libgrpc++-dev protobuf-compiler-grpc libprotobuf-dev protobuf-compiler libarchive-dev libcurl4-openssl-dev # The cluster.
  esbuild npm # The console.
  tzdata # The zones of schedules.
)

as_root() {
  if [[ $EUID -eq 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    echo "perennial: need root, or sudo, to run: $*" >&2
    return 1
  fi
}

# Says nothing but what went wrong; dpkg would have a line for each step of each package.
apt_get() {
  as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq "$@" </dev/null >/dev/null
}

is_installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Once in a run, and only when something is to be fetched.
refresh_package_lists() {
  [[ -n ${package_lists_fresh:-} ]] && return
  apt_get update
  package_lists_fresh=yes
}

install_packages() {
  local missing=() package
  for package in "$@"; do
    # Where another Node is present, Debian's npm conflicts with it.
    [[ $package == npm ]] && command -v npm >/dev/null && continue
    is_installed "$package" || missing+=("$package")
  done
  [[ ${#missing[@]} -eq 0 ]] && return
  echo "perennial: installing ${missing[*]}" >&2
  refresh_package_lists
  apt_get install -y --no-install-recommends "${missing[@]}"
}

# configure FOLDER [cmake options]
configure() {
  local folder=$1
  shift
  cmake -S "$root" -B "$folder" -G Ninja -DPERENNIAL_UNITY=ON "$@" --log-level=WARNING </dev/null >/dev/null
}

# build FOLDER [targets]
build() {
  local folder=$1
  shift
  ninja --quiet -C "$folder" "$@" </dev/null | { grep -v '^ninja: no work to do' || true; } >&2
}
