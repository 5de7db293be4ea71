# put.sh BODY [MORE]: puts a job into the tube "mail". MORE are further members of the request.
body=$(jq -Rn --arg body "$1" '$body')
curl -s -H 'Content-Type: application/json' http://127.0.0.1:11380/api/v1/jobs \
  -d "{\"tube\": \"mail\", \"body\": $body${2:+, $2}}"
