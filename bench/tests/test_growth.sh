# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/growth on small inputs: what it measures, its records of other sizes, its plot, and that no
# wrong output passes.
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
growth=$ROOT/bench/growth records=$BIN/bench/records

# Records of other sizes: the judge knows sorted from unsorted, and any change.
for size in 10 16 100 4097 65536; do
  "$records" make $size 300 made >tally
  is "$size bytes: the number of records" "$(wc -c <made)/$(cut -d' ' -f1 tally)" "$((size * 300))/300"
  "$records" make $size 300 again >tally2
  ok "$size bytes: the same each time" cmp -s made again
  is "$size bytes: the judge sees what was made" "$("$records" judge $size made)" "$(cat tally)"
  ok "$size bytes: not sorted" test "$(cut -d' ' -f3 tally)" -gt 50
  "$BIN/hetsort" -q -f --record-size $size -o sorted made
  is "$size bytes: the same records when sorted, in order" "$("$records" judge $size sorted)" \
    "$(cut -d' ' -f1,2 tally) 0"
done
{ head -c 48 sorted; tail -c +50 sorted; printf x; } >shifted
ok "a byte that moved is seen" test "$("$records" judge 65536 shifted | cut -d' ' -f2)" != "$(cut -d' ' -f2 tally)"
truncate -s -1 sorted
run "$records" judge 65536 sorted
is "half a record is refused" "$rc/$out" 1/
is "no records" "$("$records" make 16 0 none; "$records" judge 16 none)" "0 0000000000000000 0
0 0000000000000000 0"
for bad in 'make 9 1 f' 'make 65537 1 f' 'make 16 -1 f' 'make 16 x f' 'make 16 1' 'judge 16' 'other 16 f' \
  'make 16 18446744073709551615 f'; do
  # shellcheck disable=SC2086  # words
  run "$records" $bad
  is "usage: records $bad" "$rc" 2
done
run "$records" judge 16 nowhere
is "no such file" "$rc/$err" "1/records: cannot judge 'nowhere': No such file or directory"

mkdir work
small=(--first-mb 0.05 --most-mb 0.2 --ranks "1,3" --record-bytes "16,4096" --dir work --warm)
run "$growth" "${small[@]}" --repeat 2 --json growth.jsonl
is "a run succeeds" "$rc/$(grep -v -e '^  round' -e '^warning: no plot ' <<<"$err")" 0/
is "all sizes, lines and rounds are measured" "$(grep -c '"sample"' growth.jsonl)" $((3 * 4 * 2))
is "a line of the table each, its second figure 1" \
  "$(awk '/^(1 rank|3 ranks|16 bytes|4096 bytes) /{print $4}' <<<"$out" | paste -sd' ')" "1.00 1.00 1.00 1.00"
python3 - growth.jsonl <<'PY' >facts
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
s = [x for x in lines if x["type"] == "sample"]
print(all(x["bytes"] == x["records"] * x["record_bytes"] and x["seconds"] > 0 and x["peak_rss_bytes"] > 0
          for x in s))
print(sorted({x["records"] for x in s if x["record_bytes"] == 100}))
print(all(a["points"][1]["relative"] == 1 and len(a["points"]) == 3 for a in lines if a["type"] == "line"))
PY
is "what it records adds up" "$(cat facts)" "True
[500, 1000, 2000]
True"
if can_draw; then
  ok "a plot next to the figures" grep -q '</svg>' growth.svg
  is "with every line's name" "$(grep -o -E '>(1 rank|3 ranks|16 bytes|4096 bytes)<' growth.svg | sort -u | wc -l)" 4
  run "$growth" "${small[@]}" --repeat 1 --plot "a 'b'"
  ok "--plot names the plot" grep -q '</svg>' "a 'b'.svg"
else
  run "$growth" "${small[@]}" --plot plot
  is "a plot without matplotlib is refused at once" "$rc/$err" \
    "1/growth: cannot draw: matplotlib is missing, install it with 'scripts/deps plot'"
fi
run "$ROOT/bench/compare" growth.jsonl growth.jsonl
is "its results can be compared" "$rc/$(grep -c 'too few samples' <<<"$out")" 0/12

# A hetsort that does as $STUB says.
mkdir -p programs/bench
for p in gensort valsort bench/records bench/build.json; do ln -s "$BIN/$p" "programs/$p"; done
cat >programs/hetsort <<SH
#!/usr/bin/env bash
for last in "\$@"; do :; done
while [ \$# -gt 1 ] && [ "\$1" != -o ]; do shift; done
# Good with 100 bytes, for those who have GOOD.
[ \$((\$(stat -c %s "\$last") % 100)) -ne 0 ] || [ -z "\$GOOD" ] || exec "\$GOOD" -o "\$2" "\$last"
case \$STUB in
  unsorted) cp "\$last" "\$2" ;;
  zeros) head -c "\$(stat -c %s "\$last")" /dev/zero >"\$2" ;;
esac
SH
chmod +x programs/hetsort
rejects() { # rejects NAME STUB WORDS OPTION...
  local name=$1 stub=$2 words=$3; shift 3
  BIN=$PWD/programs STUB=$stub run "$growth" --first-mb 0.05 --most-mb 0.1 --dir work --warm --repeat 1 "$@"
  is "$name" "$rc/$(grep -c "^growth: hetsort, $words" <<<"$err")" 1/1
}
rejects "unsorted records of 100 bytes" unsorted '2 ranks, 500 records: not in order' --ranks 2
rejects "others of 100 bytes" zeros '2 ranks, 500 records: the output has other records' --ranks 2
GOOD=$BIN/hetsort rejects "unsorted records of 64 bytes, after good ones of 100" unsorted \
  '64 bytes, 781 records: [0-9]* records are not in order' --ranks 1 --record-bytes 64
GOOD=$BIN/hetsort rejects "others of 64 bytes, after good ones of 100" zeros \
  '64 bytes, 781 records: the output has other records' --ranks 1 --record-bytes 64
is "no files remain" "$(ls work)" ""
for bad in '--first-mb 0' '--ranks 0' '--record-bytes 15'; do
  # shellcheck disable=SC2086  # words
  run "$growth" $bad
  is "usage: $bad" "$rc" 2
done
run "$growth" --first-mb 0.05 --most-mb 0.15 --ranks 1 --record-bytes 16 --repeat 1 --dir work --warm
is "the largest need be no doubling" "$(grep -o -E '[0-9.]+ MB' <<<"$out" | paste -sd' ')" "0.05 MB 0.1 MB 0.15 MB"
run "$growth" --most-mb 1e12 --dir work
is "no room" "$rc/$(grep -c '^growth: no room for ' <<<"$err")" 1/1
done_testing
