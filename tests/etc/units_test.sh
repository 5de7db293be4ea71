#!/usr/bin/env bash
# tests/etc/units_test.sh PERENNIALD: systemd accepts the units, and the service's permissions stay
# within the intended limit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
program=$1
exposure_max=20 # Tenths. systemd calls values up to 20 "OK"; an unconfined service has 96.

command -v systemd-analyze >/dev/null || { echo 'skipped: systemd-analyze is not installed'; exit 77; }
units=$(mktemp -d)
trap 'rm -rf "$units"' EXIT
failures=0

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# The program is not where the package installs it. Everything else is unchanged.
sed "s|^ExecStart=/usr/bin/perenniald |ExecStart=$program |" "$root/etc/perenniald.service" \
  >"$units/perenniald.service"
cp "$root/etc/perenniald.socket" "$units/"
grep -q "^ExecStart=$program --config" "$units/perenniald.service" ||
  fail 'etc/perenniald.service does not start /usr/bin/perenniald'

sed "s|^ExecStart=/usr/bin/perennial |ExecStart=${program%d} |" "$root/etc/perennial-work@.service" \
  >"$units/perennial-work@mail.service"
grep -q "^ExecStart=${program%d} work --tube" "$units/perennial-work@mail.service" ||
  fail 'etc/perennial-work@.service does not start /usr/bin/perennial'

# systemd reports on other units of this machine as well.
for unit in perenniald.service perenniald.socket perennial-work@mail.service; do
  said=$(SYSTEMD_LOG_LEVEL=info systemd-analyze verify --man=no "$units/$unit" 2>&1 || true)
  ours=$(grep -i perennial <<<"$said" || true)
  [[ -z $ours ]] || fail "verify of $unit: $ours"
done

# The unit must not restart after the exit codes that etc/docs/operations.md lists as permanent.
codes=$(sed -n 's/^| \([0-9]*\)\( to \([0-9]*\)\)\{0,1\} | .* | no |$/\1 \3/p' "$root/etc/docs/operations.md" |
  while read -r first last; do seq -s ' ' "$first" "${last:-$first}"; done | paste -sd ' ')
grep -q '^5 ' <<<"$codes" || fail "no exit codes in etc/docs/operations.md, but: $codes"
grep -qx "RestartPreventExitStatus=$codes" "$root/etc/perenniald.service" ||
  fail "etc/perenniald.service restarts on some of these exit codes: $codes"

# A node that lost the lead starts again as a standby. A success needs the force, because Restart=on-failure leaves it alone.
code=$(sed -n 's/.*exit_not_leader = \([0-9]*\);.*/\1/p' "$root/cmd/common/exit_codes.h")
for setting in SuccessExitStatus RestartForceExitStatus; do
  grep -qx "$setting=$code" "$root/etc/perenniald.service" ||
    fail "etc/perenniald.service lacks $setting=$code, the code of a node that lost the lead"
done

# Each word of the example is one that the worker's unit knows.
words=$(sed -nE 's/^#?([A-Z_]+)=.*/\1/p' "$root/etc/package/work.env")
[[ $(wc -w <<<"$words") -gt 4 ]] || fail "etc/package/work.env has few settings: $words"
for word in $words; do
  [[ $word == PERENNIAL_TOKEN ]] || grep -qE "^ExecStart=.*[$][{]?$word\b" "$root/etc/perennial-work@.service" ||
    fail "etc/perennial-work@.service does not use $word of etc/package/work.env"
done

# verify must find an error, here an invalid word in a unit.
sed 's|^Restart=.*|Restart=sometimes|' "$units/perenniald.service" >"$units/perenniald-wrong.service"
said=$(systemd-analyze verify --man=no "$units/perenniald-wrong.service" 2>&1 || true)
grep -q 'perenniald-wrong.service.*sometimes' <<<"$said" ||
  fail "verify does not find a wrong word, so its silence means nothing: $said"

# security DIRECTORY OF THE UNIT
security() {
  systemd-analyze security --offline=true --threshold="$exposure_max" --no-pager "$1" 2>&1
}
for unit in perennial-work@mail perenniald; do
  security "$units/$unit.service" >"$units/said" ||
    fail "$unit is exposed more than $exposure_max tenths: $(tail -n 1 "$units/said")"
done
sed '/^ProtectSystem\|^SystemCallFilter\|^Restrict/d' "$units/perenniald.service" \
  >"$units/perenniald-open.service"
! security "$units/perenniald-open.service" >/dev/null ||
  fail 'security takes a service that is exposed, so that its word means nothing'

echo "$failures failures; $(tail -n 1 "$units/said")"
[[ $failures -eq 0 ]]
