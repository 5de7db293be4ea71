# Classes that are defined at the scope of a namespace: prints each that two files define in one
# namespace. Two .cc files may have one each in an anonymous namespace, because nothing sees both;
# with any other definition of that name such a one would clash where both are included.

FNR == 1 {
  check_even()
  last = FILENAME
  depth = 0
  in_comment = in_raw = 0
  top = 0
  head = ""
}

# What braces in strings, characters and comments are for is none of ours.
{
  line = $0
  if (in_raw) {
    if (!match(line, /\)[A-Za-z]*"/)) next
    line = substr(line, RSTART + RLENGTH)
    in_raw = 0
  }
  if (line ~ /R"[A-Za-z]*\(/ && line !~ /R"[A-Za-z]*\(.*\)[A-Za-z]*"/) in_raw = 1
  sub(/R"[A-Za-z]*\(.*/, "", line)
  gsub(/\\\\/, "", line)
  gsub(/\\["']/, "", line)
  gsub(/"[^"]*"/, "\"\"", line)
  gsub(/'[^']'/, "' '", line)
  sub(/\/\/.*/, "", line)
  if (line ~ /^[ \t]*#/) next
  read_line(line)
}

function read_line(line, i, c) {
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    if (c == "{") open_brace(head)
    if (c == "}") close_brace()
    if (c == ";" || c == "{" || c == "}") head = ""
    else head = head c
  }
  head = head " "
}

function open_brace(head) {
  depth++
  gsub(/[ \t]+/, " ", head)
  sub(/^ /, "", head)
  if (head ~ /^(inline )?namespace /) {
    sub(/^(inline )?namespace /, "", head)
    sub(/ $/, "", head)
    at[++top] = depth
    name[top] = head
  } else if (depth == top + 1) {
    define(head)
  }
}

function close_brace() {
  if (top > 0 && at[top] == depth) top--
  depth--
}

# "template <typename T> class X final : public Y": X. A specialisation, X<Y>, defines no name.
function define(head, key, i, anonymous) {
  while (sub(/^template ?<[^<>]*(<[^<>]*>[^<>]*)*> ?/, "", head)) continue
  gsub(/alignas\([^()]*\) ?/, "", head)
  if (head !~ /^(class|struct|union|enum|enum class) [A-Za-z_]/ || head ~ /[=(]/) return
  sub(/^(class|struct|union|enum class|enum) /, "", head)
  if (!match(head, /^[A-Za-z_][A-Za-z_0-9]*(::[A-Za-z_0-9]+)*/)) return
  if (substr(head, RLENGTH + 1, 1) == "<") return
  head = substr(head, 1, RLENGTH)
  key = ""
  for (i = 1; i <= top; i++) {
    if (name[i] == "") anonymous = 1
    else key = key name[i] "::"
  }
  check(key head, anonymous && FILENAME ~ /\.cc$/)
}

function check(key, anonymous) {
  if (key in file && file[key] != FILENAME && !(anonymous && hidden[key]))
    print FILENAME ":" FNR ": " key " is defined in " file[key] ", too"
  if (key in file && !hidden[key]) return
  file[key] = FILENAME
  hidden[key] = anonymous
}

function check_even() {
  if (depth != 0) print last ": its braces do not come out even"
}

END {
  check_even()
}
