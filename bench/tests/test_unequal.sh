# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/unequal with a sorter in memory and a burner that are stubs: the ideal times, and what ends it.
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
command -v taskset >/dev/null || skip_all "taskset is not installed"
mkdir -p programs/bench work
for p in gensort valsort hetsort bench/build.json; do
  ln -s "$BIN/$p" "programs/$p"
done
# Twice as long by one thread on the slow processor, and 1.8 times as long by all.
cat >programs/bench/local_bench <<'SH'
#!/usr/bin/env bash
while [ $# -gt 0 ]; do
  case $1 in -t) threads=$2 ;; -s) sorts=$2 ;; -j) file=$2 ;; esac
  shift
done
s=1.0
if [ "$sorts" = none ]; then
  [ "$(taskset -cp $$ | sed 's/.*: //')" = "$(cat fast)" ] || s=2.0
elif [ -e burning ]; then
  s=1.8
fi
for sort in hetsort tbb 'hwy vqsort'; do
  echo "{\"sort\": \"$sort\", \"threads\": $threads, \"median_s\": $s}"
done >"$file"
SH
cat >programs/cpuburn <<'SH'
#!/usr/bin/env bash
[ "$STUB" != failing ] || { echo "cpuburn: no luck" >&2; exit 1; }
touch burning
trap 'rm burning; exit' TERM
echo "cpuburn: burning: factor 2" >&2
while :; do sleep 0.05; done
SH
chmod +x programs/bench/local_bench programs/cpuburn
export BIN=$PWD/programs

read -r -a cpus < <(python3 -c 'import os; print(*sorted(os.sched_getaffinity(0)))')
[ "${#cpus[@]}" -ge 2 ] || skip_all "one processor cannot be slower than another"
echo "${cpus[0]}" >fast
STUB=good run taskset -c "${cpus[0]},${cpus[1]}" "$ROOT/bench/unequal" --mb 1 --repeat 2 --record-bytes 8,100 --dir work --json out.jsonl
is "it succeeds" "$rc/$(grep -v -e round -e '^warning: no plot ' <<<"$err")" 0/
row() { grep "^$1  " <<<"$out" | tr -s ' '; }
is "the slow processor has the speed that was measured" "$(grep '8 B:' <<<"$out")" "speed of the slow processor, 8 B: 0.500 (0.500 to 0.500)"
is "two threads: the work divided by 1.5 processors" "$(row '8 B, tbb')" "8 B, tbb 1.0000 1.8000 1.3333 1.35 1.35 to 1.35"
is "one thread: the ideal is the other processor" "$(row '100 B, hwy vqsort, 1 thread')" \
  "100 B, hwy vqsort, 1 thread 1.0000 1.8000 1.0000 1.80 1.80 to 1.80"
ok "files are sorted and checked" test "$(row 'file, hetsort')" -a "$(row 'file, hetsort --check')"
is "samples: two rounds, each state" "$(grep '"sample"' out.jsonl | grep -c '"8 B, hetsort"')/$(grep '"summary"' out.jsonl | grep -c '"8 B, hetsort"')" 4/1
! can_draw || ok "there is a plot" grep -q "(ideal)\|>ideal<" out.svg
is "no files remain" "$(ls work)/$(compgen -G burning)" /
STUB=failing run taskset -c "${cpus[0]},${cpus[1]}" "$ROOT/bench/unequal" --mb 1 --repeat 1 --record-bytes 8 --dir work
is "without a burner it ends" "$rc/$(grep -c '^unequal: cpuburn ended: cpuburn: no luck' <<<"$err")" 1/1
done_testing
