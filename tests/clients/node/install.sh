#!/bin/sh
# install.sh FOLDER [LOCK]: installs the clients from npm into the folder, once for each lock file. LOCK is the folder of
# package.json and package-lock.json, and this one if not given.
set -eu
lock=$(cd "${2:-$(dirname "$0")}" && pwd)
mkdir -p "$1"
cd "$1"
if cmp -s "$lock/package-lock.json" installed-lock.json; then exit 0; fi
cp "$lock/package.json" "$lock/package-lock.json" .
npm ci --omit=optional --ignore-scripts --no-audit --no-fund </dev/null
cp package-lock.json installed-lock.json
