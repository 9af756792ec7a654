# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/run on some thousand records: what it measures and records, and that no wrong output passes.
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
bench=$ROOT/bench/run
mkdir -p programs/bench "a directory"
for p in gensort valsort hetsort bench/floor bench/build.json; do
  ln -s "$BIN/$p" "programs/$p"
done
cat >programs/bench/peers <<'SH'
#!/usr/bin/env bash
# A peer that does to its output what $STUB says.
if [ "$1" = --list ]; then printf 'stub\t1.0\n'; exit; fi
"$BIN/hetsort" -f -o "$3.tmp" "$2" || exit
case $STUB in
  good) mv "$3.tmp" "$3" ;;
  unsorted) cp "$2" "$3" ;;
  short) head -c -100 "$3.tmp" >"$3" ;;
  long) { cat "$3.tmp"; tail -c 100 "$3.tmp"; } >"$3" ;;
  twice) { head -c 100 "$3.tmp"; head -c -100 "$3.tmp"; } >"$3" ;;
  changed) { head -c -1 "$3.tmp"; printf '?'; } >"$3" ;;
  nothing) ;;
  failing) echo "no luck" >&2; exit 3 ;;
  slow) exec sleep 20 ;;
esac
rm -f "$3.tmp"
SH
chmod +x programs/bench/peers
export BIN=$PWD/programs

STUB=good run "$bench" --warm --records 2000 --repeat 3 --dir "a directory" --json out.jsonl --group floor,hetsort,peers,ascii,start
is "a run succeeds" "$rc/$err" 0/
for c in memcpy 'cp + fsync' hetsort 'hetsort --ranks 2' 'hetsort --ranks 2 --strategy distribute' stub 'hetsort, ASCII' 'GNU sort, ASCII' \
  'hetsort --help' 'sort --help' 'hetsort, 1 lines' 'GNU sort, 1000 lines'; do
  is "three samples, one summary, a row of: $c" \
    "$(grep '"sample"' out.jsonl | grep -c -F "\"command\": \"$c\"")/$(grep '"summary"' out.jsonl |
      grep -c -F "\"command\": \"$c\"")/$(grep -c "^$c  " <<<"$out")" 3/1/1
done
is "cp is the measure of all" "$(grep '^cp' <<<"$out" | tr -s ' ' | cut -d' ' -f8)" 1.000
is "no files remain" "$(ls "a directory")" ""
if can_draw; then
  STUB=good run "$bench" --warm --records 2000 --repeat 1 --dir "a directory" --only hetsort --group hetsort,peers --plot speed
  is "a plot, of all commands but cp and memcpy" "$rc $(grep -c -E '>(hetsort|stub|memcpy|cp . fsync)<' speed.svg)" "0 1"
  ok "it says what is better" grep -q 'seconds; lower is better' speed.svg
fi
python3 - out.jsonl <<'PY' >facts
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
setup, samples = lines[0], [x for x in lines if x["type"] == "sample"]
print(all(setup["machine"][k] for k in ("processors", "memory_bytes", "kernel", "arch")),
      setup["file_systems"]["a directory"]["type"] is not None, setup["versions"]["build"]["cc"] != "",
      setup["peers"] == {"stub": "1.0"})
print(all(x["seconds"] > 0 and x["peak_rss_bytes"] > 1 << 20 and x["cache"] and x["bytes"] == 200000
          and x["memory_given_bytes"] == 600000 for x in samples if "lines" not in x["command"]))
print(all(x["arrays_per_input"] > 1 and x["phases_s"]["read"] > 0 for x in samples
          if x["group"] == "hetsort"))
first = [[x["command"] for x in samples if x["round"] == r][0] for r in range(3)]
print(len(set(first)))
print(sorted((x["kind"], x["records"], len(x["checksum"]) > 0) for x in lines if x["type"] == "input"))
PY
is "machine, versions, samples, reports, rotation and inputs are recorded" "$(cat facts)" \
  "True True True True
True
True
3
[('ascii', 1, True), ('ascii', 1000, True), ('ascii', 2000, True), ('binary', 2000, True)]"

