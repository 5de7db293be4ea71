#!/bin/bash
# tests/io_threads/run.sh BUILD [ARGUMENTS OF CTEST]: runs tests of a build with a server that has two threads for the bytes of
# clients, those with the label process unless the arguments say otherwise, and without the one that measures a server with no
# such thread. The program in BUILD is another one meanwhile.
set -euo pipefail

build=$(cd "${1:?usage: $0 BUILD [ARGUMENTS OF CTEST]}" && pwd)
shift
program=$build/without-io-threads/perenniald
if [[ -e $program ]]; then
  echo "$program is left of a run that was killed: move it back to $build/perenniald" >&2
  exit 1
fi
mkdir -p "${program%/*}"
mv "$build/perenniald" "$program"
trap 'mv "$program" "$build/perenniald" && rmdir "${program%/*}"' EXIT
# Its command line begins as it does without threads: documents end a server by that.
printf '#!/bin/bash\nexec -a perenniald %q "$@" --io-threads 2\n' "$program" >"$build/perenniald"
chmod +x "$build/perenniald"
if [[ $# -eq 0 ]]; then
  set -- -L process -E '^put_cost_test$'
fi
# Transcripts ask both threads whether they have read what was sent.
export TRANSCRIPT_IO_THREADS=2
ctest --test-dir "$build" --output-on-failure --timeout 1200 "$@"
