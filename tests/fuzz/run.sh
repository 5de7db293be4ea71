#!/usr/bin/env bash
# tests/fuzz/run.sh [SECONDS] [TARGET...]: builds the fuzzers with Clang into build-fuzz/ and runs each
# target (all, if none is named) for so many seconds, 600 if not told otherwise, two at a time.
#
# New inputs are kept in build-fuzz/corpus/TARGET, so that the next run goes on from there. What crashed,
# took too long or too much memory is in build-fuzz/artifacts/; then it says how to repeat it, and fails.
#
#   tests/fuzz/run.sh --merge [TARGET...]    takes into tests/fuzz/corpus/TARGET.tar.gz those of the new
#                                            inputs that reach what no other does.
#   tests/fuzz/run.sh --pack [TARGET...]     moves inputs in tests/fuzz/corpus/TARGET that are named by a
#                                            hash into the archive, which then is the same for the same inputs.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
source "$root/etc/build.sh"
folder=$root/build-fuzz
corpora=$root/tests/fuzz/corpus
all_targets=(batch binlog config core dump http io_threads load log_scan manifest parser reply_parser rows tls)

usage() {
  echo "usage: tests/fuzz/run.sh [SECONDS | --merge | --pack] [TARGET...], targets are: ${all_targets[*]}" >&2
  exit 2
}

main() {
  local what=600 target
  [[ ${1:-} =~ ^([1-9][0-9]*|--merge|--pack)$ ]] && { what=$1; shift; }
  local targets=("$@")
  [[ $# -gt 0 ]] || targets=("${all_targets[@]}")
  for target in "${targets[@]}"; do
    [[ " ${all_targets[*]} " == *" $target "* ]] || usage
  done
  if [[ $what == --pack ]]; then
    for target in "${targets[@]}"; do pack "$target"; done
    return
  fi
  build_fuzzers "${targets[@]}"
  for target in "${targets[@]}"; do unpack "$target"; done
  if [[ $what == --merge ]]; then
    for target in "${targets[@]}"; do merge "$target"; done
  else
    fuzz_all "$what" "${targets[@]}"
  fi
}

build_fuzzers() {
  install_packages "${build_packages[@]}" libgtest-dev clang-14 libclang-rt-14-dev
  configure "$folder" -DCMAKE_CXX_COMPILER=clang++-14 -DPERENNIAL_FUZZ=ON
  build "$folder" "${@/#/fuzz_}"
  mkdir -p "$folder/artifacts" "$folder/logs"
}

# fuzz_all SECONDS TARGET...
fuzz_all() {
  local seconds=$1 target failed=()
  shift
  export -f fuzz length_of command_words
  export root folder corpora seconds
  # A failing target does not end the others.
  printf '%s\n' "$@" | xargs -P2 -I{} bash -c 'fuzz {} "$seconds"' || true
  for target in "$@"; do
    # libFuzzer prints this line at its end if it found nothing.
    grep -q '^Done [0-9]* runs' "$folder/logs/$target" || failed+=("$target")
  done
  [[ ${#failed[@]} -eq 0 ]] && return
  for target in "${failed[@]}"; do explain "$target"; done
  exit 1
}

# The longest input of a target, which is just enough to reach all its code.
length_of() {
  case $1 in
    config | load) echo 2048 ;;
    *) echo 4096 ;;
  esac
}

# The words of the commands, in the forms that the inputs of a target have. A test compares the table of the
# document with the program.
command_words() {
  local forms
  case $1 in
    parser) forms='"\1 "\n"\1\\x0d\\x0a"' ;;
    core) forms='"\1 "\n"\\x0aa \1 "\n"\\x0ab \1\\x0a"' ;;
    *) return ;;
  esac
  sed -n '/^## Commands/,/^### /s/^| `\([a-z-]*\) \{0,1\}`.*/'"$forms"'/p' "$root/etc/docs/protocol.md" |
    LC_ALL=C sort -u
}

