#!/bin/sh
# tests/console/run.sh FOLDER [--install | FILE...]: installs the modules of the tests into the folder, once for each lock
# file, and runs all tests, or those of these files, or none. Screenshots go to FOLDER/screenshots.
#
# CONSOLE_ASSETS is the folder of the built console, and support.mjs names the other variables.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
cd "$folder"
if ! cmp -s "$here/package-lock.json" installed-lock.json; then
  rm -f installed-lock.json
  cp "$here/package.json" "$here/package-lock.json" .
  npm ci --omit=optional --ignore-scripts --no-audit --no-fund </dev/null
  cp package-lock.json installed-lock.json
fi
[ "${1:-}" != --install ] || exit 0
[ $# -gt 0 ] || rm -rf screenshots
export CONSOLE_MODULES="$folder" CONSOLE_OUTPUT="$folder/screenshots"
cd "$here"
[ $# -gt 0 ] || set -- *.test.mjs
# They wait for a browser most of the time, so several files are run at once, unless they share a server.
files_at_once=3
[ -z "${CONSOLE_URL:-}" ] || files_at_once=1
exec "${NODE:-node}" --test --test-reporter=spec --test-concurrency=$files_at_once "$@"
