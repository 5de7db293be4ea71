#!/usr/bin/env bash
# tests/etc/hardening_test.sh SANITIZERS PROGRAM...: verifies that the programs were compiled and
# linked with the hardening options of CMakeLists.txt. SANITIZERS is empty in a build without
# sanitizers.
set -euo pipefail
sanitizers=$1
shift
[[ -z $sanitizers ]] || { echo "skipped: built with -fsanitize=$sanitizers, which checks more"; exit 77; }
command -v readelf objdump >/dev/null || { echo 'skipped: readelf is not installed (binutils)'; exit 77; }

# expect PROGRAM WHAT PATTERN: the pattern must be in the description of the program.
expect() {
  grep -qE "$3" <<<"$said" && return
  echo "$1 has no $2"
  failures=$((failures + 1))
}

# Counts into `failures`.
check() {
  local said
  said=$(readelf --wide --file-header --program-headers --dynamic --dyn-syms "$1")
  expect "$1" 'position-independent code' '^ *Type: +DYN '
  expect "$1" 'position-independent code that is a program (PIE)' 'FLAGS_1.*PIE'
  expect "$1" 'relocations that are read-only (RELRO)' 'GNU_RELRO'
  expect "$1" 'binding at the start (BIND_NOW)' 'FLAGS_1.*NOW'
  expect "$1" 'stack that is not executable' 'GNU_STACK.* RW '
  expect "$1" 'stack protector' '__stack_chk_fail'
  expect "$1" 'fortified calls' '__(memcpy|snprintf|vsnprintf|read|recv|fprintf|vfprintf|fread)_chk'
  [[ $(uname -m) =~ ^(x86_64|i.86)$ ]] || return 0
  # Debian's startup code has no such mark, so the linker omits it from the program. The code of
  # main has one.
  said=$(objdump --disassemble=main "$1")
  expect "$1" 'place to jump to at its beginning (-fcf-protection)' 'endbr(64|32)'
}

failures=0
for program in "$@"; do check "$program"; done
found=$failures

# An unhardened program must fail each check, which proves that the checks can fail.
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
echo 'int main() {}' | c++ -x c++ -O0 -U_FORTIFY_SOURCE -fno-stack-protector -fcf-protection=none -no-pie \
  -fno-pie -Wl,-z,norelro -Wl,-z,lazy -Wl,-z,execstack -o "$folder/plain" -
failures=0
check "$folder/plain" >"$folder/said"
all=$([[ $(uname -m) =~ ^(x86_64|i.86)$ ]] && echo 8 || echo 7)
[[ $failures -eq $all ]] ||
  { echo "of a program that has nothing, this is all that is missed:"; cat "$folder/said"; found=1; }

echo "$found failures"
[[ $found -eq 0 ]]
