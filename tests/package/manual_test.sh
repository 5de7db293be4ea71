#!/usr/bin/env bash
# tests/package/manual_test.sh PERENNIALD SETTINGS_PAGE: the manual pages of the server document every setting,
# flag and exit code.
set -euo pipefail
perenniald=$1
settings=$2
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$root"
server=etc/man/perenniald.8
problems=0

problem() {
  echo "manual: $*" >&2
  problems=$((problems + 1))
}

# A page without troff markup.
plain() {
  sed 's/\\f[BRI]//g; s/\\-/-/g; s/\\e/\\/g' "$1"
}

# need PAGE PATTERN WHAT: searches an extended pattern. (-q would end before the writer of the pipe
# has.)
need() {
  plain "$1" | grep -E -- "$2" >/dev/null || problem "$1 does not name $3"
}

# The first words of those lines of --help that are indented by two spaces.
flags() {
  "$perenniald" --help | sed -nE 's/^  (-[^ ]+).*/\1/p' | tr ',' '\n'
}

keys=$("$perenniald" --print-config | sed -nE 's/^([a-z_]+):.*/\1/p')
[[ $(wc -w <<<"$keys") -gt 20 ]] || problem "--print-config shows no settings"
for key in $keys; do need "$settings" "^$key \(default .+\)$" "the setting $key"; done
[[ $(flags | wc -l) -gt 20 ]] || problem "--help shows no flags"
for flag in $(flags); do need "$server" "(^|, )$flag( |,|$)" "the flag $flag"; done
codes=$(sed -nE '/perennial\.$/q; s/.*exit_[a-z_]+ = ([0-9]+);.*/\1/p' cmd/common/exit_codes.h)
[[ $(wc -w <<<"$codes") -gt 10 ]] || problem "cmd/common/exit_codes.h has no codes"
for code in $codes; do need "$server" "^([0-9]+, )*$code(, [0-9]+)*$" "the exit code $code"; done
[[ $problems -eq 0 ]] || exit 1
echo "manual: nothing is missing"
