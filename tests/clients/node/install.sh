#!/bin/sh
# Installs the clients from npm into the folder in the first argument, once for each lock file.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
if cmp -s "$here/package-lock.json" installed-lock.json; then exit 0; fi
cp "$here/package.json" "$here/package-lock.json" .
npm ci --omit=optional --ignore-scripts --no-audit --no-fund </dev/null
cp package-lock.json installed-lock.json