run "$bench" --records 500 --repeat 1 --dir "a directory" --only hetsort --json cold.jsonl
state=$(grep '"sample"' cold.jsonl | sed 's/.*"cache": "\([^"]*\)".*/\1/' | sort -u)
ok "without --warm all samples say where the input was: $state" grep -q -x -E 'cold|warm|in memory' <<<"$state"

rejects() { # rejects STUB WORDS
  STUB=$1 run "$bench" --warm --records 2000 --repeat 2 --dir "a directory" --group peers --json "bad.jsonl"
  is "a peer is refused: $1" "$rc/$(grep -c "^run: stub: $2" <<<"$err")" 1/1
  is "... without a table and without a file of results: $1" "$(grep -c '^stub' <<<"$out")/$(compgen -G bad.jsonl | wc -l)" 0/0
}
rejects unsorted 'not in order: First unordered record is record '
rejects short 'the output has 1999 records, the input 2000'
rejects long 'the output has 2001 records, the input 2000'
rejects twice 'the output has other records'
rejects changed 'the output has other records'
rejects nothing 'wrote no output'
STUB=failing run "$bench" --warm --records 2000 --repeat 1 --dir "a directory" --group peers
is "a peer that fails ends the run" "$rc/$(grep -c 'ended with status 3: no luck$' <<<"$err")" 1/1

# A generator or validator that errs is found out as well.
rm programs/gensort
cat >programs/gensort <<SH
#!/bin/sh
[ "\$#" -eq 3 ] && echo 1234 >&2 && exit
exec "$(dirname "$(readlink programs/valsort)")/gensort" "\$@"
SH
chmod +x programs/gensort
run "$bench" --warm --records 2000 --repeat 1 --dir "a directory" --group gensort
is "a wrong checksum of gensort ends the run" \
  "$rc/$(grep -c '^run: gensort -c, no output: checksum 1234, not ' <<<"$err")" 1/1
ln -sf "$(dirname "$(readlink programs/valsort)")/gensort" programs/gensort

STUB=slow "$bench" --warm --records 2000 --repeat 1 --dir "a directory" --only stub >/dev/null 2>&1 &
harness=$!
await eval 'compgen -G "a directory/*/out.tmp" >/dev/null'
kill $harness; wait $harness
is "a signal ends the run" $? 143
is "... and leaves nothing" "$(ls "a directory")" ""

# DuckDB takes part where it is; this one understands the harness's own statement only.
mkdir path
cat >path/duckdb <<'SH'
#!/usr/bin/env bash
if [ "$1" = --version ]; then echo v0; exit; fi
in=$(sed -n "s/.*read_csv('\([^']*\)'.*/\1/p" <<<"$2") out=$(sed -n "s/.* TO '\([^']*\)'.*/\1/p" <<<"$2")
tr -d '\r' <"$in" | LC_ALL=C sort -k1.1,1.10 >"$out"
SH
chmod +x path/duckdb
PATH=$PWD/path:$PATH run "$bench" --warm --records 500 --repeat 1 --dir "a directory" --only DuckDB*
is "DuckDB takes part where it is installed" "$rc/$err/$(grep -c '^DuckDB, ASCII  ' <<<"$out")" 0//1

STUB=good run "$bench" --warm --records 300 --repeat 1 --dir "a directory" --group generator
is "all ways of the generator agree" "$rc/$err" 0/
STUB=good run "$bench" --list --group hetsort,peers --skip '*ranks 2*'
is "--list, --group and --skip choose" "$(sed 1d <<<"$out" | tr -s ' ' | paste -sd,)" \
  "memcpy floor,cp + fsync floor,hetsort hetsort,stub peers"
for bad in '--records 0' '--repeat 0' '--group none' '--no-such'; do
  # shellcheck disable=SC2086  # words
  run "$bench" $bad
  is "usage: $bad" "$rc" 2
done
run "$bench" --warm --records 1000 --dir nowhere
is "a missing directory" "$rc/${err%%:*}" 1/run
run "$bench" --warm --records 1000000000000 --dir "a directory"
is "no room" "$rc/$(grep -c '^run: no room for ' <<<"$err")" 1/1
done_testing
