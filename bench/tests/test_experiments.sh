# shellcheck shell=bash disable=SC2154,SC2317  # run sets rc, out, err; functions are called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/experiments with files: the format and its messages, simulated hosts, samples, table, plot and page.
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BIN/hetsim" ] || skip_all "no hetsim here"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers do not follow coroutines"
experiments() { run "$ROOT/bench/experiments" --on hetsim --out results "$@"; }

# ------------------------------------------------------------------------------------------------ what is refused
refused() { # refused MESSAGE LINE... - a file with these lines, after a host and a variant
  local message=$1; shift
  printf '%s\n' "2 x speed 1" "equal: --plan equal" "$@" >bad
  experiments bad
  is "refused: ${*//$'\n'/; }" "$rc ${err##*$'\n'}" "1 experiments: $message"
}
refused "'bad', line 3: 'recods' is not known; see bench/experiments --format" "recods 5"
refused "'bad', line 3: 'title' has no value" "title"
refused "'bad', line 3: '1.5' is not a whole number" "records 1.5"
refused "'bad', line 3: '0' is not a number of 1 or more" "rounds 0"
refused "'bad', line 3: 'five' is not a number" "rounds five"
refused "'bad', line 3: 'color' is not a property of a host; they are speed, cores, mem, disk, net, lat" "1 x color red"
refused "'bad', line 3: 'net' has no value" "1 x speed 1 net"
refused "'bad', line 3: '1/0' is not a number of 1e-06 or more" "1 x speed 1/0"
refused "'bad', line 3: keys are binary, ascii, skew, not 'text'" "keys text"
refused "'bad', line 3: there are two variants 'equal'" "equal: --plan nlogn"
refused "'bad', line 3: 'times' is not one of hosts N, jobs N, rounds N, second F and steady" "other times 3: --plan equal"
refused "'bad', line 3: a change is 'at TIME host NUMBER speed|disk|net VALUE' or 'at TIME host NUMBER stop'" "at noon host 1 stop"
refused "'bad' has no host 2; hosts are 0 to 1" "at 1s host 2 stop"
refused "'bad' has no variant 'planned', which 'published' or 'expect' names" "expect planned/equal 0 1"
refused "'bad', line 3: an expectation is 'expect VARIANT/VARIANT LEAST MOST', and 'ideal' after it if the limits are for the ratio over the ideal one" \
  "expect equal 0 1"
refused "'bad', line 4: only one 'vary' is possible" "vary a 1 2" "vary b 1 2"
refused "variant 'three' has more hosts than 'bad'" "three hosts 3: --plan equal"
echo "2 x speed 1" >bad
experiments bad
is "no variant" "$rc $err" "1 experiments: 'bad' has no variant, such as 'equal: --plan equal'; see bench/experiments --format"
echo "equal: --plan equal" >bad
experiments bad
is "no host" "$rc $err" "1 experiments: 'bad' has no host, such as '2 x speed 1'; see bench/experiments --format"
experiments missing
is "no file" "$rc $err" "1 experiments: cannot read 'missing': No such file or directory"
run "$ROOT/bench/experiments" --on hostfile bad
is "a hostfile is necessary" "$rc $err" "1 experiments: cannot use the hosts of a hostfile: --on hostfile requires --hostfile FILE"
run "$ROOT/bench/experiments" --format
ok "the format is explained" grep -q '^  at 10% host 3 speed 1/4 ' <<<"$out"

# Every line of the explanation is one that is accepted.
"$ROOT/bench/experiments" --format | sed -n 's/^  \(.*[^ ]\)   .*/\1/p' | sed 's/^records 2M/records 2k/; s/0.5 0.95/0 9/; s/0.9 1.2 ideal/0 9999 ideal/; /^threads second/d' >every
is "the lines of the explanation" "$(wc -l <every)" 17
experiments every
is "are accepted" "$rc" 0
[ "$rc" = 0 ] || echo "# $err"