# fuzz TARGET SECONDS
fuzz() {
  local target=$1 own=$folder/corpus/$1 words=() scratch
  local written=$corpora/../dictionaries/$1.dict dictionary=$folder/dictionaries/$1.dict
  mkdir -p "$own" "$folder/dictionaries"
  # Output of targets goes to memory, if there is a file system in memory.
  scratch=$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo "${TMPDIR:-/tmp}")")
  if [[ -f $written ]]; then
    { cat "$written" && command_words "$1"; } >"$dictionary" || return
    words=("-dict=$dictionary")
  fi
  echo "fuzz: $target for $2 s"
  TMPDIR=$scratch "$folder/fuzz_$target" -max_total_time="$2" -max_len="$(length_of "$target")" \
    -timeout=10 -rss_limit_mb=2048 -malloc_limit_mb=512 -print_final_stats=1 \
    -entropic_scale_per_exec_time=1 \
    -artifact_prefix="$folder/artifacts/$target-" "${words[@]}" "$own" "$corpora/$target" "$folder/found/$target" \
    >"$folder/logs/$target" 2>&1 </dev/null || true
  rm -rf "$scratch"
  grep -E '^(Done|stat::number_of_executed_units)' "$folder/logs/$target" | sed "s/^/fuzz: $target: /" || true
}

# Unpacks the inputs that fuzzers have found into build-fuzz/found/TARGET.
unpack() {
  rm -rf "$folder/found/$1"
  mkdir -p "$folder/found/$1"
  [[ ! -f $corpora/$1.tar.gz ]] || tar -xzf "$corpora/$1.tar.gz" -C "$folder/found/$1"
}

pack() {
  unpack "$1"
  find "$corpora/$1" -regextype posix-extended -regex '.*/[0-9a-f]{40}' -exec mv -t "$folder/found/$1" {} +
  find "$folder/found/$1" -type f -printf '%f\n' | LC_ALL=C sort |
    tar -C "$folder/found/$1" -T - --format=ustar --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=644 -c |
    gzip -9n >"$corpora/$1.tar.gz"
}

explain() {
  local artifact
  echo "fuzz: $1 has failed: from $folder/logs/$1" >&2
  grep -E 'level=fatal|ERROR: |runtime error|^SUMMARY|^ +#[0-9]' "$folder/logs/$1" | tail -n 30 >&2
  artifact=$(sed -n 's/.*Test unit written to //p' "$folder/logs/$1" | tail -n 1)
  echo "fuzz: repeat it with: $folder/fuzz_$1 ${artifact:-$corpora/$1/* $folder/found/$1/*}" >&2
}

# Existing inputs stay. New inputs of the archive are named by their hashes: a minimal set that
# reaches each place in the code, small ones first, and no more than every build can replay.
merge() {
  local new=$folder/merged/$1 file
  rm -rf "$new"
  mkdir -p "$new" "$folder/corpus/$1"
  find "$corpora/$1" "$folder/found/$1" -type f -exec cp -t "$new" {} +
  "$folder/fuzz_$1" -set_cover_merge=1 -use_counters=0 -rss_limit_mb=2048 "$new" "$folder/corpus/$1" \
    >"$folder/logs/$1.merge" 2>&1 </dev/null || { explain_merge "$1"; return 1; }
  while read -r file && has_capacity "$1"; do
    [[ -f $folder/found/$1/$(basename "$file") ]] || cp -n "$file" "$corpora/$1/"
  done < <(find "$new" -type f -size -2k -printf '%s %p\n' | sort -n | cut -d' ' -f2-)
  pack "$1"
  echo "fuzz: $1: $(inputs "$1" | wc -l) inputs, $(inputs "$1" | xargs du -cb | tail -n 1 | cut -f1) bytes"
}

# Whether a corpus is well below 200 files and 300 KB.
has_capacity() {
  [[ $(inputs "$1" | wc -l) -lt 195 && $(inputs "$1" | xargs du -cb | tail -n 1 | cut -f1) -lt 280000 ]]
}

# The paths of a corpus: named inputs and those of the archive.
inputs() {
  find "$corpora/$1" "$folder/found/$1" -type f
}

explain_merge() {
  echo "fuzz: the corpora of $1 cannot be merged: see $folder/logs/$1.merge" >&2
}

main "$@"
