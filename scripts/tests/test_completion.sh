# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --help, the manual and the completion of bash name the same options of each program, and the completions offer the
# words that an option accepts. zsh, if it is installed, completes in a terminal of its own.
. "$ROOT/scripts/tap.sh"
# shellcheck source=scripts/completion/hetsort.bash
. "$ROOT/scripts/completion/hetsort.bash"
PATH=$BIN:$PATH
compopt() { :; } # only within a completion

completed() { # completed WORD... - what bash offers for the last of them
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _hetsort "$1"
  printf '%s\n' "${COMPREPLY[@]}"
}
of_help() { "$BIN/$1" --help | sed -n 's/^ \{1,\}\(-.*\)/\1/p' | sed 's/  .*//' | grep -o -E -- '(^|[ ,])--?[a-zA-Z][a-z0-9-]*' | tr -d ' ,'; }
of_manual() { # Fl -name is --name; of hetsort.1 with \- for each -
  sed -n '/^\.It Fl/{s/\\-/-/g;s/^\.It/,/;p;}' "$1" | grep -o -E -- ' -[a-z][a-z0-9-]*|Fl [a-zA-Z]( |$)' |
    sed 's/^ -/--/; s/^Fl \(.\).*/-\1/'
}

for program in hetsort hetsort-report gensort valsort hetplan hetsim cpuburn; do
  [ -x "$BIN/$program" ] || { echo "# omitted: no $program here"; continue; }
  of_help "$program" | LC_ALL=C sort -u >help
  ok "$program has options" test "$(wc -l <help)" -gt 3
  of_manual "$ROOT"/*/man/"$program".1 | LC_ALL=C sort -u >manual
  is "$program: the options of the manual" "$(diff help manual)" ""
  completed "$program" - | tr -d = | LC_ALL=C sort -u >bash
  is "$program: the options that bash completes" "$(diff help bash)" ""
  is "$program: an option that takes a value ends in =" \
    "$(completed "$program" -- | grep '=' | LC_ALL=C sort)" \
    "$("$BIN/$program" --help | sed -n 's/^ \{1,\}\(-.*\)/\1/p' | sed 's/  .*//' | grep -o -E -- '--[a-z][a-z0-9-]*=' | LC_ALL=C sort -u)"
done

# accepted COMMAND... - the words that its message names, when it refuses an argument
accepted() { "$@" 2>&1 | sed -n 's/.*one of:* //p' | tr -d , | tr ' ' '\n' | LC_ALL=C sort -u; }
words() { LC_ALL=C sort -u; }
for option in verify plan source scatter direct strategy; do
  accepted "$BIN/hetsort" --$option='?' -o out in >list
  ok "hetsort prints the words of --$option" test -s list
  is "bash has them" "$(completed hetsort --$option = '' | words)" "$(cat list)"
done
hetplan_refuses() { # hetplan_refuses VERB METHOD
  case $1 in
    share) accepted "$BIN/hetplan" share --items 4 --speeds 1,2 --cost linear "$2"
      accepted "$BIN/hetplan" share --items 4 --costs 1,2 "$2" ;;
    scatter) accepted "$BIN/hetplan" scatter --items 4 --compute 1,1 --link 1,0 "$2" ;;
    chain) accepted "$BIN/hetplan" chain --w 1,1 --z 1 --vcomm 1 --vcomp 1 "$2" ;;
  esac | words
}
for verb in share scatter chain; do
  hetplan_refuses $verb '--method=?' >list
  ok "hetplan prints the methods of $verb" test -s list
  is "bash has them" "$(completed hetplan $verb --method = '' | words)" "$(cat list)"
done
is "hetplan's operations" "$(completed hetplan share --op = '' | words)" "$(accepted "$BIN/hetplan" share '--op=?')"
is "hetplan's rules" "$(completed hetplan scatter --rule = '' | words)" "$(hetplan_refuses scatter '--rule=?')"
is "hetplan's verbs" "$(completed hetplan '')" "$("$BIN/hetplan" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')"
is "the beginning of a word" "$(completed hetsort --plan = on)" online
is "and of an option" "$(completed "$BIN/hetsort" --exp)" --explain
is "a file if the option has no words" "$(completed hetsort --report = '')" ""

if command -v zsh >/dev/null; then
  cat >complete.zsh <<'ZSH'
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z "PS1='> '; PATH=$BIN:\$PATH; fpath=($ROOT/scripts/completion \$fpath); autoload -U compinit; compinit -u -D; echo rea''dy"
zpty -r -m z seen '*ready*'
zpty -w -n z "$1"$'\t'
zpty -r -m z seen "*$2*" && print found
ZSH
  in_zsh() { timeout 60 zsh -f complete.zsh "$@" 2>/dev/null | tail -n 1; } # in_zsh LINE TEXT - is TEXT there after TAB?
  is "zsh completes an option" "$(in_zsh 'hetsort --partit' --partition-only)" found
  is "zsh completes a word of an option" "$(in_zsh 'hetsort --direct=ne' never)" found
  is "zsh completes a method" "$(in_zsh 'hetplan share --method=tay' taylor)" found
else
  echo "# omitted: zsh is not installed"
fi
done_testing
