# Completions of perennial for bash. Made by: perennial completions bash

_perennial() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command="${COMP_WORDS[*]:1:COMP_CWORD - 1} " words='' files=''
  case $command in
    ' ') words='stats tubes top put peek kick bury delete pause drain undrain list flush move work dump load check repair restore migrate import-binlog export-beanstalkd bench manual completions set token users cluster checkpoint' ;;
    'set ') words='job tube' ;;
    'token ') words='new' ;;
    'users ') words='check' ;;
    'cluster ') words='status handover resign pause resume repair init recover verify' ;;
    'checkpoint ') words='create list verify prune' ;;
    'stats '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        --job) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tube --job --json --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'tubes '*)
      case $before in
        --server) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --wide --json --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'top '*)
      case $before in
        --server) words='' ;;
        --interval) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --interval --once --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'put '*)
      case $before in
        --server) words='' ;;
        --file) files=-f ;;
        --tube) words='' ;;
        --pri) words='' ;;
        --delay) words='' ;;
        --ttr) words='' ;;
        --idp) words='' ;;
        --until) words='deleted reserved ttl' ;;
        --tries) words='' ;;
        --backoff) words='' ;;
        --dead) words='' ;;
        --expire) words='' ;;
        --con) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --file --tube --pri --delay --ttr --lines --idp --until --tries --backoff --dead --expire --con --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'peek '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --ready --delayed --buried --reserved --tube --body --json --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'kick '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        --count) words='' ;;
        --state) words='' ;;
        --match) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tube --count --all --state --match --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'bury '*)
      case $before in
        --server) words='' ;;
        --pri) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --pri --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'delete '*)
      case $before in
        --server) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'pause '*)
      case $before in
        --server) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'drain '*)
      case $before in
        --server) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'undrain '*)
      case $before in
        --server) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'list '*)
      case $before in
        --server) words='' ;;
        --state) words='' ;;
        --idp) words='' ;;
        --after) words='' ;;
        --limit) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --state --idp --after --limit --json --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'flush '*)
      case $before in
        --server) words='' ;;
        --state) words='' ;;
        --match) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --state --match --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'move '*)
      case $before in
        --server) words='' ;;
        --state) words='' ;;
        --match) words='' ;;
        --count) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --state --match --count --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'set job '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        --pri) words='' ;;
        --delay) words='' ;;
        --ttr) words='' ;;
        --expire) words='' ;;
        --tries) words='' ;;
        --backoff) words='' ;;
        --dead) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tube --pri --delay --ttr --expire --tries --backoff --dead --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'set tube '*)
      case $before in
        --server) words='' ;;
        --tries) words='' ;;
        --backoff) words='' ;;
        --dead) words='' ;;
        --expire) words='' ;;
        --reserved) words='' ;;
        --rate) words='' ;;
        --drain) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tries --backoff --dead --expire --reserved --rate --drain --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'work '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        --jobs) words='' ;;
        --grace) words='' ;;
        --timeout) words='' ;;
        --touch) words='' ;;
        --backoff) words='' ;;
        --tries) words='' ;;
        --bury-on) words='' ;;
        --max) words='' ;;
        --retry) words='' ;;
        --log) words='logfmt json' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --tube --jobs --grace --timeout --touch --backoff --tries --bury-on --max --once --drain --retry --log --dry-run --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'dump '*)
      case $before in
        --data-dir) files=-d ;;
        --server) words='' ;;
        --format) words='jsonl yaml table' ;;
        --tube) words='' ;;
        --state) words='ready reserved delayed buried' ;;
        --id) words='' ;;
        --limit) words='' ;;
        --checkpoint) files=-d ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --data-dir --server --format --tube --state --id --limit --no-body --summary --json --recover-point-in-time --salvage --checkpoint --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'load '*)
      case $before in
        --data-dir) files=-d ;;
        --from) files=-f ;;
        *)
          words='--help --data-dir --from --skip-damaged --json'
          ;;
      esac
      ;;
    'check '*)
      case $before in
        --data-dir) files=-d ;;
        --limit) words='' ;;
        *)
          words='--help --data-dir --deep --limit --json'
          ;;
      esac
      ;;
    'repair '*)
      case $before in
        --data-dir) files=-d ;;
        --checkpoint) files=-d ;;
        *)
          words='--help --data-dir --checkpoint --yes --json'
          ;;
      esac
      ;;
    'checkpoint create '*)
      case $before in
        --server) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --json --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'checkpoint list '*)
      case $before in
        --data-dir) files=-d ;;
        --dir) files=-d ;;
        *)
          words='--help --data-dir --dir --json'
          ;;
      esac
      ;;
    'checkpoint verify '*)
      case $before in
        *)
          words='--help --json'
          [[ $word == -* ]] || files=-d
          ;;
      esac
      ;;
    'checkpoint prune '*)
      case $before in
        --keep) words='' ;;
        --data-dir) files=-d ;;
        --dir) files=-d ;;
        *)
          words='--help --keep --data-dir --dir --json'
          ;;
      esac
      ;;
    'restore '*)
      case $before in
        --from) files=-d ;;
        --to) files=-d ;;
        --id-gap) words='' ;;
        *)
          words='--help --from --to --exact --id-gap --copy --json'
          ;;
      esac
      ;;
    'migrate '*)
      case $before in
        --data-dir) files=-d ;;
        *)
          words='--help --data-dir --dry-run --json'
          ;;
      esac
      ;;
    'token new '*)
      case $before in
        --user) words='' ;;
        --id) words='' ;;
        *)
          words='--help --user --id'
          ;;
      esac
      ;;
    'users check '*)
      case $before in
        -c | --config) files=-f ;;
        *)
          words='--help -c --config'
          ;;
      esac
      ;;
    'import-binlog '*)
      case $before in
        --from) files=-d ;;
        --to) files=-d ;;
        *)
          words='--help --from --to --dry-run --skip-damaged --json'
          ;;
      esac
      ;;
    'export-beanstalkd '*)
      case $before in
        --server) words='' ;;
        --to) words='' ;;
        --tube) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help --server --to --tube --drop-options --dry-run --json --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'cluster status '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        *)
          words='--help -c --config --etcd --name --json'
          ;;
      esac
      ;;
    'cluster handover '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        --to) words='' ;;
        --wait) words='' ;;
        *)
          words='--help -c --config --etcd --name --to --wait'
          ;;
      esac
      ;;
    'cluster resign '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        --for) words='' ;;
        --wait) words='' ;;
        *)
          words='--help -c --config --etcd --name --for --end --force --wait'
          ;;
      esac
      ;;
    'cluster pause '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        --for) words='' ;;
        *)
          words='--help -c --config --etcd --name --for'
          ;;
      esac
      ;;
    'cluster resume '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        *)
          words='--help -c --config --etcd --name'
          ;;
      esac
      ;;
    'cluster repair '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        --wait) words='' ;;
        *)
          words='--help -c --config --etcd --name --end --wait'
          ;;
      esac
      ;;
    'cluster init '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        --data-dir) files=-d ;;
        *)
          words='--help -c --config --etcd --name --data-dir'
          ;;
      esac
      ;;
    'cluster recover '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        --data-dir) files=-d ;;
        *)
          words='--help -c --config --etcd --name --data-dir --go-back --yes'
          ;;
      esac
      ;;
    'cluster verify '*)
      case $before in
        -c | --config) files=-f ;;
        --etcd) words='' ;;
        --name) words='' ;;
        *)
          words='--help -c --config --etcd --name --json'
          ;;
      esac
      ;;
    'bench '*)
      case $before in
        --against) words='' ;;
        --server) words='' ;;
        --dir) files=-d ;;
        --preload) files=-f ;;
        --preload-us) words='' ;;
        --seconds) words='' ;;
        --rounds) words='' ;;
        --body-bytes) words='' ;;
        --jobs) words='' ;;
        --seed) words='' ;;
        --json) files=-f ;;
        --plot) words='' ;;
        --check) files=-f ;;
        --rate) words='' ;;
        --batch) words='' ;;
        --connections) words='' ;;
        --in-flight) words='' ;;
        --tubes) words='' ;;
        --idle) words='' ;;
        --ca) files=-f ;;
        --certificate) files=-f ;;
        --key) files=-f ;;
        --token-file) files=-f ;;
        *)
          words='--help all put put-pipelined cycle cycle-deep cycle-batch latency steady mixed backlog tubes bodies memory restart drain disk custom --against --server --dir --preload --preload-us --seconds --rounds --body-bytes --jobs --seed --quick --json --plot --check --list --rate --batch --connections --in-flight --tubes --idle --tls --ca --certificate --key --token-file --insecure-token'
          ;;
      esac
      ;;
    'manual '*)
      case $before in
        *)
          words='--help'
          ;;
      esac
      ;;
    'completions '*)
      case $before in
        *)
          words='--help bash zsh'
          ;;
      esac
      ;;
  esac
  if [[ -n $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$files" -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
  fi
}
complete -F _perennial perennial
