#!/usr/bin/env bash
# tests/store/rocks/newer_rocksdb_test.sh COMPILER: checks that the code which opens databases compiles
# with the headers of RocksDB 11.0. There a database is opened only into a unique_ptr, and the option
# fail_if_options_file_error does not exist. The test changes a copy of the installed headers to that.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
compiler=$1

copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
found=$("$compiler" -E -x c++ - <<<'#include <rocksdb/version.h>' |
  sed -n 's|^# 1 "\(.*\)/rocksdb/version.h".*|\1|p' | head -n 1)
cp -r "$found/rocksdb" "$copy/"
changed=$copy/rocksdb
if grep -q 'unique_ptr<DB>\* dbptr' "$changed/db.h"; then
  echo 'skipped: RocksDB is newer itself, so that the build shows it'
  exit 77
fi
sed -i 's/\bDB\*\* dbptr/std::unique_ptr<DB>* dbptr/' "$changed/db.h"
sed -i '/bool fail_if_options_file_error/d' "$changed/options.h"

compiles() {
  "$compiler" -std=c++20 -fsyntax-only -I. -isystem "$copy" "$@" 2>"$copy/errors"
}

# Code for the older headers must fail to compile, which shows that the headers are changed.
old_ways='#include <rocksdb/db.h>
rocksdb::DB* db;
auto status = rocksdb::DB::Open({}, "", &db);
'
"$compiler" -std=c++20 -fsyntax-only -x c++ - <<<"$old_ways" ||
  { echo 'FAILED: what was right before does not compile'; exit 1; }
! compiles -x c++ - <<<"$old_ways" || { echo 'FAILED: DB** is still there'; exit 1; }

failures=0
for file in $(grep -rlE 'open_db|fail_if_options_file_error|DB::Open[A-Za-z]*\(' \
  store migrations cmd tests --include='*.cc'); do
  grep -q '<rocksdb/\|store/rocks/tuning.h\|store/rocks/database.h' "$file" || continue
  compiles "$file" && continue
  echo "FAILED: $file"
  cat "$copy/errors"
  failures=$((failures + 1))
done
echo "$failures failures"
[[ $failures -eq 0 ]]
