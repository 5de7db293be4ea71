# worker.sh COMMAND...: does the jobs of the tube "mail". COMMAND has the body as its standard input.
api=${API:-http://127.0.0.1:11380/api/v1}
ask() {
  curl -sS -m 60 ${TOKEN:+-H "Authorization: Bearer $TOKEN"} -H 'Content-Type: application/json' "$@"
}
while :; do
  # The server may be away, and come back.
  answer=$(ask -f -X POST "$api/tubes/mail/reservations?wait_seconds=20") || { sleep 1; continue; }
  lease=$(jq -r '.reservations[0].lease // empty' <<<"$answer")
  [ -n "$lease" ] || continue
  mine=$api/reservations/$lease
  # While the command runs the lease goes on. Where it has ended, the job may be another worker's.
  while sleep 15; do ask -f -d '{}' "$mine/touch" || break; done >/dev/null &
  touches=$!
  if why=$(jq -j '.reservations[0].body' <<<"$answer" | "$@" 2>&1 >&3); then
    ask -X DELETE "$mine" >/dev/null
  else
    jq -n --arg text "${why:-no reason}" '{text: $text[-1000:]}' | ask -d @- "$mine/note" >/dev/null
    ask -d '{}' "$mine/release" >/dev/null
  fi
  # An answer that is lost, 404 and 409 need nothing: whatever became of the job, it is not ours any
  # more. It may come again, so the command must be harmless to repeat.
  kill "$touches"
done 3>&1
