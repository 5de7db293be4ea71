#!/usr/bin/env bash
# etc/package/documents.sh PERENNIAL FOLDER: writes the pages of the manual and the completions of the shells that are made
# from the tool's table of subcommands and from etc/perennial.yaml. The build calls it; what it writes is installed.
set -euo pipefail
tool=$1
folder=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
man=$folder/man
completions=$folder/completions

# A subcommand that is no longer there leaves no page.
rm -rf "$man" "$completions"
mkdir -p "$man" "$completions"

# page NAME WORD...: NAME is that of the page, perennial-checkpoint-create.
page() {
  local name=$1
  shift
  "$tool" manual "$@" >"$man/$name.1" 2>/dev/null
}

page perennial
# The page of the tool lists all others, with "\-" for each dash.
while read -r name; do
  word=${name#perennial-}
  # The dash is of the name, as in import-binlog, or is a space, as in "checkpoint create".
  page "$name" "$word" || page "$name" "${word%%-*}" "${word#*-}" || {
    echo "documents: perennial manual prints no page $name" >&2
    exit 1
  }
done < <(sed -n 's/^\.BR \(perennial[^ ]*\) (1)$/\1/p' "$man/perennial.1" | tr -d '\\')
echo '.so man1/perennial-bench.1' >"$man/perennial-bench-plot.1"
version=$("$tool" --version | cut -d ' ' -f 2)
awk -v version="$version" -f "$root/etc/package/settings_page.awk" "$root/etc/perennial.yaml" >"$man/perennial.yaml.5"
"$tool" completions bash >"$completions/perennial.bash"
"$tool" completions zsh >"$completions/_perennial"
"$tool" completions fish >"$completions/perennial.fish"
