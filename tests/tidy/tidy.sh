#!/usr/bin/env bash
# tests/tidy/tidy.sh [ROOT]: what no compiler checks. Says every problem in a line, and fails if there is one.
set -euo pipefail
root=${1:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$root"
# Our own files with one of these endings.
files() {
  local names=() ending
  for ending in "$@"; do names+=(-o -name "*.$ending"); done
  find . \( -path './.git' -o -path './build*' -o -name node_modules -o -path './perennial-data' \) \
    -prune -o -type f \( "${names[@]:1}" \) -print | sed 's|^\./||' | sort
}

check_includes() {
  files h cc | xargs -r awk -f "$here/includes.awk"
}

# Folders that include each other, be it by way of others, are one.
check_circles() {
  local round
  round=$(files h cc | grep -E '^(engine|wire|store|migrations|cmd)/' |
    xargs -r awk -f "$here/folders.awk" | sort -u | tsort 2>&1 >/dev/null |
    sed -nE 's|^tsort: ([a-z_/-]*)$|\1|p' | paste -sd' ')
  [[ -z $round ]] || echo "$round: these folders include each other"
}

# A name says one thing in a namespace.
check_definitions() {
  files h cc | grep -E '^(engine|wire|store|migrations|cmd)/' |
    xargs -r awk -f "$here/definitions.awk"
}

check_words() {
  local pattern='\<(FIXME|TODO|XXX)\>|#if 0'
  # A comment that is a statement, not a sentence.
  pattern+='|^[[:space:]]*//[[:space:]]*(return|const|auto|if|for|while)[[:space:]].*[;{]$'
  pattern+='|^[[:space:]]*//[[:space:]]*[A-Za-z_][A-Za-z0-9_:.>-]*\([^ ]*\);$'
  pattern+='|^[[:space:]]*//[[:space:]]*(#include|\})'
  files h cc | xargs -r grep -nE "$pattern" /dev/null |
    sed 's/$/  (left-over)/' || true # None is found: as it should be.
}

check_format() {
  local program
  program=$(command -v clang-format-14 || command -v clang-format) ||
    { echo 'clang-format is not installed'; return; }
  files h cc | xargs -r "$program" --dry-run -Werror 2>&1 | grep -E 'error:' |
    sed 's/error: .*/not as clang-format has it/' || true # Likewise.
}

check_top_level() {
  local name
  for name in $(find . -mindepth 1 -maxdepth 1 -printf '%f\n' | sort); do
    case $name in
      CMakeLists.txt | cmd | engine | wire | store | migrations | tests | etc | README.md | LICENSE) ;;
      .git | .ci | .clang-format | .clang-tidy | .gitignore) ;;
      build | build-* | perennial-data) ;; # Not in the repository: .gitignore names them.
      *) echo "$name: not a name for the top of the tree (etc/docs/architecture.md, \"Folders\")" ;;
    esac
  done
}

check_readmes() {
  local folder
  for folder in . engine wire store migrations tests; do
    [[ ! -d $folder || -f $folder/README.md ]] || echo "$folder/README.md: missing"
  done
  # A folder of code says itself what it is, or the README of the folder above names it.
  files h cc | sed -nE 's#^((engine|wire|store|migrations|cmd)/.+)/[^/]*$#\1#p' | sort -u |
    while read -r folder; do
      [[ ! -f $folder/README.md ]] || continue
      grep -qsF "\`${folder##*/}/\`" "${folder%/*}/README.md" ||
        echo "$folder/README.md: missing, and ${folder%/*}/README.md does not name \`${folder##*/}/\`"
    done
}

# What the glossary retires is gone, and each of its terms is explained once.
check_glossary() {
  local glossary=etc/docs/glossary.md
  [[ -f $glossary ]] || return 0
  files h cc | grep -E '^(engine|wire|store|migrations|cmd|tests)/' |
    xargs -r awk -f "$here/retired_words.awk" "$glossary"
  sed -n '/^## Retired words/q; /^| /p' "$glossary" | cut -d'|' -f2 | tr ',' '\n' | sed 's/^ *//; s/ *$//' |
    grep -vxE 'term|---|' | sort | uniq -d | sed "s|.*|$glossary: \"&\" is explained twice|"
}

# A document that names a file of code names one that is there.
check_named_files() {
  local names document line name
  names=$(files h cc rb awk | sed 's|.*/||' | sort -u)
  files md | grep -v '^etc/CHANGES.md$' | xargs -r grep -noE '`[a-zA-Z_/]*[a-z_]+\.(h|cc)`' /dev/null |
    grep -v NNNN | tr -d '`' | while IFS=: read -r document line name; do
      grep -qxF "${name##*/}" <<<"$names" || echo "$document:$line: there is no $name"
    done
}

# The front page is read by people who do not know yet whether they want to.
check_front_page() {
  local words
  words=$(wc -w <README.md)
  ((words < 1000)) || echo "README.md: $words words; 1,000 is the limit"
  awk -v longest=30 -f "$here/sentences.awk" README.md
}

found=$(check_includes; check_circles; check_definitions; check_words; check_format; check_top_level; check_readmes; check_glossary; check_named_files; check_front_page)
[[ -z $found ]] || { sed 's/^/tidy: /' <<<"$found"; exit 1; }
echo 'tidy: nothing found'
