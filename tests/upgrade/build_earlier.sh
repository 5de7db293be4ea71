#!/usr/bin/env bash
# tests/upgrade/build_earlier.sh COMMIT: builds perenniald and perennial of an earlier commit, and prints the folder that holds them.
#
# The sources come from the history, into build-upgrade/COMMIT/source, and are built there with that commit's own CMake lists. What is there
# is built no second time. Eight minutes on two processors, less with what ccache has. Exit code 3: the history does not have the commit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/etc/build.sh"

exit_no_history=3

main() {
  [[ $# -eq 1 ]] || { echo "usage: tests/upgrade/build_earlier.sh COMMIT" >&2; exit 2; }
  local commit folder
  commit=$(full_name "$1") || exit $exit_no_history
  folder=$root/build-upgrade/$commit
  # Named so when it is complete.
  if [[ ! -x $folder/programs/perenniald || ! -x $folder/programs/perennial ]]; then
    export_sources "$commit" "$folder/source"
    (root=$folder/source && install_what_it_needs && configure "$folder/build" -DPERENNIAL_TESTS=OFF)
    build "$folder/build" perenniald perennial
    keep_programs "$folder"
  fi
  echo "$folder/programs"
}

# full_name COMMIT: its 40 digits, or what is missing.
full_name() {
  local shallow
  if ! shallow=$(git -C "$root" rev-parse --is-shallow-repository 2>/dev/null); then
    echo "build_earlier: $root is no git repository, so it has no earlier commits: clone it" >&2
    return 1
  fi
  git -C "$root" rev-parse --verify --quiet "$1^{commit}" && return
  if [[ $shallow == true ]]; then
    echo "build_earlier: the history is shallow and ends before $1: git fetch --unshallow" >&2
  else
    echo "build_earlier: the history has no commit $1" >&2
  fi
  return 1
}

# export_sources COMMIT FOLDER
export_sources() {
  mkdir -p "$2"
  git -C "$root" archive "$1" | tar -x -C "$2"
}

# The packages are those that the commit names. They are installed as today's etc/build.sh does it.
install_what_it_needs() {
  local packages
  packages=$(bash -c 'source "$1/etc/build.sh" && printf "%s\n" "${build_packages[@]}"' bash "$root")
  mapfile -t packages <<<"$packages"
  install_packages "${packages[@]}"
}

# keep_programs FOLDER: the programs stay, and what they were made of goes: 1.5 GB.
keep_programs() {
  mkdir -p "$1/programs.new"
  cp "$1/build/perenniald" "$1/build/perennial" "$1/programs.new/"
  rm -rf "$1/programs"
  mv "$1/programs.new" "$1/programs"
  rm -rf "$1/source" "$1/build"
}

main "$@"
