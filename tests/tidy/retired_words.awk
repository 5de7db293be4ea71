# awk -f retired_words.awk etc/docs/glossary.md FILE...: the words that the glossary's last table retires, wherever a name or a comment has
# one. What a program prints keeps its words, so text in quotes does not count.
FNR == NR {
  if (/^## /) in_table = /Retired words/
  if (!in_table || !/^\| `/) next
  split($0, cells, "|")
  rest = cells[2]
  while (match(rest, /`[^`]*`/)) {
    retired[substr(rest, RSTART + 1, RLENGTH - 2)] = cells[3]
    rest = substr(rest, RSTART + RLENGTH)
  }
  next
}
{
  line = tolower($0)
  gsub(/\\"/, "", line)
  gsub(/"[^"]*"/, "", line)
  for (word in retired) {
    # Alone, or a part of a name: room, has_room, room_.
    if (line ~ "(^|[^a-z0-9])" word "([^a-z0-9]|$)") {
      hint = retired[word]
      gsub(/^ +| +$/, "", hint)
      printf "%s:%d: \"%s\" is a retired word: %s\n", FILENAME, FNR, word, hint
    }
  }
}
