#!/usr/bin/env bash
# tests/foreign_protocols/foreign_protocols_test.sh: a real browser and a real TLS client knock, as a web page makes them do.
#
# The page's put must reach beanstalkd 1.12, else it shows nothing; at perenniald no job may come of it, and every
# such connection must be counted as refused. Needs build/, Chromium, openssl and BEANSTALKD.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
beanstalkd=${BEANSTALKD:-$root/build/beanstalkd/usr/bin/beanstalkd}
folder=$(mktemp -d)
servers=()

clean_up() {
  local server
  for server in "${servers[@]}"; do kill "$server" 2>/dev/null || true; done
  wait
  rm -rf "$folder"
}
trap clean_up EXIT

fail() {
  echo "foreign_protocols: $1" >&2
  tail -n 5 "$folder"/*.log >&2
  exit 1
}

# start NAME COMMAND...: runs the command, in which {port} is replaced, and sets port.
start() {
  local name=$1 tries=50
  shift
  port=$((20000 + RANDOM % 12000))
  "${@//\{port\}/$port}" >"$folder/$name.log" 2>&1 &
  servers+=($!)
  until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
    kill -0 "${servers[-1]}" 2>/dev/null && ((tries--)) || fail "$name does not start"
    sleep 0.1
  done
}

# stat PORT KEY
stat() {
  exec 3<>"/dev/tcp/127.0.0.1/$1"
  printf 'stats\r\nquit\r\n' >&3
  sed -n "s/^$2: //p" <&3
  exec 3>&-
}

# Writes a page with a form and a script that send a put in the body of a POST, which needs no
# consent of the server.
write_page() {
  cat >"$folder/page.html" <<PAGE
<!doctype html>
<script>
  const put = 'put 0 0 60 4\r\nevil\r\n';
  fetch('$1/', {method: 'POST', mode: 'no-cors', body: put}).catch(() => {}).finally(() => {
    const form = document.createElement('form');
    form.method = 'post';
    form.enctype = 'text/plain';
    form.action = '$1/';
    const field = document.createElement('textarea');
    field.name = put;
    form.append(field);
    document.body.append(form);
    form.submit();
  });
</script>
<body></body>
PAGE
}

# Newer versions of Chromium ask the user before a page may reach this machine. Older ones and other
# browsers do not.
#
# browse URL
browse() {
  write_page "$1"
  timeout 60 chromium --headless --ignore-certificate-errors --no-sandbox --disable-gpu --user-data-dir="$folder/profile" \
    --disable-features=LocalNetworkAccessChecks,PrivateNetworkAccessChecks,BlockInsecurePrivateNetworkRequests \
    --virtual-time-budget=5000 --dump-dom "file://$folder/page.html" >"$folder/chromium.log" 2>&1 || true
}

# A listener with TLS, whose certificate the browser takes. Sets tls.
configure_tls() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost -days 1 \
    -keyout "$folder/key.pem" -out "$folder/certificate.pem" 2>"$folder/openssl.log"
  tls=$((12000 + RANDOM % 8000))
  cat >"$folder/perennial.yaml" <<SETTINGS
listeners:
  - {address: "127.0.0.1:$tls", tls: {certificate: $folder/certificate.pem, key: $folder/key.pem}}
SETTINGS
}

main() {
  local theirs ours tls jobs refused
  start beanstalkd "$beanstalkd" -l 127.0.0.1 -p '{port}'
  theirs=$port
  configure_tls
  start perenniald "$root/build/perenniald" --config "$folder/perennial.yaml" -l 127.0.0.1 -p '{port}' -b "$folder/data" -V
  ours=$port

  browse "http://127.0.0.1:$theirs"
  jobs=$(stat "$theirs" total-jobs)
  ((jobs >= 1)) || fail 'the page puts nothing into beanstalkd, so it shows nothing'
  browse "http://127.0.0.1:$ours"
  refused=$(stat "$ours" connections-refused)
  ((refused >= 2)) || fail "the browser was refused $refused times, and has two ways to knock"

  printf 'put 0 0 60 4\r\nevil\r\n' | timeout 10 openssl s_client -connect "127.0.0.1:$ours" \
    >"$folder/openssl.log" 2>&1 && fail 'TLS was spoken'
  (($(stat "$ours" connections-refused) == refused + 1)) || fail 'TLS was not refused'
  # A browser says which protocols it speaks, and beanstalk's is none of them.
  browse "https://127.0.0.1:$tls"
  grep -q 'no application protocol' "$folder/perenniald.log" || fail 'the browser did not knock at the TLS listener'
  [[ $(stat "$ours" total-jobs) == 0 ]] || fail 'a stranger has put a job'
  grep -q 'speaks=http' "$folder/perenniald.log" || fail 'the log says nothing of HTTP'
  grep -q 'speaks=tls' "$folder/perenniald.log" || fail 'the log says nothing of TLS'
  echo "foreign_protocols: a page put $jobs jobs into beanstalkd and none here; $((refused + 1)) connections refused"
}

main "$@"
