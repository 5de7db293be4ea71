#!/usr/bin/env bash
# tests/etc/units_test.sh PERENNIALD: systemd finds nothing wrong with our units, and the service keeps
# what it may do as small as it is meant to be.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$1
exposure_max=20 # Tenths. systemd calls up to 20 "OK", and what is not confined 96.

command -v systemd-analyze >/dev/null || { echo 'skipped: systemd-analyze is not installed'; exit 77; }
units=$(mktemp -d)
trap 'rm -rf "$units"' EXIT
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# The program is not where a package puts it. All else is as it is.
sed "s|^ExecStart=/usr/bin/perenniald |ExecStart=$program |" "$root/etc/perenniald.service" \
  >"$units/perenniald.service"
cp "$root/etc/perenniald.socket" "$units/"
grep -q "^ExecStart=$program --config" "$units/perenniald.service" ||
  fail 'etc/perenniald.service does not start /usr/bin/perenniald'

# It tells of other units of this machine as well.
for unit in perenniald.service perenniald.socket; do
  said=$(SYSTEMD_LOG_LEVEL=info systemd-analyze verify --man=no "$units/$unit" 2>&1 || true)
  ours=$(grep -i perennial <<<"$said" || true)
  [[ -z $ours ]] || fail "verify of $unit: $ours"
done

# What a restart does not help, as the README has it, is not restarted for.
codes=$(sed -n 's/^| \([0-9]*\)\( to \([0-9]*\)\)\{0,1\} | .* | no |$/\1 \3/p' "$root/README.md" |
  while read -r first last; do seq -s ' ' "$first" "${last:-$first}"; done | paste -sd ' ')
grep -q '^5 ' <<<"$codes" || fail "no exit codes in README.md, but: $codes"
grep -qx "RestartPreventExitStatus=$codes" "$root/etc/perenniald.service" ||
  fail "etc/perenniald.service restarts on some of these exit codes: $codes"

# That verify finds what is wrong: a unit that has a word too many.
sed 's|^Restart=.*|Restart=sometimes|' "$units/perenniald.service" >"$units/perenniald-wrong.service"
said=$(systemd-analyze verify --man=no "$units/perenniald-wrong.service" 2>&1 || true)
grep -q 'perenniald-wrong.service.*sometimes' <<<"$said" ||
  fail "verify does not find a wrong word, so its silence means nothing: $said"

# security DIRECTORY OF THE UNIT
security() {
  systemd-analyze security --offline=true --threshold="$exposure_max" --no-pager "$1" 2>&1
}
security "$units/perenniald.service" >"$units/said" ||
  fail "the service is exposed more than $exposure_max tenths: $(tail -n 1 "$units/said")"
sed '/^ProtectSystem\|^SystemCallFilter\|^Restrict/d' "$units/perenniald.service" \
  >"$units/perenniald-open.service"
! security "$units/perenniald-open.service" >/dev/null ||
  fail 'security takes a service that is exposed, so that its word means nothing'

echo "$failures failures; $(tail -n 1 "$units/said")"
[[ $failures -eq 0 ]]
