# Which folder includes which: prints "FROM TO" for each include from another folder. tsort(1) finds
# out whether they go round in a circle.
/^[ \t]*#[ \t]*include[ \t]+"/ {
  split($0, part, /"/)
  from = FILENAME
  to = part[2]
  if (!sub(/\/[^\/]*$/, "", from) || !sub(/\/[^\/]*$/, "", to) || from == to) next
  print from, to
}
