# awk -v longest=30 -f sentences.awk FILE...: each sentence of more words than that. Code, tables, headings and links' targets are none.
function flush_sentence(  count) {
  count = split(sentence, words, /[ \t]+/)
  if (words[count] == "") --count
  if (count > longest) printf "%s:%d: a sentence of %d words, and %d is the limit\n", FILENAME, start, count, longest
  sentence = ""
}
function add(text,  i, n, parts) {
  n = split(text, parts, /[.!?:]([ *)]|$)/)
  for (i = 1; i <= n; ++i) {
    if (sentence == "") start = FNR
    sentence = sentence (sentence == "" ? "" : " ") parts[i]
    if (i < n) flush_sentence()
  }
}
FNR == 1 { sentence = ""; in_code = 0 }
/^```/ { in_code = !in_code; flush_sentence(); next }
in_code || /^#/ || /^\|/ || /^<!--/ || /^$/ { flush_sentence(); next }
{
  line = $0
  sub(/^[ \t]*[-*0-9.]+ /, "", line)
  gsub(/\]\([^)]*\)/, "]", line)
  gsub(/[ \t]+/, " ", line)
  sub(/^ /, "", line)
  if ($0 ~ /^[-*] /) flush_sentence()
  add(line)
}
END { flush_sentence() }
