#!/bin/sh
# build.sh FOLDER: makes the console's files in FOLDER/dist: index.html, theme_start-*.js, style-*.css, licenses.txt, app-*.js and chunk-*.js of
# the first load, and of_*-*.js and chart-*.js, which are loaded later. The two of the first load are what app.js has alone, and what it shares.
#
# Needs npm and esbuild. Installs the three packages of the lock file into the folder, once for each lock file, and runs
# no script of theirs.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
if ! cmp -s "$here/package-lock.json" installed-lock.json; then
  rm -f installed-lock.json
  cp "$here/package.json" "$here/package-lock.json" .
  npm ci --ignore-scripts --no-audit --no-fund --loglevel=error </dev/null >/dev/null
  cp package-lock.json installed-lock.json
fi

# The sources are beside the packages, where esbuild looks for them.
rm -rf src dist
cp -R "$here/src" src
cp "$here/style.css" style.css
esbuild src/app.js src/theme_start.js style.css --bundle --minify --format=esm --splitting --target=es2022 --charset=utf8 \
  --legal-comments=none --log-level=warning --outdir=dist --outbase=. --entry-names='[name]-[hash]' --chunk-names='[name]-[hash]'

# hashed NAME ENDING: the one file in dist of this name.
hashed() {
  set -- dist/"$1"-*."$2"
  if [ $# -ne 1 ] || [ ! -f "$1" ]; then
    echo "console: esbuild has not made one file like $1" >&2
    exit 1
  fi
  basename "$1"
}
app=$(hashed app js)
shared=$(hashed chunk js)
theme=$(hashed theme_start js)
style=$(hashed style css)
sed -e "s|/app\.js|/$app|" -e "s|/shared\.js|/$shared|" -e "s|/theme_start\.js|/$theme|" -e "s|/style\.css|/$style|" "$here/index.html" >dist/index.html
for package in preact htm uplot; do
  printf '%s\n\n' "$package"
  cat "node_modules/$package/LICENSE"
  printf '\n\n'
done >dist/licenses.txt
