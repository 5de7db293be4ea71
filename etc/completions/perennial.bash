# Completions of perennial for bash. Made by: perennial completions bash

_perennial() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command="${COMP_WORDS[*]:1:COMP_CWORD - 1} " words='' files=''
  case $command in
    ' ') words='stats tubes top put peek kick bury delete pause drain dump load check restore migrate import-binlog export-beanstalkd bench manual completions checkpoint' ;;
    'checkpoint ') words='create list verify prune' ;;
    'stats '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        --job) words='' ;;
        *)
          words='--help --server --tube --job --json'
          ;;
      esac
      ;;
    'tubes '*)
      case $before in
        --server) words='' ;;
        *)
          words='--help --server --json'
          ;;
      esac
      ;;
    'top '*)
      case $before in
        --server) words='' ;;
        --interval) words='' ;;
        *)
          words='--help --server --interval --once'
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
        *)
          words='--help --server --file --tube --pri --delay --ttr --lines'
          ;;
      esac
      ;;
    'peek '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        *)
          words='--help --server --ready --delayed --buried --tube --body --json'
          ;;
      esac
      ;;
    'kick '*)
      case $before in
        --server) words='' ;;
        --tube) words='' ;;
        --count) words='' ;;
        *)
          words='--help --server --tube --count'
          ;;
      esac
      ;;
    'bury '*)
      case $before in
        --server) words='' ;;
        --pri) words='' ;;
        *)
          words='--help --server --pri'
          ;;
      esac
      ;;
    'delete '*)
      case $before in
        --server) words='' ;;
        *)
          words='--help --server'
          ;;
      esac
      ;;
    'pause '*)
      case $before in
        --server) words='' ;;
        *)
          words='--help --server'
          ;;
      esac
      ;;
    'drain '*)
      case $before in
        --server) words='' ;;
        *)
          words='--help --server'
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
        *)
          words='--help --data-dir --server --format --tube --state --id --limit --no-body --summary --json --recover-point-in-time'
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
    'checkpoint create '*)
      case $before in
        --server) words='' ;;
        *)
          words='--help --server --json'
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
        *)
          words='--help --from --to --exact --copy --json'
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
        *)
          words='--help --server --to --tube --dry-run --json'
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
        --connections) words='' ;;
        --in-flight) words='' ;;
        --tubes) words='' ;;
        --idle) words='' ;;
        *)
          words='--help all put put-pipelined cycle cycle-deep latency steady mixed backlog tubes bodies memory restart drain disk custom --against --server --dir --preload --preload-us --seconds --rounds --body-bytes --jobs --seed --quick --json --plot --check --list --rate --connections --in-flight --tubes --idle'
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
