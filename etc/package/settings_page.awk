# Makes perennial.yaml(5) of etc/perennial.yaml:
#   awk -v version=1.2.3 -f etc/package/settings_page.awk etc/perennial.yaml >perennial.yaml.5
#
# "# ---- Title." begins a part, other comments are text, and a setting ends its text. Two settings in a row
# share one.
function troff(text) {
  gsub(/\\/, "\\e", text)
  gsub(/-/, "\\-", text)
  return text ~ /^[.']/ ? "\\&" text : text
}

function print_entry(  i) {
  for (i = 1; i <= names; ++i) print (i == 1 ? ".TP" : ".TQ") "\n\\fB" troff(name[i]) "\\fR (default " troff(initial[i]) ")"
  if (names > 0) printf "%s", text
  names = 0
  text = ""
}

BEGIN {
  print ".TH \"PERENNIAL.YAML\" \"5\" \"\" \"Perennial " version "\" \"The work queue Perennial\""
  print ".SH NAME\nperennial.yaml \\- settings of perenniald, the work queue server"
  print ".SH DESCRIPTION"
}

/^# ---- / {
  print_entry()
  title = toupper(substr($0, 8))
  sub(/[.:].*$/, "", title)
  print ".SH " troff(title)
  in_parts = 1
  next
}

/^#/ {
  if (names > 0) print_entry()
  line = substr($0, 3)
  if (in_parts) text = text troff(line) "\n"
  else print troff(line) (line ~ /[.]$/ ? "" : "\n.br")
  next
}

/^[a-z_]+:/ {
  key = $1
  sub(/:$/, "", key)
  name[++names] = key
  value = substr($0, length(key) + 3)
  initial[names] = value ~ /^(""|\[\])$/ ? "none" : value
}

END {
  print_entry()
  print ".SH FILES\n.TP\n.I /etc/perennial/perennial.yaml\nThe settings of the service, as the package installs it. It differs from"
  print "the defaults in two: data_dir is \\fI/var/lib/perennial\\fR, and listen is 127.0.0.1."
  print ".SH SEE ALSO\n.BR perenniald (8)"
}
