#!/usr/bin/env bash
# tests/tidy/clang_tidy.sh BUILD [FOLDER...]: what clang-tidy says of the sources in these folders, or in all of them, two processes at
# a time. Fails if it says anything.
#
# It reads the unity files of BUILD where there are some, as the headers take most of its time: an hour of two processors
# instead of an hour and three quarters. A file that is in none is read by itself.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "${1:?usage: $0 BUILD [FOLDER...]}" && pwd)
shift
folders=("$@")
[[ ${#folders[@]} -gt 0 ]] || folders=(engine wire store migrations cmd)

cd "$root"
unities() {
  local folder
  for folder in "${folders[@]}"; do
    [[ ! -d $build/$folder ]] || find "$build/$folder" -path '*Unity*' -name 'unity_*.cxx'
  done | sort
}
in_unities() {
  unities | xargs --no-run-if-empty cat | sed -n "s#^\#include \"$root/\(.*\)\"\$#\1#p" | sort
}
# A source that is not compiled here, such as that for a build without clusters, has no command, and is left out.
alone() {
  comm -23 <(find "${folders[@]}" -name '*.cc' | sort) <(in_unities) | while read -r file; do
    ! grep -qF "$root/$file" "$build/compile_commands.json" || echo "$file"
  done
}
# A unity file includes sources, and what is said of them is wanted as well.
{ unities; alone; } | xargs -P2 -n1 clang-tidy-14 --quiet -p "$build" --checks=-bugprone-suspicious-include \
  --header-filter='(engine|wire|store|cmd|migrations|tests)/.*\.(h|cc)$'
