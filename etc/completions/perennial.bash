# Completions of perennial for bash. Made by: perennial completions bash

_perennial() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local command="${COMP_WORDS[*]:1:COMP_CWORD - 1} " words='' files=''
  case $command in
    ' ') words='import-binlog manual completions bench' ;;
    'bench ') words='put' ;;
    'import-binlog '*)
      case $before in
        --from) files=-d ;;
        --to) files=-d ;;
        *)
          words='--help --from --to --dry-run --skip-damaged --json'
          ;;
      esac
      ;;
    'bench put '*)
      case $before in
        --server) words='' ;;
        --connections) words='' ;;
        --in-flight) words='' ;;
        --body-bytes) words='' ;;
        --seconds) words='' ;;
        --tubes) words='' ;;
        --idle) words='' ;;
        --seed) words='' ;;
        --against) words='' ;;
        --rounds) words='' ;;
        --dir) files=-d ;;
        *)
          words='--help --server --connections --in-flight --body-bytes --seconds --tubes --idle --seed --against --rounds --dir'
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
