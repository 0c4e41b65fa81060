# SPDX-License-Identifier: Apache-2.0
# Completion for bash. synctrace itself knows its commands and options: cli/completion.h says how it answers.
_synctrace() {
  local current=${COMP_WORDS[COMP_CWORD]} answer line
  COMPREPLY=()
  answer=$("${COMP_WORDS[0]}" complete-words "${COMP_WORDS[@]:1:COMP_CWORD}" 2> /dev/null) || return
  [[ $current == = ]] && current=
  case $answer in
    :program*)
      if declare -F _command_offset > /dev/null; then
        _command_offset $((${answer#:program } + 1))
      elif ((COMP_CWORD == ${answer#:program } + 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      fi
      ;;
    :folders) mapfile -t COMPREPLY < <(compgen -d -- "$current") ;;
    :files) ;; # by the default of complete
    *)
      while IFS= read -r line; do
        [[ $line ]] && COMPREPLY+=("${line%%$'\t'*}")
      done <<< "$answer"
      ;;
  esac
}
complete -o default -F _synctrace synctrace
