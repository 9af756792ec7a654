# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Numbers at and beyond the limits of every option, of the platforms of hetsim, and of the options of hetplan: the job is
# done right, or refused by a message that names the option. No message has a number that is not one.
# shellcheck disable=SC2154,SC2317  # run sets rc, out, err; functions called through ok
. "$ROOT/scripts/tap.sh"
values=(0 -1 4.9e-324 1e-308 1e-160 1e-30 0.5 1 2 1e30 1e160 1e308 inf nan '' 1e400 9223372036854775807 18446744073709551616 16E)
"$BIN/gensort" 100 in 2>/dev/null
"$BIN/hetsort" -q --no-fsync -o wanted in

fails=() tried=0
judge() { # judge NAME COMMAND... - NAME: what the message of a refusal must contain
  local name=$1; shift
  tried=$((tried + 1))
  rm -f out
  run timeout 60 "$@"
  if [ "$rc" = 2 ] && [[ $err =~ $name ]]; then return; fi
  # memory is the one thing that may be missing
  if [ "$rc" = 4 ] && [ "$name" = memory ] && [[ $err == *'--memory: '* ]]; then return; fi
  if [ "$rc" = 0 ] && ! grep -q -i -w -E -- '-?(nan|inf|infinite)|invalid' <<<"$out$err" &&
    { [ ! -e out ] || cmp -s out wanted; }; then return; fi
  fails+=("status $rc: ${*//$BIN\//}: ${err:0:200}")
}
verdict() { # verdict NAME - of the trials since the last verdict
  is "$1: $tried jobs are done or refused by name" "$(printf '%s\n' "${fails[@]}" | head -n 5)" ""
  ok "$1: there were jobs" test $tried -ge 15
  fails=() tried=0
}

for option in speed link disk; do
  for v in "${values[@]}"; do
    judge $option "$BIN/hetsort" --${option}s="$v" -v --no-fsync -o out in
    for list in "$v,1" "1e-30,$v,1e30"; do
      commas=${list//[!,]/}
      for way in --explain -v; do
        judge $option "$BIN/hetsort" --${option}s="$list" --ranks $((${#commas} + 1)) $way --no-fsync -o out in
      done
    done
  done
  verdict "--${option}s"
done
for option in record-size skip-header skip-trailer records top ranks threads memory exchange-threads max-message timeout progress emulate; do
  more=() name=$option
  case $option in
    record-size) name='record.size' ;;
    skip-*) name=${option#skip-} ;;
    emulate) more=(--ranks 2 --speeds '1,2') ;;
  esac
  # with some, 1 and 2 are another job, which is not judged here
  for v in "${values[@]}"; do
    if [[ $option$v =~ ^(record-size|records|top)[12]$ ]]; then continue; fi
    judge "$name" "$BIN/hetsort" --$option="$v" "${more[@]}" -v --no-fsync -o out in
  done
  verdict "--$option"
done

if [ -x "$BIN/hetsim" ] && [ -z "${SANITIZER:-}" ]; then # they do not follow coroutines
  for line in '2 x speed V' '2 x disk VK/s' '2 x net VK' '2 x lat Vs' '2 x cores V' 'V x' '2 x+switch VK' \
    '2 x+rates sort Vns merge Vns copy Vns' '2 x+rates message Vs test Vs' '2 x+at Vs host 1 speed 2' '2 x+at 0 host 1 disk VK/s'; do
    for v in "${values[@]}" 0.000001 0.001 0.125 10000 1000000000000000; do
      printf '%b\n' "$(sed "s/V/$v/g; s/+/\\\\n/" <<<"$line")" >platform
      case $line in "V x") [ "$v" != 10000 ] || continue ;; esac
      judge "platform.*, line" "$BIN/hetsim" platform --no-fsync -o out in
    done
  done
  verdict "platforms of hetsim"
fi
done_testing
