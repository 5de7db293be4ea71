#!/usr/bin/env bash
# etc/docs/pictures.sh: makes the pictures of these documents again, from the .dot and .tsv files beside it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
for program in dot gnuplot; do
  command -v "$program" >/dev/null || { echo "pictures.sh: $program is missing: apt-get install graphviz gnuplot-nox" >&2; exit 1; }
done
for picture in put states; do dot -Tsvg "$picture.dot" -o "$picture.svg"; done
gnuplot figures.gnuplot >figures.svg
