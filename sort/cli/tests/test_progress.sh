#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# shellcheck disable=SC2317 # await calls what is said not to be reached
# The progress line: whole lines into a pipe, one that is rewritten on a terminal, none with -q. Ranks that sleep make a
# job last until the awaited line was shown.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 20000 in && "$BIN/hetsort" -o expected in || exit 1

sleeps() { # sleeps PHASE:RANK ARGUMENT... - in the background, until stop
  local where=$1; shift
  HETSORT_FAIL=delay@$where=600 "$hetsort" "$@" -f -o out in 2>err &
  pid=$!
}
lines() { [ "$(grep -c "^hetsort: $2" err)" -ge "$1" ]; } # at least COUNT lines
listens() { # wait until SIGUSR2 no longer ends it
  [ "/proc/$pid/exe" -ef "$hetsort" ] && grep -q -s -E '^SigBlk:.*[89a-f]..$' "/proc/$pid/status"
}
asked() { kill -USR2 "$pid"; lines "$@"; } # repeatedly: it may not have reached that phase
stop() { kill -TERM $pid; wait $pid; rc=$?; err=$(<err); }

sleeps merge:1 --ranks 3 --progress 1
ok "lines continue while a rank hangs" await lines 3 "merge"
stop
is "all lines are whole, and the message is the last" "$(grep -v -x -E 'hetsort: [a-z]+( [0-9.]+ of [0-9.]+ [kM]?B [0-9]+%)?(, job [0-9]+%)?(, [0-9.]+ [kM]?B/s)?, [0-9]+:[0-9]{2}(, [0-9]+:[0-9]{2}(:[0-9]{2})? left)?(, slowest [0-2] [^ ]+)?' err)" "hetsort: interrupted by SIGTERM"
ok "they show bytes, percent, time left and the slowest rank" grep -q -E "^hetsort: merge [0-9.]+ of 2.00 MB [0-9]+%, job [0-9]+%, .* left, slowest 1 " err

sleeps read:0 --ranks 2
await listens
ok "SIGUSR2 prints a line" await asked 1 "read"
ok "SIGUSR2 prints another" await asked 2 "read"
stop
is "and the sort continues until another signal ends it" "$rc/$(tail -n 1 err)" "143/hetsort: interrupted by SIGTERM"

sleeps read:0 -q --progress 1
await listens
ok "-q: when it is asked for" await asked 1 "read"
stop

HETSORT_FAIL=delay@read:0=2 run "$hetsort" -q --progress 1 -f -o out in
is "-q: nothing" "$rc/$err" 0/
HETSORT_FAIL=delay@read:0=2 run "$hetsort" -f -o out in
is "nothing where there is no terminal" "$rc/$err" 0/
HETSORT_FAIL=delay@read:0=3 run "$hetsort" --progress 1 -f -o out in
is "a summary is the last line" "$rc/$(tail -n 1 <<<"$err" | sed 's/[0-9.]* s, .*/S/')" "0/hetsort: 20000 records, 2.00 MB, in S"
ok "the output is as ever" cmp out expected
HETSORT_FAIL=delay@read:0=3 run "$hetsort" --progress 1 --report report -f -o out in
is "the report: planned and taken seconds of what moves data" "$(awk '/"stages": \{/ { on = 1; next }
  on && /\{/ { name = $1; names = names name }
  on && /_s":/ { if ($2 + 0 <= 0) bad = 1; if (/taken/) took[name] = $2 + 0 }
  on && /^      \}/ { on = 0 }
  END { print names, bad + 0, (took["\"read\":"] >= 3) }' report)" '"read":"write": 0 1'
is "and what the lines said" "$(awk '/"total_s":/ && !total { total = $2 + 0 }
  /"progress": \[/ { on = 1 }
  on && /"at_s":/ { n++; if ($2 + 0 <= last || $2 + 0 >= total) bad = 1; last = $2 + 0 }
  on && /"left_s":/ && n == 1 { left = $2 + 0 } # while it reads: a later line may come at the end of the job
  on && /"part":/ && n == 1 { part = $2 + 0 }
  on && /\]/ { on = 0 }
  END { print (n >= 2), bad + 0, (part < 1), (left > 0) }' report)" "1 0 1 1"
run "$hetsort" --progress off --report report -f -o out in
is "the report: no lines, nothing said" "$(grep -c '"progress": *\[' report)" 0
for word in 0 x 1.5; do
  run "$hetsort" --progress $word -f -o out in
  is "--progress $word is refused" "$rc" 2
done

have_terminal || { echo "# skipped: no pseudo terminals"; done_testing; exit; }
HETSORT_FAIL=delay@read:0=600 on_terminal 80 15 '^read ' "$hetsort" --ranks 2 -f -o out in
is "a terminal: the line makes room for a message" "$(sed '$d' <<<"$out")" "hetsort: interrupted by SIGTERM"
ok "a terminal: it is within 80 columns" grep -q -E "^columns [4-7][0-9], seen, status -15$" <<<"$out"
HETSORT_FAIL=delay@read:0=600 on_terminal 80 ^C '^read ' "$hetsort" --ranks 2 -f -o out in
is "a terminal: what ^C has left there goes, too" "$(sed '$d' <<<"$out")" "hetsort: interrupted by SIGINT"
# The shell blocks SIGINT, too, for moments before it becomes hetsort.
# shellcheck disable=SC2016 # for the other shell
HETSORT_FAIL=delay@read:0=60 on_terminal 80 ^C '^it listens' bash -c '(until grep -q -s "^Name:.hetsort$" "/proc/$$/status" &&
      grep -q -s -E "^SigBlk:.*[2367abef]$" "/proc/$$/status"; do sleep 0.1; done
  echo it listens) & exec "$0" --progress off -f -o out in' "$hetsort"
is "a terminal: the message stands over it where there is no line" "$(sed '$d' <<<"$out")" "it listens
hetsort: interrupted by SIGINT"
HETSORT_FAIL=delay@read:0=600 on_terminal 20 15 '^read ' "$hetsort" --ranks 2 -f -o out in
is "a narrow terminal: the line is cut" "$(tail -n 1 <<<"$out")" "columns 19, seen, status -15"
HETSORT_FAIL=delay@read:0=3 on_terminal 80 0 '^read ' "$hetsort" -f -o out in
is "a terminal: the summary is what remains" "$(sed 's/[0-9.]* s, .*/S/; s/ [0-9]*, / N, /' <<<"$out")" \
  "hetsort: 20000 records, 2.00 MB, in S
columns N, seen, status 0"
HETSORT_FAIL=delay@read:0=3 on_terminal 80 0 . "$hetsort" --progress off -f -o out in
is "a terminal: nothing with --progress off" "$out" "columns 0, not seen, status 0"
HETSORT_FAIL=delay@read:0=600 on_terminal 80 0 '^read ' "$hetsort" --timeout 2 -f -o out in
ok "a terminal: nor is a message of the watch mixed with it" \
  grep -q -x "hetsort: rank 0 (.*), reading: no progress for [0-9.]* s, after [0-9]* pieces of work" <<<"$out"
done_testing