# ------------------------------------------------------------------------------------------------------ an experiment
# The example of docs/clusters.md.
sed -n '/^cat >six.txt <<END/,/^END/p' "$ROOT/docs/clusters.md" | sh
is "the example is short" "$(wc -l <six.txt)" 9
sed -i 's/^records .*/records 6M/; s/ three speeds/ three <speeds>/' six.txt
printf '%s\n' "expect  planned/equal 0.6 0.9" "expect  online/equal  2 3" >>six.txt
experiments six.txt
is "an expectation that does not hold" "$rc ${err##*$'\n'}" "1 experiments: expectations fail in six.txt"
ok "and which" grep -q '^six: FAILS: online over equal: 0\.[67]' <<<"$out"
ok "and which holds" grep -q '^six: holds: planned over equal: 0\.[678]' <<<"$out"
sed -i '$d' six.txt
experiments six.txt
is "without it, all is well" "$rc" 0
first=$(grep -v '^written' <<<"$out")
is "there is a row for each variant, and for each job" \
  "$(sed -n 's/^\(equal\|planned\|online job 1\|online job 2\|online\)  .*/\1/p' <<<"$out" | paste -sd,)" "equal,planned,online job 1,online job 2,online"
ok "a sentence compares" grep -q '^planned takes 0\.[67][0-9]* of the time of equal; ideal: 0.667$' <<<"$out"
is "one line for each sample" "$(cut -d, -f2,3,4,9 results/six.csv | paste -sd' ')" \
  "variant,job,round,disturbed equal,1,1,0 planned,1,1,0 online,1,1,0 online,2,1,0 online,3,1,0"
is "samples are in both files" "$(awk -F, 'NR > 1 {printf "%.3g\n", $5}' results/six.csv)" \
  "$(python3 -c 'import json, sys
for line in map(json.loads, sys.stdin):
    if line["type"] == "sample": print("%.3g" % line["seconds"])' <results/six.jsonl)"
experiments six.txt
is "simulated hosts give the same figures again" "$(grep -v '^written' <<<"$out")" "$first"
is "reports of the jobs" "$(cd results/six && echo * | tr ' ' '\n' | sort | paste -sd' ')" "equal.json online.html online.json planned.html planned.json"
ok "they are reports" grep -q '"hetsort-report"' results/six/planned.json
ok "no figure is nan, and none is missing" test "$(grep -c -i -E 'nan|inf|None' <<<"$out")" = 0
ok "the page shows the file" grep -q 'title   Six hosts of three &lt;speeds&gt;$' results/six.html
ok "and the figures" grep -q '<td>planned</td><td>[0-9.]*</td>' results/six.html
if can_draw; then
  ok "and the plot" grep -q '<svg' results/six.html
  ok "which says what is better, and what is ideal" test "$(grep -c -E 'lower is better|>ideal<' results/six.svg)" -ge 2
fi
if command -v xmllint >/dev/null; then
  sed 's/<svg.*<.svg>//' results/six.html >plain.html
  is "the page is HTML" "$(xmllint --html --noout plain.html 2>&1 | grep -v 'Tag svg\|Tag .* invalid' | grep -c 'error')" 0
fi

# ------------------------------------------------------------------------------------------- each kind of line
cat >all.txt <<'END'
vary f 1 2 4
1 x speed 1 net 10G disk 2G/s
1 x speed 1/{f} net 10G disk 2G/s
records 100k
keys ascii
at 50% host 1 speed 1/8
steady steady: --plan equal --no-adapt
hurt: --plan equal --no-adapt
single hosts 1: --plan equal
published steady 100
published hurt 150
expect hurt/steady 1.05 8
END
experiments all.txt
is "a value that varies, changes, one host, and published times" "$rc" 0
[ "$rc" = 0 ] || echo "# $err$out"
is "one job for each value and variant" "$(cut -d, -f1,2 results/all.csv | paste -sd' ')" \
  "f,variant 1,steady 1,hurt 1,single 2,steady 2,hurt 2,single 4,steady 4,hurt 4,single"
is "a change that hurts, for each value" "$(grep -c '^all: holds: f=[124]: hurt over steady' <<<"$out")" 3
is "published ratios" "$(grep -c 'hurt takes .*; published: 1.500' <<<"$out")" 3
sed -i 's/^at.*//' all.txt
experiments all.txt
is "without the change, it does not hurt" "$rc $(grep -c '^all: FAILS' <<<"$out")" "1 3"
for name in slow ratios learning adapt; do
  experiments $name --records 20k
  ok "the file of $name is one" grep -q "^written: results/$name.jsonl" <<<"$out"
done
ok "what is not possible there is said" grep -q '^A3+: omitted, because simulated hosts' <(experiments slow --records 20k; echo "$out")
is "the options of a run" "$(sed -n 's/.*"records": \([0-9]*\).*/\1/p' results/slow.jsonl | head -n 1)" 20000
done_testing
