#!/usr/bin/env bash
# tests/upgrade/upgrade_test.sh [--build-only] [NAME...]: this version beside builds of earlier ones, of which NAME chooses some.
#
# Which ones: those of the file earlier_commits, and the newest tag of each v1.N and later that is not what is tested. build_earlier.sh makes them from the
# history. Needs build/, as tests/run leaves it. An earlier version that cannot be built fails the test: it is never left out in silence.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)

main() {
  local build_only='' chosen=() earlier='' name commit back
  for word in "$@"; do
    case $word in
      --build-only) build_only=yes ;;
      -*) echo "usage: tests/upgrade/upgrade_test.sh [--build-only] [NAME...]" >&2; exit 2 ;;
      *) chosen+=("$word") ;;
    esac
  done
  while read -r name commit back; do
    [[ ${#chosen[@]} -eq 0 || " ${chosen[*]} " == *" $name "* ]] || continue
    echo "upgrade: $name, $commit" >&2
    earlier+=" $name=$("$here/build_earlier.sh" "$commit"):$back"
  done < <(versions)
  [[ -n $earlier ]] || { echo "upgrade: there is no earlier version of these names" >&2; exit 1; }
  [[ -z $build_only ]] || return 0
  export EARLIER=$earlier PERENNIALD=$root/build/perenniald PYTHONDONTWRITEBYTECODE=1
  local test failed=''
  for test in upgrade tools rolling; do
    python3 "$here/${test}_test.py" -v || failed=yes
  done
  [[ -z $failed ]]
}

# Of each version: its name, its commit, and what it does with a directory of this one.
versions() {
  sed -n 's/^\([a-z0-9][^ ]*\)  *\([0-9a-f]\{40\}\)  *\([a-z-]*\)  .*/\1 \2 \3/p' "$here/earlier_commits"
  local tag
  # Oldest first, so that the last patch of each minor version stays.
  declare -A of_minor
  for tag in $(git -C "$root" tag --list 'v[1-9]*' --sort=version:refname); do
    [[ $tag =~ ^v[0-9]+\.[0-9]+\.[0-9]+$ ]] || continue
    [[ $(git -C "$root" rev-parse "$tag^{commit}") == $(git -C "$root" rev-parse HEAD) ]] || of_minor[${tag%.*}]=$tag
  done
  for tag in "${of_minor[@]}"; do echo "$tag $(git -C "$root" rev-parse "$tag^{commit}") either"; done
}

main "$@"
