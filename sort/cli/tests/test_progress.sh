#!/usr/bin/env bash
# shellcheck disable=SC2317 # await calls what is said not to be reached
# The progress line: whole lines into a pipe, one that is rewritten on a terminal, none with -q. Ranks
# that sleep make a run last until what is waited for was shown.
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
lines() { [ "$(grep -c "^hetsort: $2" err)" -ge "$1" ]; } # at least so many of them
listens() { # SIGUSR2 does not end it any more
  [ "/proc/$pid/exe" -ef "$hetsort" ] && grep -q -s -E '^SigBlk:.*[89a-f]..$' "/proc/$pid/status"
}
asked() { kill -USR2 "$pid"; lines "$@"; } # again and again: it may not be in that phase yet
stop() { kill -TERM $pid; wait $pid; rc=$?; err=$(<err); }

sleeps merge:1 --ranks 3 --progress 1
ok "lines go on while a rank hangs" await lines 3 "merge"
stop
is "all lines are whole, and the message is the last" "$(grep -v -x -E 'hetsort: [a-z]+( [0-9.]+ of [0-9.]+ [kM]?B [0-9]+%)?(, job [0-9]+%)?(, [0-9.]+ [kM]?B/s)?, [0-9]+:[0-9]{2}(, [0-9]+:[0-9]{2}(:[0-9]{2})? left)?(, slowest [0-2] [^ ]+)?' err)" "hetsort: interrupted by SIGTERM"
ok "they tell bytes, percent, time left and the slowest rank" grep -q -E "^hetsort: merge [0-9.]+ of 2.00 MB [0-9]+%, job [0-9]+%, .* left, slowest 1 " err

sleeps read:0 --ranks 2
await listens
ok "SIGUSR2 prints a line" await asked 1 "read"
ok "SIGUSR2 prints another" await asked 2 "read"
stop
is "and the sort goes on until another signal ends it" "$rc/$(tail -n 1 err)" "143/hetsort: interrupted by SIGTERM"

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
run python3 -c 'import json
r = json.load(open("report"))
s = r["ranks"][0]["stages"]
print(" ".join(s), all(v["planned_s"] > 0 and v["taken_s"] > 0 for v in s.values()), s["read"]["taken_s"] >= 3)
p = r["progress"]
print(len(p) >= 2, all(0 < a["at_s"] < b["at_s"] < r["total_s"] for a, b in zip(p, p[1:])), p[-1]["part"] < 1, p[-1]["left_s"] > 0)'
is "the report: planned and taken seconds of what moves data, and what the lines said" "$out" "read write True True
True True True True"
run "$hetsort" --progress off --report report -f -o out in
is "the report: no lines, nothing said" "$(grep -c '"progress": *\[' report)" 0
for word in 0 x 1.5; do
  run "$hetsort" --progress $word -f -o out in
  is "--progress $word is refused" "$rc" 2
done

python3 -c 'import pty; pty.openpty()' 2>/dev/null || { done_testing; exit; }
on_terminal() { out=$(python3 "$ROOT/scripts/terminal.py" "$@" 2>&1); err=; }
HETSORT_FAIL=delay@read:0=600 on_terminal 80 TERM '^read ' "$hetsort" --ranks 2 -f -o out in
is "a terminal: the line makes room for a message" "$(sed '$d' <<<"$out")" "hetsort: interrupted by SIGTERM"
ok "a terminal: it is within 80 columns" grep -q -E "^columns [4-7][0-9], seen, status -15$" <<<"$out"
HETSORT_FAIL=delay@read:0=600 on_terminal 20 TERM '^read ' "$hetsort" --ranks 2 -f -o out in
is "a narrow terminal: the line is cut" "$(tail -n 1 <<<"$out")" "columns 19, seen, status -15"
HETSORT_FAIL=delay@read:0=3 on_terminal 80 none '^read ' "$hetsort" -f -o out in
is "a terminal: the summary is what remains" "$(sed 's/[0-9.]* s, .*/S/; s/ [0-9]*, / N, /' <<<"$out")" \
  "hetsort: 20000 records, 2.00 MB, in S
columns N, seen, status 0"
HETSORT_FAIL=delay@read:0=3 on_terminal 80 none . "$hetsort" --progress off -f -o out in
is "a terminal: nothing with --progress off" "$out" "columns 0, not seen, status 0"
HETSORT_FAIL=delay@read:0=600 on_terminal 80 none '^read ' "$hetsort" --timeout 2 -f -o out in
ok "a terminal: nor is a message of the watch mixed with it" \
  grep -q -x "hetsort: rank 0 (.*), read: no progress for [0-9.]* s, after [0-9]* pieces of work" <<<"$out"
done_testing
