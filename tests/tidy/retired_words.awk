# awk -f retired_words.awk etc/docs/glossary.md FILE...: the words that the glossary's last table retires, wherever a name or a comment has
# one. Of text in quotes only the names of events count, such as "store.open": what a program says to people keeps its words.
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
  line = without_sentences(line)
  for (word in retired) {
    # Alone, or a part of a name: room, has_room, room_.
    if (line ~ "(^|[^a-z0-9])" word "([^a-z0-9]|$)") {
      hint = retired[word]
      gsub(/^ +| +$/, "", hint)
      printf "%s:%d: \"%s\" is a retired word: %s\n", FILENAME, FNR, word, hint
    }
  }
}
# The line without its strings, except those that are the name of an event.
function without_sentences(line,  kept, text) {
  while (match(line, /"[^"]*"/)) {
    text = substr(line, RSTART + 1, RLENGTH - 2)
    kept = kept substr(line, 1, RSTART - 1) (text ~ /^[a-z0-9_]+\.[a-z0-9_.]+$/ ? " " text " " : "")
    line = substr(line, RSTART + RLENGTH)
  }
  return kept line
}
