#!/bin/bash
# tests/io_threads/run.sh BUILD [ARGUMENTS OF CTEST]: runs tests of a build with a server that has two threads for the bytes of
# clients, those with the label process unless the arguments say otherwise. The program in BUILD is another one meanwhile.
set -euo pipefail

build=$(cd "${1:?usage: $0 BUILD [ARGUMENTS OF CTEST]}" && pwd)
shift
program=$build/perenniald.without-io-threads
if [[ -e $program ]]; then
  echo "$program is left of a run that was killed: move it back to $build/perenniald" >&2
  exit 1
fi
mv "$build/perenniald" "$program"
trap 'mv "$program" "$build/perenniald"' EXIT
printf '#!/bin/sh\nexec %q --io-threads 2 "$@"\n' "$program" >"$build/perenniald"
chmod +x "$build/perenniald"
if [[ $# -eq 0 ]]; then
  set -- -L process
fi
ctest --test-dir "$build" --output-on-failure --timeout 1200 "$@"
