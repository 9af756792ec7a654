# shellcheck shell=bash disable=SC2034 # variables that completions read
# --help, the manual and the completions of bash and zsh name the same options of each program, and the words of
# an option are those that the program takes.
. "$ROOT/scripts/tap.sh"
# shellcheck source=scripts/completion/hetsort.bash
. "$ROOT/scripts/completion/hetsort.bash"
compopt() { :; } # only within a completion

completed() { # completed WORD... - what bash offers for the last of them
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _hetsort "$1"
  printf '%s\n' "${COMPREPLY[@]}"
}
_arguments() { shift 2; printf '%s\n' "$@"; } # zsh's: what it is told of options is read, not used
of_zsh() { # of_zsh PROGRAM [VERB]
  # shellcheck disable=SC1091 # of zsh
  (service=$1 words=('' "$1" "${2:-}") && . "$ROOT/scripts/completion/_hetsort")
}

of_help() { "$BIN/$1" --help | sed -n 's/^ \{1,\}\(-.*\)/\1/p' | sed 's/  .*//' | grep -o -E -- '(^|[ ,])--?[a-zA-Z][a-z0-9-]*' | tr -d ' ,'; }
of_manual() { # Fl -name is --name; of hetsort.1 with \- for each -
  sed -n '/^\.It Fl/{s/\\-/-/g;s/^\.It/,/;p;}' "$1" | grep -o -E -- ' -[a-z][a-z0-9-]*|Fl [a-zA-Z]( |$)' |
    sed 's/^ -/--/; s/^Fl \(.\).*/-\1/'
}

for program in hetsort hetsort-report gensort valsort hetplan hetsim cpuburn; do
  [ -x "$BIN/$program" ] || { echo "# left out: no $program here"; continue; }
  of_help "$program" | LC_ALL=C sort -u >help
  ok "$program has options" test "$(wc -l <help)" -gt 3
  of_manual "$ROOT"/*/man/"$program".1 | LC_ALL=C sort -u >manual
  is "$program: those of the manual" "$(diff help manual)" ""
  completed "$program" - | tr -d = | LC_ALL=C sort -u >bash
  is "$program: those that bash completes" "$(diff help bash)" ""
  of_zsh "$program" | sed 's/^\*//; s/^([^)]*)//' | grep -o -E '^--?[a-zA-Z][a-z0-9-]*' | LC_ALL=C sort -u >zsh
  is "$program: those that zsh completes" "$(diff help zsh)" ""
  is "$program: an option that takes a value ends in =" \
    "$(completed "$program" -- | grep '=' | LC_ALL=C sort)" \
    "$("$BIN/$program" --help | sed -n 's/^ \{1,\}\(-.*\)/\1/p' | sed 's/  .*//' | grep -o -E -- '--[a-z][a-z0-9-]*=' | LC_ALL=C sort -u)"
done

# wanted COMMAND... - the words that its message has, of an argument that it refuses
wanted() { "$@" 2>&1 | sed -n 's/.*one of:* //p' | tr -d , | tr ' ' '\n' | LC_ALL=C sort -u; }
words() { LC_ALL=C sort -u; }
for option in verify plan source scatter direct io strategy; do
  wanted "$BIN/hetsort" --$option='?' -o out in >list
  ok "hetsort tells the words of --$option" test -s list
  is "bash has them" "$(completed hetsort --$option = '' | words)" "$(cat list)"
  is "zsh has them" "$(of_zsh hetsort | sed -n "s/^--$option=.*:(\(.*\))\$/\1/p" | tr ' ' '\n' | words)" "$(cat list)"
done
hetplan_refuses() { # hetplan_refuses VERB METHOD
  case $1 in
    share) wanted "$BIN/hetplan" share --items 4 --speeds 1,2 --cost linear "$2"
      wanted "$BIN/hetplan" share --items 4 --costs 1,2 "$2" ;;
    scatter) wanted "$BIN/hetplan" scatter --items 4 --compute 1,1 --link 1,0 "$2" ;;
    chain) wanted "$BIN/hetplan" chain --w 1,1 --z 1 --vcomm 1 --vcomp 1 "$2" ;;
  esac | words
}
for verb in share scatter chain; do
  hetplan_refuses $verb '--method=?' >list
  ok "hetplan tells the methods of $verb" test -s list
  is "bash has them" "$(completed hetplan $verb --method = '' | words)" "$(cat list)"
  is "zsh has them" "$(of_zsh hetplan $verb | sed -n 's/^.*--method=.*:(\(.*\))$/\1/p' | tr ' ' '\n' | words)" "$(cat list)"
done
is "hetplan's operations" "$(completed hetplan share --op = '' | words)" "$(wanted "$BIN/hetplan" share '--op=?')"
is "hetplan's rules" "$(completed hetplan scatter --rule = '' | words)" "$(hetplan_refuses scatter '--rule=?')"
is "hetplan's verbs" "$(completed hetplan '')" "$("$BIN/hetplan" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')"
is "the part of a word that is there" "$(completed hetsort --plan = on)" online
is "and of an option" "$(completed /usr/bin/hetsort --exp)" --explain
is "a file where there are no words" "$(completed hetsort --report = '')" ""
if command -v zsh >/dev/null; then ok "zsh reads its file" zsh -n "$ROOT/scripts/completion/_hetsort"; else echo "# left out: zsh is not installed"; fi
done_testing
