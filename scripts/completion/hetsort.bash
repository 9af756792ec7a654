# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Completion for bash, of hetsort and of the programs that come with it: links to this file have their names. Options
# come from --help. The words that an option accepts come from the message with which the program refuses '?'.

_hetsort_options() { # PROGRAM - its options; one that needs a value ends in =
  "$1" --help 2>/dev/null | sed -n 's/^ \{1,\}\(-.*\)/\1/p' | sed 's/  .*//' | grep -o -E -- '(^|[ ,])--?[a-zA-Z][a-z0-9-]*=?' | tr -d ' ,'
}

_hetsort_values() { # PROGRAM OPTION VERB - the words that the option accepts; nothing if it takes another kind of value
  local option value
  option=$("$1" --help 2>/dev/null | sed -n 's/^ *\(-.*\)/\1/p' | sed 's/  .*//' | grep -m 1 -E -- "(^|[ ,])$2([=, ]|\$)" | grep -o -E -- '--[a-z-]+=[^ ,]*')
  value=${option#*=} option=${option%%=*}
  case $value in
    COST) echo 'linear nlogn nlog2n1 power: affine:' ;;
    KIND | NAME | WAY | WHAT | WHEN | WHERE)
      case "$option $3" in # hetplan knows the methods when it knows the problem
        '--method share')
          "$1" share --items 1 --speeds 1 --cost linear --method='?'
          "$1" share --items 1 --costs 1,2 --method='?' ;;
        '--method chain') "$1" chain --w 1,1 --z 1 --vcomm 1 --vcomp 1 --method='?' ;;
        *' scatter') "$1" scatter --items 1 --compute 1,1 --link 1,0 "$option=?" ;;
        --op*) "$1" share "$option=?" ;;
        *) "$1" "$option=?" </dev/null ;;
      esac 2>&1 | sed -n 's/.*one of:* //p' | tr -d , ;;
    *) tr '|' '\n' <<<"$value" | grep -x '[a-z]*' ;;
  esac
}

_hetsort() { # COMMAND CURRENT PREVIOUS, as bash calls it; = is a word of its own
  local cur=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} words=''
  if [ "$cur" = = ]; then cur=''; elif [ "$option" = = ]; then option=${COMP_WORDS[COMP_CWORD - 2]}; fi
  case $cur in
    -*) words=$(_hetsort_options "$1") ;;
    *)
      case $option in
        -*) words=$(_hetsort_values "$1" "$option" "${COMP_WORDS[1]}") ;;
        *) if [ "$COMP_CWORD" -eq 1 ]; then words=$("$1" --help 2>/dev/null | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p'); fi ;;
      esac ;;
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
  case ${COMPREPLY[0]:-} in *[=:]) compopt -o nospace ;; esac
}

complete -o default -F _hetsort hetsort hetsort-report gensort valsort hetplan hetsim cpuburn
