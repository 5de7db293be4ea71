#!/usr/bin/env bash
# tests/tidy/tidy_test.sh: tidy.sh finds what it is for, in trees that have one problem each.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# A tree without problems.
plant() {
  rm -rf "${tree:?}"/*
  mkdir -p "$tree"/{engine/types,wire,store,tests,cmd/perenniald/{config,core,net,server},cmd/common}
  touch "$tree"/{README.md,engine/README.md,wire/README.md,store/README.md,tests/README.md}
  touch "$tree"/cmd/perenniald/{core,net}/README.md
  write engine/README.md '`types/`: the words that all layers share.'
  write cmd/perenniald/README.md '| `config/` | settings |' '| [`server/`](server/README.md) | all of it |'
  cp "$here/../../.clang-format" "$tree/"
  write engine/types/job.h '#include <string>'
  write tests/any_test.cc '#include <gtest/gtest.h>' '' '#include "cmd/perenniald/core/core.h"'
  write cmd/perenniald/config/flags.cc '#include <CLI/CLI.hpp>'
  write cmd/perenniald/server/server.cc '#include <uv.h>' '' '#include "cmd/perenniald/core/core.h"'
}

# write PATH LINE...
write() {
  local path=$1
  shift
  printf '%s\n' "$@" >"$tree/$path"
}

# expect NAME PATTERN: tidy.sh fails and says so; with "clean" it passes.
expect() {
  local output code=0
  output=$("$here/tidy.sh" "$tree" 2>&1) || code=$?
  if [[ $2 == clean && $code -eq 0 ]]; then return; fi
  if [[ $2 != clean && $code -ne 0 ]] && grep -qE "$2" <<<"$output"; then return; fi
  printf 'FAILED %s: exit %s\n%s\n' "$1" "$code" "$output"
  failures=$((failures + 1))
}

plant; expect 'a clean tree' clean
plant; write engine/a.cc '#include "store/store.h"'
expect 'an edge upwards' 'engine/a.cc:1: engine may not include store/store.h'
plant; write engine/types/a.h '#include "engine/engine.h"'
expect 'types include engine' 'engine/types may not include'
plant; write cmd/perenniald/core/a.cc '#include "engine/engine.h"'
expect 'another file of core includes the engine' 'a.cc:1: only cmd/perenniald/core/core.h may include engine/engine.h'
plant; mkdir -p "$tree/cmd/perenniald/access"; echo '# Access' >"$tree/cmd/perenniald/access/README.md"
write cmd/perenniald/access/a.cc '#include "engine/engine.h"' '' '#include "cmd/perenniald/core/core.h"'
expect 'access rules include the engine' 'cmd/perenniald/access may not include engine/engine.h'
expect 'access rules include core' 'cmd/perenniald/access may not include cmd/perenniald/core/core.h'
write cmd/perenniald/access/a.cc '#include "engine/view/engine_view.h"'
expect 'access rules include the view' clean
plant; mkdir -p "$tree/cmd/perenniald/http"
write cmd/perenniald/http/a.cc '#include "engine/engine.h"'
expect 'HTTP includes the engine' 'cmd/perenniald/http may not include engine/engine.h'
plant; write cmd/perenniald/core/a.cc '#include <uv.h>'
expect 'core includes libuv' 'core may not include <uv.h>'
plant; write cmd/perenniald/net/a.cc '#include <openssl/ssl.h>'
expect 'net includes OpenSSL' 'net may not include <openssl/ssl.h>'
plant; write wire/a.cc '#include <rocksdb/db.h>'
expect 'wire includes RocksDB' 'wire may not include <rocksdb/db.h>'
plant; write store/a.cc '#include "batch.h"'
expect 'an include from beside' 'not written from the root'
plant; write cmd/perenniald/net/a.h '#include "cmd/perenniald/server/server.h"'
expect 'net includes server' 'net may not include cmd/perenniald/server/server.h'
plant; write cmd/perenniald/config/a.cc '#include <CLI/CLI.hpp>'
expect 'CLI11 twice' 'CLI is included by'
plant; write cmd/perenniald/server/a.h '#include "cmd/perenniald/net/a.h"'
expect 'folders in one direction' clean
write cmd/perenniald/net/a.h '#include "cmd/perenniald/server/a.h"'
expect 'two folders that include each other' \
  'cmd/perenniald/(net cmd/perenniald/server|server cmd/perenniald/net): these folders include'
plant; mkdir -p "$tree"/cmd/{a,b,c}
write cmd/a/a.h '#include "cmd/b/b.h"'
write cmd/b/b.h '#include "cmd/c/c.h"'
write cmd/c/c.h '#include "cmd/a/a.h"'
expect 'three folders that include each other' 'cmd/a .*these folders include each other'
plant; write wire/a.h 'namespace a {' 'class X {' '  int x;' '};' '}  // namespace a'
write wire/b.h 'namespace a {' 'struct X final {};' '}  // namespace a'
expect 'a class in two headers' 'wire/b.h:2: a::X is defined in wire/a.h, too'
write wire/b.h 'namespace a {' 'class X;' 'X* f(class X*) {' '  struct X {};' '  return nullptr;' '}' \
  '}  // namespace a' '' 'namespace b {' 'struct X {};' '}  // namespace b'
expect 'a declaration, a local class and another namespace' clean
write wire/b.cc 'namespace a {' 'namespace {' '' 'struct X {};' '' '}  // namespace' '}  // namespace a'
expect 'a hidden class that has the name of another' 'wire/b.cc:4: a::X is defined in wire/a.h'
write wire/a.h '#include <string>'
write wire/c.cc 'namespace a {' 'namespace {' '' 'struct X {};' '' '}  // namespace' '}  // namespace a'
expect 'hidden classes of two files' clean
write wire/c.h 'namespace a {' 'namespace {' '' 'struct X {};' '' '}  // namespace' '}  // namespace a'
expect 'a hidden class in a header' 'wire/c.(cc|h):4: a::X is defined in wire/'
plant; write wire/a.cc 'const char* a = "{ {";' '// {' "const char b = '{';" 'namespace a {' \
  'template <typename T>' 'struct X {};' '}  // namespace a'
write wire/b.cc 'namespace a {' 'struct X::Y {};' 'template <>' 'struct X<int> {};' '}  // namespace a'
expect 'braces in strings, a specialisation and a nested class' clean
write wire/b.cc 'namespace a {' 'template <typename T>' 'struct X {};' '}  // namespace a'
expect 'a class template in two files' 'wire/b.cc:3: a::X is defined in wire/a.cc'
plant; write engine/a.cc '// FIXME: later.'
expect 'a FIXME' 'engine/a.cc:1:// FIXME'
plant; write engine/a.cc '// return job;'
expect 'a commented-out return' 'left-over'
plant; write engine/a.cc '// heap.push(job);'
expect 'a commented-out call' 'left-over'
plant; write engine/a.cc '// It moves the job; see below.' '// A call: f(x) is one;'
expect 'sentences' clean
plant; write engine/a.cc 'int  a ;'
expect 'bad format' 'engine/a.cc:1'
plant; touch "$tree/NOTES"
expect 'a stray file' 'NOTES: not a name'
plant; mkdir "$tree/util"
expect 'a stray folder' 'util: not a name'
plant; rm "$tree/store/README.md"
expect 'a missing README' 'store/README.md: missing'
plant; mkdir "$tree/store/disk"; write store/disk/a.h '#include <string>'
expect 'a folder of code without a README' 'store/disk/README.md: missing, and store/README.md does not name'
write store/README.md '`disk/`: files.'
expect 'a folder that the README above names' clean
rm "$tree/store/README.md"
expect 'a folder of code without any README' 'store/disk/README.md: missing, and'
plant; touch "$tree/engine/types/README.md"; : >"$tree/engine/README.md"
expect 'a folder with a README of its own' clean
plant; write cmd/perenniald/README.md '`config/`' 'old_server/' '`old_server/`'
expect 'a folder that is named by another name' 'cmd/perenniald/server/README.md: missing'
plant; mkdir -p "$tree/etc/docs"
write etc/docs/glossary.md '| term | meaning |' '| --- | --- |' '| tube | A queue. |' '## Retired words' '| `door` | listener |'
write engine/a.cc 'int indoors = 0;' 'const char* text = "the door";'
expect 'no retired word' clean
write engine/a.cc 'inform("store.door", "state=the door");'
expect 'a retired word in the name of an event' 'engine/a.cc:1: "door" is a retired word: listener'
write engine/a.cc 'int door_count = 0;'
expect 'a retired word' 'engine/a.cc:1: "door" is a retired word: listener'
write engine/a.cc '// The Door is open.'
expect 'a retired word in a comment' 'engine/a.cc:1: "door" is a retired word'
plant; mkdir -p "$tree/etc/docs"
write etc/docs/glossary.md '| term | meaning |' '| tube, queue | One. |' '| tube | Two. |'
expect 'a term explained twice' 'glossary.md: "tube" is explained twice'
plant; write README.md "$(printf 'word %.0s' {1..1000})."
expect 'a long front page' 'README.md: 1001 words; 1,000 is the limit'
plant; write README.md "$(printf 'word %.0s' {1..31})." '' 'A short one.'
expect 'a long sentence' 'README.md:1: a sentence of 31 words'
plant; write README.md "$(printf 'word %.0s' {1..30})." '' "| $(printf 'word %.0s' {1..40}) |" '```' "$(printf 'word %.0s' {1..40})" '```'
expect 'no long sentence' clean
plant; write store/README.md 'Begin with `engine/types/job.h`.'
expect 'a document that names a file' clean
write store/README.md 'Begin with `engine/types/jobs.h`.'
expect 'a document that names no file' 'store/README.md:1: there is no engine/types/jobs.h'
plant; mkdir -p "$tree/store/disk/data" "$tree/tests/store"; write store/disk/data/notes.txt 'No code.'
write tests/store/a_test.cc '#include <string>'
expect 'a folder without code, and one of tests' clean

echo "$failures failures"
[[ $failures -eq 0 ]]
