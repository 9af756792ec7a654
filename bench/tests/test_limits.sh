# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/limits on a small input: every outcome is a row, and only a right output counts as sorted; doubles and their text.
# shellcheck disable=SC2016  # inner shells expand
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers want memory beyond all limits"
limits=$ROOT/bench/limits records=$BIN/bench/records
mkdir -p work programs/bench none

# --- doubles, and the lines that stand for them
made=$("$records" make f64 5000 doubles)
is "doubles: judged as made" "$("$records" judge f64 doubles)" "$made"
is "their lines: judged like them" "$("$records" text doubles lines; "$records" judge text lines)" "$made
$made"
LC_ALL=C sort lines >lines.sorted && "$BIN/hetsort" --record-size 8 --key 0,f64 -o sorted doubles
is "sorted lines are sorted doubles" "$("$records" judge text lines.sorted)" "${made% *} 0"
is "and so are sorted doubles" "$("$records" judge f64 sorted)" "${made% *} 0"
is "the lines of both are equal" "$("$records" text sorted again >/dev/null; cksum <again)" "$(cksum <lines.sorted)"
run "$records" judge text doubles
is "doubles are not lines" "$rc" 1
(head -c 800 sorted | tail -c 8; cat sorted) >odd
is "one of them in another place" "$("$records" judge f64 odd | cut -d' ' -f1,3)" "5001 1"

# --- a table of all programs; packages of npm are not installed
small=(--scale 0.0005 --memory 128 --dir work --warm --packages none --no-install)
left_over() { # print files, and control groups of programs that have ended
  ls work
  for g in /sys/fs/cgroup{,/memory}/hetsort-bench.*; do
    [ ! -d "$g" ] || [ -d "/proc/${g##*.}" ] || echo "$g"
  done
}
run "$limits" "${small[@]}" --json limits.jsonl
is "a run succeeds" "$rc" 0
is "no files remain" "$(left_over)" ""
is "programs in the table" "$(sed -n 's/^| \([A-Za-z][A-Za-z. ]*\) | .*/\1/p' <<<"$out" | paste -sd,)" \
  "hetsort,GNU sort,SQLite,DuckDB,Polars,numpy.memmap"
python3 - limits.jsonl <<'PY' >facts
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
s = {(x["data"], x["program"]): x for x in lines if x["type"] == "sample"}
both = ("lines", "doubles")
print(len(s), [s[d, p]["outcome"] for d in both for p in ("hetsort", "GNU sort")])
print({s[d, p]["outcome"] for d in both for p in ("DuckDB", "Polars")})
print({s[d, p]["outcome"] for d in both for p in ("SQLite", "numpy.memmap")} <= {"sorted", "not installed"})
mine = [s[d, "hetsort"] for d in both]
print(all(x["seconds"] > 0 and x["peak_rss_bytes"] > 1e6 and x["written_bytes"] is not None for x in mine))
print(all((x["group_peak_bytes"] is None) == x["limit"].startswith("ulimit") for x in mine))
print([(x["records"], x["bytes"]) for x in mine])
PY
is "samples" "$(cat facts)" "12 ['sorted', 'sorted', 'sorted', 'sorted']
{'not installed'}
True
True
True
[(20000, 2000000), (250000, 2000000)]"

# --- outcomes: a hetsort that does as $STUB says
for p in gensort valsort bench/records bench/build.json; do ln -s "$BIN/$p" "programs/$p"; done
cat >programs/hetsort <<SH
#!/bin/sh
case \$STUB in
  slow) exec sleep 100 ;;
  killed) kill -KILL \$\$ ;;
  fails) echo "hetsort: no memory for that" >&2; exit 4 ;;
esac
"$BIN/hetsort" "\$@" || exit
while [ \$# -gt 1 ] && [ "\$1" != -o ]; do shift; done
case \$STUB in
  changed) printf x | dd of="\$2" bs=1 seek=50 conv=notrunc status=none ;;
  swapped) (tail -c 800 "\$2"; head -c -800 "\$2") >"\$2.new" && mv "\$2.new" "\$2" ;;
esac
SH
chmod +x programs/hetsort
while IFS=: read -r stub lines doubles; do
  BIN=$PWD/programs STUB=$stub run "$limits" "${small[@]}" --timeout "$([ "$stub" = slow ] && echo 1 || echo 600)" --only hetsort
  is "$stub: status" "$rc" 0
  row=$(grep '^| hetsort' <<<"$out")
  is "$stub: row" "$(cut -d'|' -f3 <<<"$row" | sed 's/[-0-9., ]*$//'):$(cut -d'|' -f7 <<<"$row" | sed 's/[-0-9., ]*$//')" "${lines:+ }$lines:${doubles:+ }$doubles"
  [ "$stub" != fails ] || ok "$stub: why" grep -q "^hetsort, lines: failed: hetsort: no memory for that" <<<"$out"
done <<'END'
none::
slow:not ended:not ended
killed:killed:killed
fails:failed:failed
changed:wrong output:wrong output
swapped:wrong output:wrong output
END
is "those jobs leave no files" "$(left_over)" ""

for bad in '--scale 0' '--scale 1.5' '--scale x' '--timeout 0' '--memory 0'; do
  # shellcheck disable=SC2086  # words
  run "$limits" $bad
  is "usage: $bad" "$rc" 2
done
run "$limits" "${small[@]}" --only emacs
is "no such program" "$rc/$err" "1/limits: no such program: emacs"
done_testing
