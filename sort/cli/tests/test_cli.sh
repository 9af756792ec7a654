#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The command line of hetsort: sorts that succeed, and every refusal with its message and exit code. After a refusal,
# neither an output nor a temporary file exists. Needs no root, network or launcher. HETSORT_LONG=1: more sizes
# of memory and of records that spill to disk, and more ranks.
# shellcheck disable=SC2016,SC2317  # inner shells expand; functions are called through ok
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort gensort=$BIN/gensort valsort=$BIN/valsort

"$gensort" --no-fsync 1000 in && "$gensort" --no-fsync -b1000 500 in2 || exit 1
cat in in2 >both
whole=${HETSORT_LONG:-} # empty: samples

nothing_written() { # there is neither an output nor a temporary file of any name
  [ -z "$(find . -name '.hetsort-*' -o -name 'out*')" ]
}

refuses() { # refuses NAME CODE MESSAGE COMMAND... - exit code, words of the message, nothing written
  local name=$1 code=$2 words=$3; shift 3
  run timeout 60 "$@"
  is "$name: exit code" "$rc" "$code"
  case $err in
    *"$words"*) is "$name: message" 1 1 ;;
    *) is "$name: message" "$err" "...$words..." ;;
  esac
  ok "$name: nothing written" nothing_written
}

sorts() { # sorts NAME RECORDS COMMAND... - succeeds, and valsort counts RECORDS in out
  local name=$1 n=$2; shift 2
  run timeout 60 "$@"
  is "$name: exit code" "$rc" 0
  is "$name: silent" "$err" ""
  run "$valsort" out
  is "$name: valid" "$rc" 0
  case $err in *"Records: $n"*) ;; *) is "$name: records" "$err" "Records: $n" ;; esac
  rm -f out
}

# --- sorts that succeed
sorts "one file" 1000 "$hetsort" -o out in
sorts "two files" 1500 "$hetsort" -o out in in2
sorts "one rank" 1000 "$hetsort" --ranks 1 -o out in
sorts "more ranks than processors" 1000 "$hetsort" --ranks=9 -o out in
sorts "distribute" 1000 "$hetsort" --strategy=distribute -o out in
sorts "speeds" 1000 "$hetsort" --ranks=3 --speeds 1,2.5,0.5e0 -o out in
printf '1 # the fast one\r\n0.5\n\n# none\n0.5' >speeds
sorts "speeds from a file" 1000 "$hetsort" --ranks 3 --speeds speeds --plan linear -o out in
printf '# this machine\n%s\t2 # all of it\n' "$(hostname)" >hosts
sorts "speeds by host" 1000 "$hetsort" --ranks 3 --speeds hosts -o out in
for i in 1 2 3; do
  sorts "--plan=online, run $i" 1000 "$hetsort" --ranks=3 --plan online --wisdom book/ -o out in
done
is "--wisdom: one file for one kind of run" "$(find book -type f | wc -l)" 1
sorts "--wisdom: another number of ranks" 1000 "$hetsort" --ranks=2 --plan online --wisdom book -o out in
is "--wisdom: goes into the same file" "$(find book -type f | wc -l)" 1
sorts "--wisdom: another kind of run" 1000 "$hetsort" --ranks=2 --strategy=distribute --plan online --wisdom book -o out in
is "--wisdom: has a file of its own" "$(find book -type f | wc -l)" 2
mv book/hosts-merge-* one
HETSORT_WISDOM=$PWD/one sorts "HETSORT_WISDOM names a file" 1000 "$hetsort" --ranks=2 --plan online -o out in
XDG_STATE_HOME=$PWD/state sorts "XDG_STATE_HOME" 1000 "$hetsort" --ranks=2 --plan online -o out in
ok "XDG_STATE_HOME: kept there" test -n "$(find state/hetsort -name '*.wisdom')"
rm -r state
cp one two
run "$hetsort" --explain --ranks 2 --plan online --wisdom one in
ok "--explain plans by it" grep -q "plan online" <<<"$out"
ok "--explain learns nothing" cmp -s one two
echo "damaged" >>one
run "$hetsort" --ranks 2 --plan online --wisdom one -o out in
is "damaged wisdom: exit code" "$rc" 0
ok "damaged wisdom: note" grep -q "^hetsort: note: wisdom is ignored and replaced: 'one': line" <<<"$err"
rm out
sorts "damaged wisdom: replaced" 1000 "$hetsort" --ranks 2 --plan online --wisdom one -o out in
run "$hetsort" --ranks 2 --plan online --wisdom in --report report.json -o out in2
is "a file that is not wisdom: exit code" "$rc" 0
ok "a file that is not wisdom: note in the report" grep -q '"wisdom is ignored: ' report.json
ok "a file that is not wisdom: untouched" test "$(stat -c %s in)" -eq 100000
rm out
sorts "speeds from a program" 1000 "$hetsort" --ranks 2 --speeds <(sleep 0.2; echo 1,2) -o out in
sorts "measured speeds" 1000 "$hetsort" --ranks 3 --speeds auto -o out in
for plan in equal linear nlogn taylor asymptotic; do
  sorts "--plan=$plan" 1000 "$hetsort" --ranks=3 --speeds 1,2.5,0.5 --plan $plan -o out in
done
for scatter in equal speed balanced dynamic; do
  sorts "--source=root --scatter=$scatter" 1500 "$hetsort" --ranks=3 --speeds 1,2.5,0.5 --source root \
    --scatter $scatter --links 100,100,10 -o out in in2
done
refuses "--source=root of more than the memory" 4 "not enough memory for 1000 records of 100 bytes (--memory: 40 KiB, for 2 ranks); use --memory=" \
  "$hetsort" --ranks 2 --source root --scatter equal --memory 40K -o out in
"$gensort" --no-fsync 1 one || exit 1
refuses "a rank without a record, and without memory" 4 "not enough memory for 1 record of 100 bytes (--memory: 1 KiB, for 3 ranks); use --memory=" \
  "$hetsort" --ranks 3 --memory 1K -o out one
sorts "--source=root on one rank" 1000 "$hetsort" --ranks 1 --source root -o out in
sorts "--adapt" 1000 "$hetsort" --ranks=3 --adapt -o out in
sorts "--adapt, one rank" 1000 "$hetsort" --adapt -o out in
sorts "option after operand" 1000 "$hetsort" in -o out
sorts "from a directory elsewhere" 1000 "$hetsort" -o "$PWD/out" "$PWD/in"
mkdir sub
sorts "name with blanks and escapes" 1000 sh -c 'cp in "sub/a b
c%d" && "$0" -o out "sub/a b
c%d"' "$hetsort"

"$hetsort" -o out in && cp out expected && rm out
"$hetsort" -o - in >streamed
ok "standard output" cmp -s streamed expected
"$hetsort" -o - - <in >streamed
ok "standard input and output" cmp -s streamed expected
# shellcheck disable=SC2002  # it has to be a pipe
cat in | "$hetsort" -o out -
ok "from a pipe" cmp -s out expected
rm -f out
# files that are not named are standard input and output, like in sort(1)
# shellcheck disable=SC2002  # it has to be a pipe
cat in | "$hetsort" -o out
ok "no input is named: a pipe" cmp -s out expected
"$hetsort" in | cat >streamed
ok "no output is named: a pipe" cmp -s streamed expected
"$hetsort" <in >streamed
ok "neither is named: files" cmp -s streamed expected
"$hetsort" --ranks 3 -f -o out <in
ok "no input is named, three ranks" cmp -s out expected
"$hetsort" in -r | "$hetsort" --check -r -
is "no output is named, then --check" "${PIPESTATUS[*]}" "0 0"
SLURM_NTASKS=4 SLURM_PROCID=0 "$hetsort" <in >streamed
ok "neither is named, in a batch script" cmp -s streamed expected
if have_terminal; then
  for words in "" "-o new" --check --explain; do
    # shellcheck disable=SC2086  # words
    on_terminal 200 0 . "$hetsort" $words
    is "no input is named, a terminal, $words: message" "$(head -n 1 <<<"$out")" \
      "hetsort: no input file is named, and standard input is a terminal: name a file, or use < FILE"
    is "no input is named, a terminal, $words: refused" "${out##*, }/$(ls new 2>/dev/null)" "status 2/"
  done
  on_terminal 200 0 . "$hetsort" in
  is "no output is named, a terminal: refused" "$(head -n 1 <<<"$out")/${out##*, }" \
    "hetsort: no output is named, and standard output is a terminal: use -o FILE or > FILE/status 2"
  seq 1009 -1 1000 >ten
  on_terminal 80 0 . "$hetsort" --record-size 5 --key 0,4 -o - ten
  is "- as the output, a terminal: printed" "$(head -n 2 <<<"$out" | paste -sd' ')/${out##*, }" "1000 1001/status 0"
else
  echo "# skipped: no pseudo terminals"
fi
if command -v python3 >/dev/null; then
  unblocked() { python3 -c 'import os, sys; [os.set_blocking(f, False) for f in (0, 1)]; os.execv(sys.argv[1], sys.argv[1:])' "$@"; }
  (sleep 0.2; cat in) | unblocked "$hetsort" -o - - | (sleep 0.2; cat) >streamed
  ok "from and to a pipe that does not block" cmp -s streamed expected
fi
rm -f out
: >empty
run "$hetsort" -o out empty
is "empty input: exit code" "$rc" 0
is "empty input: size" "$(wc -c <out)" 0
rm -f out
run "$hetsort" -o - - </dev/null
is "empty standard input" "$rc$out" 0

echo old >out
run "$hetsort" --force -o out in
is "--force: exit code" "$rc" 0
ok "--force: replaced" cmp -s out expected
rm out
(umask 077 && "$hetsort" -o out in)
is "umask is kept" "$(stat -c %a out)" 600
rm out

# --- more data than memory
"$gensort" --no-fsync -s 700000 large && "$hetsort" -o sorted large || exit 1
mkdir spill
head -c 10000000 large >little && "$hetsort" -o little.sorted little || exit 1
for memory in 10M 4M; do # memory for all data, and less: shorter reads and writes
  run timeout 60 "$hetsort" --memory $memory --report report -o out little
  is "10 MB in $memory" "$rc/$err/$(cmp out little.sorted)" "0//"
  held=$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report)
  ok "10 MB in $memory: within the limit" [ "$held" -le $((${memory%M} << 20)) ]
  rm -f out
done
for mode in "" "--memory 10M" "--memory 4M" "--ranks 3" "--ranks 2 --memory 16M" "--ranks 2 --source root --memory 30M" \
  "--workdir state" "--workdir state --ranks 2" "--workdir state --memory 64M"; do
  mkdir state
  # shellcheck disable=SC2086
  run timeout 60 "$hetsort" $mode --report report -o out little
  held=$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report | sort -n | tail -n 1)
  planned=$(sed -n 's/.*"planned_bytes": \([0-9]*\).*/\1/p' report | sort -n | tail -n 1)
  is "10 MB, $mode: status" "$rc/$err" "0/"
  ok "10 MB, $mode: memory is within a quarter of the prediction" [ $((held * 5)) -ge $((planned * 4)) -a $((held * 4)) -le $((planned * 5)) ]
  rm -rf out state
done
rm -f little little.sorted
for ranks in 1 2 4; do # a plan of 70 MB includes only the scratch of the threads that sort
  run timeout 60 "$hetsort" --ranks $ranks --report report -o out large
  held=$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report | sort -n | tail -n 1)
  planned=$(sed -n 's/.*"planned_bytes": \([0-9]*\).*/\1/p' report | sort -n | tail -n 1)
  ok "70 MB, $ranks ranks: memory is 94 to 100 % of the prediction" [ "$held" -le "$planned" -a $((held * 100)) -ge $((planned * 94)) ]
  rm -f out
done
# the plan includes the blocks from one root, which are small if the shares are: 1 MB fits into 8 MB. Links are given: if
# they are measured on a busy machine, they may be so slow that rank 0 keeps all records
for mode in "--ranks 2" "--ranks 4" "--ranks 4 --strategy distribute" "--ranks 4 --links 20000,20000,20000,20000 --memory 8M"; do
  head -c 1000000 large >little
  # shellcheck disable=SC2086
  run timeout 60 "$hetsort" $mode --source root --report report -f -o out little
  held=$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report | paste -sd+)
  planned=$(sed -n 's/.*"planned_bytes": \([0-9]*\).*/\1/p' report | paste -sd+)
  is "1 MB from one root, $mode: status" "$rc/$err" "0/"
  ok "1 MB from one root, $mode: memory is within the plan" [ $((held)) -gt 0 -a $((held)) -le $((planned)) ]
done
rm -f little out
for mode in "--direct auto" "--direct never" "--tmpdir spill --tmpdir /tmp" "--threads 1"; do
  # shellcheck disable=SC2086
  run timeout 60 "$hetsort" --memory 64M $mode --report report -o out large
  is "spilled to disk, $mode" "$rc/$err" "0/"
  ok "spilled to disk, $mode: same bytes as in memory" cmp -s out sorted
  runs=$(sed -n 's/.*"spill_runs": \([0-9]*\).*/\1/p' report)
  ok "spilled to disk, $mode: in runs" [ "$runs" -gt 1 ]
  held=$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report)
  ok "spilled to disk, $mode: within the limit" [ "$held" -le 67108864 ]
  ok "spilled to disk, $mode: nothing left" [ -z "$(ls -A spill)" ]
  rm out
done
# of 70 MB, as much stays in memory as the limit allows, and the limit is kept
for how in "28M 70" "56M 35" "72M 45" "80M 40" "72M 45 --ranks 2"; do # memory, most MB on disk
  read -r memory most ranks <<<"$how"
  # shellcheck disable=SC2086
  run timeout 60 "$hetsort" $ranks --memory "$memory" --tmpdir spill --report report -o out large
  is "runs in memory and on disk, $how" "$rc/$err/$(cmp out sorted)/$(ls -A spill)" "0///"
  spilled=$(sed -n 's/.*"spill_bytes": \([0-9]*\).*/\1/p' report | paste -sd+)
  ok "runs in memory and on disk, $how: $spilled bytes on disk" [ $((spilled)) -gt 0 -a $((spilled)) -le $((most * 1000000)) ]
  held=$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report | paste -sd+)
  ok "runs in memory and on disk, $how: within the limit" [ $((held)) -le $((${memory%M} << 20)) ]
  rm out
done
run timeout 60 "$hetsort" --ranks 4 --memory 80M --report report -o out large
is "four ranks spilled to disk" "$rc/$err" "0/"
ok "four ranks spilled to disk: same bytes as in memory" cmp -s out sorted
ok "four ranks spilled to disk: each in runs" [ "$(grep -c '"spill_runs": [2-9]' report)" -eq 4 ]
held=$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report | sort -n | tail -n 1)
ok "four ranks spilled to disk: within the limit" [ "$held" -le $((20 << 20)) ]
rm out
"$hetsort" --memory 64M -o - large >streamed
ok "spilled to disk to standard output" cmp -s streamed sorted
refuses "too little memory" 4 "; use --memory=" "$hetsort" --memory 4M -o out large
for memory in 40M ${whole:+64M 100M}; do # 70 MB fit into 128M
  run timeout 60 "$hetsort" --memory "$memory" --tmpdir spill --report report -o out - < <(cat large)
  is "standard input in $memory" "$rc/$err/$(cmp out sorted)/$(ls -A spill)" "0///"
  ok "standard input in $memory: in runs" [ "$(sed -n 's/.*"spill_runs": \([0-9]*\).*/\1/p' report)" -gt 1 ]
  ok "standard input in $memory: within the limit" \
    [ "$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report)" -le $((${memory%M} << 20)) ]
  rm out
done
"$hetsort" --memory 64M --tmpdir spill -o - - <large >streamed
ok "standard input spilled to disk to standard output" cmp -s streamed sorted
refuses "standard input beyond the limit" 4 "spilling to disk needs more memory (--memory)" sh -c '"$0" --memory 1M -o out - <large' "$hetsort"
refuses "part of a record after much of standard input" 2 "partial record of 50 bytes" \
  sh -c 'head -c 69999950 large | "$0" --memory 64M --tmpdir spill -o out -' "$hetsort"
is "part of a record: nothing left" "$(ls -A spill)" ""
refuses "no such directory for standard input's runs" 2 "nowhere" \
  sh -c '"$0" --memory 64M --tmpdir nowhere -o out - <large' "$hetsort"
run "$hetsort" --memory 72M --ranks 2 --source root --scatter equal --tmpdir spill --report report -o out large
is "scattered, spilled to disk" "$rc/$err/$(cmp out sorted)/$(ls -A spill)" "0///"
ok "scattered: in runs" [ "$(sed -n 's/.*"spill_runs": \([0-9]*\).*/\1/p' report | sort -n | head -n 1)" -gt 1 ]
rm out
for mode in "" "--speeds 1,2 --adapt" "--exchange-threads 0"; do
  # shellcheck disable=SC2086
  run timeout 60 "$hetsort" --memory 72M --ranks 2 --strategy distribute $mode --tmpdir spill --report report -o out large
  is "distributed spilled to disk $mode" "$rc/$err/$(cmp out sorted)/$(ls -A spill)" "0///"
  ok "distributed spilled to disk $mode: in runs" [ "$(sed -n 's/.*"spill_runs": \([0-9]*\).*/\1/p' report | sort -n | head -n 1)" -gt 1 ]
  ok "distributed spilled to disk $mode: within the limit" \
    [ "$(sed -n 's/.*"arrays_peak": \([0-9]*\).*/\1/p' report | sort -n | tail -n 1)" -le 67108864 ]
  rm out
done
head -c 35000000 large >own.0 && tail -c +35000001 large >own.1
run timeout 60 "$hetsort" --memory 128M --ranks 2 --strategy distribute --tmpdir spill -o out own.%r
is "files of the ranks, beyond what distributing holds" "$rc/$err/$(cmp out sorted)/$(ls -A spill)" "0///"
head -c 3000000 large >own.0 && tail -c +3000001 large | head -c -3000000 >own.1 && tail -c 3000000 large >own.2
run timeout 60 "$hetsort" --memory 72M --ranks 3 --speeds 1,1,30 --strategy distribute --tmpdir spill -f -o out own.%r
is "files of the ranks, beyond what some of them hold" "$rc/$err/$(cmp out sorted)/$(ls -A spill)" "0///"
rm out own.*
turn=0
for layout in "--record-size 4000" "--record-size 50000 --key 7,50" "--record-size 5000 --key 0,5000"; do
  # shellcheck disable=SC2086
  "$hetsort" $layout --stable --no-fsync -o whole large || exit 1
  for mode in "--memory 48M" "--memory 64M --ranks 2"; do
    turn=$((turn + 1))
    [ -n "$whole" ] || [ $((turn % 4)) -le 1 ] || continue # one of each layout, and both modes
    # shellcheck disable=SC2086
    run timeout 60 "$hetsort" $layout --stable --no-fsync $mode --tmpdir spill --report report -o out large
    is "large records spilled to disk, $layout $mode" "$rc/$err/$(cmp out whole)/$(ls -A spill)" "0///"
    ok "large records, $layout $mode: in runs" [ "$(sed -n 's/.*"spill_runs": \([0-9]*\).*/\1/p' report | sort -n | head -n 1)" -gt 1 ]
    rm -f out
  done
  rm whole
done
refuses "chunks on request beyond the limit" 4 "--scatter=dynamic cannot spill to disk" \
  "$hetsort" --memory 96M --ranks 2 --source root --scatter dynamic -o out large
refuses "size without a number" 2 "is neither a size nor a percentage of memory" "$hetsort" --memory much -o out in
refuses "no memory at all" 2 "must be above zero" "$hetsort" --memory 0 -o out in
refuses "no such directory for runs" 2 "nowhere" "$hetsort" --memory 64M --tmpdir nowhere -o out large
run "$hetsort" --memory 64M --explain -o out large
case $out in *"; in "*" runs"*) ok "--explain prints runs" true ;; *) is "--explain prints runs" "$out" "..." ;; esac
rm large sorted streamed report

# --- huge pages: reported if there is much memory, and 0 if the system has none
"$gensort" --no-fsync 400000 much || exit 1
run "$hetsort" --no-fsync --report report -o out much
huge=$(sed -n 's/.*"huge_pages": \([0-9]*\).*/\1/p' report)
peak=$(sed -n 's/.*"process_peak": \([0-9]*\).*/\1/p' report)
ok "huge pages are a part of the memory" [ "$huge" -le "$peak" ]
if grep -q '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled 2>/dev/null; then
  is "no huge pages on this system" "$huge" 0
fi
rm much out report

# --- many ranks: their memory depends on the data, not on the square of their number
"$gensort" --no-fsync 20000 many || exit 1
crowd=64
[ -z "$whole" ] || crowd=200
run timeout 100 "$hetsort" --ranks $crowd --no-fsync --report report -o out many
is "$crowd ranks: exit code" "$rc" 0
ok "$crowd ranks: sorted" "$valsort" out
held=$(sed -n 's/.*"process_peak": \([0-9]*\).*/\1/p' report | sort -n | tail -n 1)
[ -n "${SANITIZER:-}" ] || # which takes memory of its own
  ok "$crowd ranks: 2 MiB each at most" [ "$held" -le $((crowd * 2 << 20)) ]
rm many out report

# --- one file per rank
mkdir parts
for r in 0 1 2 3; do "$gensort" --no-fsync -b$((r * 100)) 100 parts/in.$r; done
run "$hetsort" --ranks 4 -o parts/part.%r parts/in.%r
is "per rank: exit code" "$rc" 0
cat parts/part.0 parts/part.1 parts/part.2 parts/part.3 >joined
run "$valsort" joined
is "per rank: concatenation is sorted" "$rc" 0
ok "per rank: manifest" grep -q '"records": 400' parts/part.manifest
is "per rank: parts in the manifest" "$(grep -c '"file": "part\.[0-3]"' parts/part.manifest)" 4
run "$hetsort" --ranks 4 -o parts/part.%r parts/in.%r
is "per rank: refused again" "$rc" 2
run "$hetsort" --ranks 4 --force -o parts/part.%r parts/in.%r
is "per rank: --force" "$rc" 0
run "$hetsort" --ranks 2 -o parts/w.%3r --manifest parts/m.json in
ok "per rank: width and manifest name" test -s parts/w.000 -a -s parts/w.001 -a -s parts/m.json
rm parts/in.3
refuses "file missing on one rank of four" 2 "hetsort: cannot open input 'parts/in.3'" \
  "$hetsort" --ranks 4 -o parts/out.%r parts/in.%r

# --- refusals: files
head -c 150 in >short
refuses "partial record" 2 "'short' has 150 bytes, not a multiple of the record size 100: 50 left over" \
  "$hetsort" -o out short
refuses "missing input" 2 "cannot open input 'nowhere': No such file" "$hetsort" -o out nowhere
refuses "input is a directory" 2 "input 'sub' is a directory" "$hetsort" -o out sub
if command -v python3 >/dev/null; then
  python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("sock")'
  refuses "input is a socket" 2 "input 'sock' is a socket" "$hetsort" -o out sock
fi
ln -s loop loop
refuses "input is a link to itself" 2 "cannot open input 'loop': Too many levels of symbolic links" "$hetsort" -o out loop
long=$(printf 'x%.0s' {1..256})
refuses "input with a name too long" 2 "': File name too long" "$hetsort" -o out "$long"
refuses "input below a file" 2 "cannot open input 'in/x': Not a directory" "$hetsort" -o out in/x
refuses "partial record on standard input" 2 "partial record of 50 bytes" \
  sh -c '"$0" -o out - <short' "$hetsort"
if [ "$(id -u)" -ne 0 ]; then
  cp in secret && chmod 000 secret
  refuses "unreadable" 2 "cannot open input 'secret': Permission denied" "$hetsort" -o out secret
fi
refuses "directory of the output" 2 "cannot open the directory of 'none/out'" "$hetsort" -o none/out in
refuses "output is a directory" 2 "output 'sub' is a directory" "$hetsort" --force -o sub in
refuses "output ends in a slash" 2 "does not name a file" "$hetsort" -o sub/ in
cp in keep
refuses "output exists" 2 "output 'keep' exists; use --force to replace it" "$hetsort" -o keep in
ok "output exists: untouched" cmp -s keep in
ln in hard
ln -s in soft
instead=': write to another file, and rename it after the sort'
for force in '' -f; do
  refuses "output = input by name $force" 2 "output 'in' is the same file as input 'in'$instead" "$hetsort" $force in -o in
  refuses "output = input by another name $force" 2 "output './in' is the same file as input 'in'$instead" "$hetsort" $force in -o ./in
  refuses "output = input by hard link $force" 2 "'hard' is the same file as input 'in'$instead" "$hetsort" $force -o hard in
  refuses "output = input by symlink $force" 2 "'soft' is the same file as input 'in'$instead" "$hetsort" $force -o soft in
  refuses "output = the second of two inputs, two ranks $force" 2 "output 'in' is the same file as input 'in'$instead" \
    "$hetsort" $force --ranks 2 -o in keep in
  refuses "output = input, whatever else $force" 2 "output 'in' is the same file as input 'in'$instead" \
    "$hetsort" $force --speeds 1,2 --record-size 7 --report keep/r -o in in nowhere
  refuses "a part = an input $force" 2 "output 'part.0' of rank 0 is the same file as input 'in.0' of rank 0$instead" \
    sh -c 'cp in in.0; cp in in.1; ln in.0 part.0; "$0" "$@"; rc=$?; rm in.0 in.1 part.0; exit $rc' \
    "$hetsort" --ranks 2 $force -o part.%r in.%r
done
refuses "output is a symlink" 2 "output 'soft' is a symbolic link" "$hetsort" -f -o soft keep
refuses "output = input by a link to a directory" 2 "output 'dots/in' is the same file as input 'in'" \
  sh -c 'ln -sfn . dots && exec "$0" -f -o dots/in in' "$hetsort"
refuses "standard output = input" 2 "standard output is the same file as input 'in'" sh -c '"$0" -o - in >>in' "$hetsort"
refuses "output = standard input" 2 "output 'in' is the same file as standard input" sh -c '"$0" -f -o in - <in' "$hetsort"
refuses "report = standard input" 2 "report 'in' is the same file as standard input" \
  sh -c '"$0" --report in -o out - <in' "$hetsort"
refuses "report = standard output" 2 "report 'keep' is the same file as standard output" \
  sh -c '"$0" --report keep -o - in >keep' "$hetsort"
cp in keep
refuses "report among the records" 2 "--report=-: the records go to standard output" "$hetsort" --report - -o - in
refuses "report among the records, by another name" 2 "report '-' is the same file as output" sh -c '"$0" --report - -o /dev/fd/1 in | cat; exit 2' "$hetsort"
refuses "report among the records, by its full name" 2 "--report=-: the records go" "$hetsort" --report /dev/stdout -o - in
refuses "report and plan on standard output" 2 "--report=-: --explain prints to standard output" "$hetsort" --report - --explain in
run "$hetsort" --report - -o out in
is "report on standard output: exit code, output" "$rc/$err/$(cmp out expected)" 0//
ok "report on standard output: it is the report" grep -q '"format": "hetsort-report"' <<<"$out"
rm out
run "$hetsort" --report - -o out nowhere
ok "report of a failure on standard output" grep -q '"status": "refused"' <<<"$out"
refuses "closed standard input" 3 "cannot read standard input: Bad file descriptor" sh -c '"$0" -o out - <&-' "$hetsort"
refuses "closed standard output" 3 "cannot write standard output: Bad file descriptor" sh -c '"$0" -o - in >&-' "$hetsort"
# standard error: messages are not written to a file of the job, but to the terminal, or nowhere
mkdir work set && cp in set/p.0 && cp in2 set/p.1 && "$hetsort" --ranks 2 -o set/s.%r set/p.%r || exit 1
spares() { # spares NAME FILE COMMAND... - with standard error in FILE: refused, FILE as before, nothing written
  local name=$1 file=$2 was; shift 2
  was=$(cksum "$file")
  run setsid sh -c 'exec "$@" 2>>"$0"' "$file" "$@"
  is "messages in $name: exit code, the file" "$rc/$(cksum "$file")" "2/$was"
  ok "messages in $name: nothing written" nothing_written
}
spares "the input" in "$hetsort" -v -o out in
spares "the input of an invalid command" in "$hetsort" --bogus -o out in
spares "the input, under another name" in "$hetsort" -o out in2 hard
spares "the input, which is also standard input" in sh -c '"$0" -v -o out - <in' "$hetsort"
spares "an input of a rank" set/p.1 "$hetsort" --ranks 2 -v -o out.%r set/p.%r
spares "a part, of a manifest" set/s.1 "$hetsort" -v -o out set/s.manifest
spares "the manifest" set/s.manifest "$hetsort" -v -o out set/s.manifest
spares "the output" keep "$hetsort" -v -f -o keep in
spares "the plan's input" in "$hetsort" --explain -v in
: >sum && spares "the records on standard output" sum sh -c '"$0" -v -o - in >>sum' "$hetsort"
spares "an input to check" in "$hetsort" --check in
spares "a part to check" set/s.0 "$hetsort" --check-manifest set/s.manifest
spares "a file to clean" keep "$hetsort" --clean keep
"$hetsort" --report old.report -o out in && rm out
spares "the report" old.report "$hetsort" -v --report old.report -o out in
: >work/hetsort-rank0.run0 && spares "a file of the workdir" work/hetsort-rank0.run0 "$hetsort" -v --workdir work -o out in
spares "the report of hetsort-report" old.report "$BIN/hetsort-report" -o page old.report
run "$hetsort" --explain in
is "the plan and messages in one file" "$("$hetsort" --explain -v in >log 2>&1; echo $?; wc -l <log)" "0"$'\n'"$(wc -l <<<"$out")"
if have_terminal; then
  on_terminal 80 0 . sh -c '"$0" -v -o out in 2>>in; echo $?' "$hetsort"
  ok "messages in the input: the reason is on the terminal" grep -q "standard error is the same file as input 'in'" <<<"$out"
fi
rm -r work set old.report log sum
cp in keep
refuses "input twice" 2 "input 'in' is the same file as input 'in'" "$hetsort" -o out in in2 in
for merge in "" -m; do # any content, any number of ranks
  for ranks in 1 3; do
    # shellcheck disable=SC2086 # a word, or none
    refuses "empty input twice, $merge $ranks ranks" 2 "is the same file as input 'nothing'" sh -c ': >nothing; exec "$@"' - \
      "$hetsort" $merge --ranks $ranks -o out nothing ./nothing
  done
done
rm nothing
refuses "input twice by hard link" 2 "is the same file as input" "$hetsort" -o out in2 in hard
refuses "input twice by symlink" 2 "is the same file as input" "$hetsort" -o out soft in
refuses "report = input" 2 "report 'in' is the same file as input 'in'" "$hetsort" --report in -o out in
refuses "report = output" 2 "report './out' is the same file as output 'out'" "$hetsort" --report ./out -o out nowhere
refuses "report = input, whatever else" 2 "report 'in' is the same file as input 'in'" "$hetsort" --report in -o out in nowhere
refuses "report = input of a rank" 2 "report 'parts/../parts/in.2' is the same file as input 'parts/in.2'" \
  "$hetsort" --ranks 3 --report parts/../parts/in.2 -o out.%r parts/in.%r
refuses "report = manifest" 2 "report 'out.manifest' is the same file as manifest 'out.manifest'" \
  "$hetsort" --ranks 3 --report out.manifest -o out.%r parts/in.%r
refuses "report without a directory" 2 "cannot open the directory of 'none/r.json': No such file" "$hetsort" --report none/r.json -o out in
refuses "report is a directory" 2 "output 'sub' is a directory" "$hetsort" --ranks 3 --report sub -o out in
if [ "$(id -u)" -ne 0 ]; then
  mkdir shut && chmod 555 shut
  refuses "report in a read-only directory" 2 "cannot make report 'shut/r': Permission denied" "$hetsort" --report shut/r -o out in
fi
# between ranks
mkdir over && for r in 0 1 2; do cp in over/in.$r; mkdir over/d$r; done
ln -sfn d0 over/e0 && ln -sfn d1 over/e1 && ln -sfn d0 over/e2
refuses "output of two ranks" 2 "output 'over/e2/res' of rank 2 is the same file as output 'over/e0/res' of rank 0" \
  "$hetsort" --ranks 3 --manifest out.m -o over/e%r/res over/in.%r
ln -f over/in.1 over/in.2
refuses "input of two ranks by hard link" 2 "input 'over/in.2' of rank 2 is the same file as input 'over/in.1' of rank 1" \
  "$hetsort" --ranks 3 -o out.%r over/in.%r
ln -sfn in.0 over/in.2
refuses "input of two ranks by symlink" 2 "input 'over/in.2' of rank 2 is the same file as input 'over/in.0' of rank 0" \
  "$hetsort" --ranks 3 -o out.%r over/in.%r
rm over/in.2 && cp in over/in.2 && mv over/in.0 over/in.3 && ln over/in.3 over/in.0 && mv over/in.3 over/e2/res
refuses "output of a rank = its own input" 2 "output 'over/e0/res' of rank 0 is the same file as input 'over/in.0' of rank 0" \
  "$hetsort" -f --ranks 3 --manifest out.m -o over/e%r/res over/in.%r
rm over/d0/res && ln -f over/in.1 over/d2/res && ln -sfn d2 over/e2
refuses "output of one rank = input of another" 2 "output 'over/e2/res' of rank 2 is the same file as input 'over/in.1' of rank 1" \
  "$hetsort" -f --ranks 3 --manifest out.m -o over/e%r/res over/in.%r
refuses "manifest = input" 2 "manifest 'over/in.1' is the same file as input 'over/in.1' of rank 1" \
  "$hetsort" -f --ranks 3 -o out.%r --manifest over/in.1 over/in.%r
ln -s nowhere dangling
refuses "output is a symlink" 2 "output 'dangling' is a symbolic link" "$hetsort" -f -o dangling in
ok "the input is as it was" test "$(head -c 150 in | cksum)" = "$(cksum <short)"
refuses "%r for some inputs only" 2 "either all inputs must have %r" "$hetsort" -o out in in.%r
refuses "unknown % directive" 2 "name 'out.%r.%d': only r (the rank) or % may follow %" "$hetsort" -o out.%r.%d in
refuses "standard output of several ranks" 2 "standard output is a stream: a stream needs a single rank, not 2" "$hetsort" --ranks 2 -o - in
refuses "manifest of a stream" 2 "--manifest requires an output that is a file" "$hetsort" --manifest m -o - in

refuses "a launcher's processes that do not know of each other" 2 \
  "SLURM_STEP_NUM_TASKS says that 4 processes were started, but MPI joins 1" \
  env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=4 "$hetsort" --ranks 4 -o out in
sorts "in a batch script" 1000 env SLURM_NTASKS=4 SLURM_PROCID=0 "$hetsort" -o out in
sorts "as the only task of a step" 1000 env SLURM_STEP_NUM_TASKS=1 "$hetsort" -o out in

# --- refusals: options and numbers
for words in "-o out" --check --explain; do
  # shellcheck disable=SC2086  # words
  refuses "no input, a launcher, $words" 2 "no input file is named; use - for standard input"$'\n' env PMIX_RANK=0 "$hetsort" $words
done
refuses "no output, a launcher" 2 "no output is named; use -o FILE"$'\n' env PMIX_RANK=0 "$hetsort" in
refuses "no output, several ranks" 2 "standard output is a stream: a stream needs a single rank, not 2" "$hetsort" --ranks 2 in
refuses "no output, and an input as standard output" 2 "standard output is the same file as input 'in'" sh -c '"$0" in >>in' "$hetsort"
refuses "no output, a manifest" 2 "--manifest requires an output that is a file" "$hetsort" --manifest m in
refuses "no input, the output is standard input" 2 "output 'in' is the same file as standard input" sh -c '"$0" -f -o in <in' "$hetsort"
refuses "no input, --explain" 2 "cannot know the size of standard input" sh -c '"$0" --explain <in' "$hetsort"
refuses "no manifest" 2 "no manifest is named" "$hetsort" --check-manifest
refuses "unknown option" 2 "unknown option '--frobnicate'"$'\n' "$hetsort" --frobnicate -o out in
refuses "option that is nearly one" 2 "unknown option '--strategi=merge' (did you mean --strategy?)" \
  "$hetsort" --strategi=merge -o out in
refuses "two letters missing" 2 "unknown option '--sped' (did you mean --speeds?)" "$hetsort" --sped 1,2 -o out in
refuses "option that is far from all" 2 "unknown option '--0000" "$hetsort" "--$(printf '%099d' 0)" -o out in
refuses "letters exchanged" 2 "unknown option '--froce' (did you mean --force?)" "$hetsort" --froce -o out in
refuses "ambiguous option" 2 "ambiguous option: --exchange-threads or --explain"$'\n' "$hetsort" --ex -o out in
refuses "option that begins three" 2 "ambiguous option: --report, --record-size, --records, --reverse or --resume" "$hetsort" --re -o out in
refuses "unknown letter among others" 2 "unknown option '-x'" "$hetsort" --force in -xv -o out
while IFS=: read -r option instead; do
  refuses "of sort(1): $option" 2 ": $instead" "$hetsort" "$option" -o out in
done <<'END'
-k1,2:fields have a place in bytes: --key
-n:numbers have a type: --key OFFSET,TYPE
-t,:fields have a place in bytes: --key
-z:records have a length and no end: --record-size
-b:keys are bytes and binary numbers
-d:keys are bytes and binary numbers
--numeric-sort:numbers have a type
--batch-size=16:all inputs are merged at once
--compress-program=gzip:temporary files are not compressed
--debug:--explain prints the plan
END
"$hetsort" -o in.order in || exit 1
for word in silent quiet diagnose-first; do
  run "$hetsort" --check=$word in.order
  is "of sort(1): --check=$word, in order" "$rc $err" "0 "
done
for word in silent quiet; do
  run "$hetsort" --check=$word in
  is "of sort(1): --check=$word, not in order" "$rc $err" "1 "
done
refuses "of sort(1): --check=diagnose-first, not in order" 1 "record 2 of 'in' is out of order" "$hetsort" --check=diagnose-first in
refuses "--check with another word" 2 "'loud' for --check: must be empty or one of silent, quiet, diagnose-first" \
  "$hetsort" --check=loud in
rm in.order
refuses "of sort(1): an alias counts as the option" 2 "--threads is given twice" "$hetsort" --threads 1 --parallel 2 -o out in
refuses "of sort(1): an alias among others" 2 "ambiguous option: --partition-only, --plan, --progress or --parallel" "$hetsort" --p 2 -o out in
mkdir tmp
sorts "of sort(1): -s -S -T --parallel" 1000 "$hetsort" -s -S 100M -T tmp -T . --parallel=2 -o out in
sorts "of sort(1): long names" 1000 "$hetsort" --buffer-size 100M --temporary-directory=tmp --stable --output=out in
refuses "option given twice" 2 "--record-size is given twice" "$hetsort" --record-size 100 --record-size 20 -o out in
refuses "option given twice, by letter and name" 2 "--output is given twice" "$hetsort" -o out in --output=out2
refuses "option given twice, abbreviated, and alike" 2 "--threads is given twice" "$hetsort" --thr 1 --threads=1 -o out in
refuses "option given twice, once by a word" 2 "--speeds is given twice" "$hetsort" --speeds auto --speeds 1 -o out in
sorts "switches given twice" 1000 "$hetsort" -q -q -f -f --stable -s --no-fsync --no-fsync -o out in
sorts "abbreviated option" 1000 "$hetsort" --strat merge -o out in
refuses "quiet and verbose" 2 "--verbose and --quiet exclude each other" "$hetsort" -q -o out -v in
refuses "two things instead of sorting" 2 "--clean and --check-manifest exclude each other" \
  "$hetsort" --check-manifest --clean in
touch .hetsort-out.0123456789abcdef.tmp
run "$hetsort" --clean --explain out
is "--explain removes nothing" "$rc/$(ls .hetsort-*)" 2/.hetsort-out.0123456789abcdef.tmp
rm .hetsort-out.*
refuses "option without its argument" 2 "option '-o' takes an argument" "$hetsort" in -o
refuses "long option without its argument" 2 "option '--key' takes an argument" "$hetsort" in --key
refuses "argument of an option that takes none" 2 "option '--force=3' takes no argument" "$hetsort" --force=3 -o out in
for bad in 0 -1 1.5 x '' ' 4' 99999999999999999999 0x10; do
  refuses "--ranks='$bad'" 2 "for --ranks: must be a whole number from 1 to 65536" \
    "$hetsort" --ranks "$bad" -o out in
  refuses "--record-size='$bad'" 2 "invalid argument '$bad' for --record-size: " "$hetsort" --record-size "$bad" -o out in
done
refuses "--record-size beyond its bounds" 2 "must be a size from 1 B to 64 KiB" "$hetsort" --record-size 65K -o out in
refuses "--max-message in another unit" 2 "for --max-message: units are" "$hetsort" --max-message 1X -o out in
sorts "--threads=0: as without it" 1000 "$hetsort" --threads 0 -o out in
sorts "sizes with units" 1000 "$hetsort" --record-size 0.1kb --max-message 1k --memory 1g -o out in
for bad in 10 a,b -1,5 ','; do
  refuses "--key='$bad'" 2 "for --key: a key must be OFFSET,LENGTH in bytes" "$hetsort" --key "$bad" -o out in
done
refuses "--key='0,0'" 2 "for --key: OFFSET and LENGTH must be less than 64K, LENGTH at least 1" "$hetsort" --key 0,0 -o out in
for bad in 0,10,5 0,x 0,4,u128 0,u64,up; do
  refuses "--key='$bad'" 2 "invalid argument '$bad' for --key: a type is one of bytes, u8 to u64" "$hetsort" --key "$bad" -o out in
done
refuses "--key: a length that the type does not have" 2 "'0,4,f64' for --key: the length does not match the type" \
  "$hetsort" --key 0,4,f64 -o out in
for bad in 0,0 0,4294967300 4294967300,8 0,18446744073709551617 0,65537; do
  refuses "--key='$bad'" 2 "'$bad' for --key: OFFSET and LENGTH must be less than 64K" "$hetsort" --key "$bad" -o out in
done
sorts "--key: zeros before a number" 1000 "$hetsort" --key 0000000000,00000010 -o out in
refuses "--key: fields that are too many" 2 "for --key: a key has at most 16 fields" "$hetsort" --key=0,1{,,,,,,,,,,,,,,,,} -o out in
refuses "--key: a field beyond the record" 2 "field 2 of the key, bytes 93 to 100, does not fit a record of 100 bytes" \
  "$hetsort" --key 0,4 --key 93,u64 -o out in
refuses "--key: fields that are too long" 2 "the key has 300 bytes: a key of more than 256 bytes must be one piece of ascending bytes" \
  "$hetsort" --record-size 1000 --key 0,100 --key 200,200 -o out in
refuses "key beyond the record" 2 "the key, bytes 95 to 104, does not fit" "$hetsort" --key 95,10 -o out in
refuses "--exchange-threads=3" 2 "from 0 to 2" "$hetsort" --exchange-threads 3 -o out in
refuses "--plan" 2 "must be one of equal, linear, nlogn, taylor, asymptotic, online" "$hetsort" --plan best -o out in
refuses "--scatter without --source" 2 "requires --source=root" "$hetsort" --scatter equal -o out in
refuses "--links of inputs that are sorted" 2 "--links cannot be combined with --merge" "$hetsort" --merge --links 1 -o out in
refuses "--disks of inputs that are sorted" 2 "--disks cannot be combined with --merge" "$hetsort" --merge --disks 1 -o out in
refuses "zero disk" 2 "disks '1,0': '0' is not a valid disk: it must be" "$hetsort" --ranks 2 --disks 1,0 -o out in
refuses "too few links of the exchange" 2 "links '1,2': 2 given, but there are 3 ranks" \
  "$hetsort" --ranks 3 --links 1,2 -o out in
refuses "--scatter" 2 "must be one of equal, speed, balanced, dynamic" "$hetsort" --source root --scatter all -o out in
refuses "--source" 2 "must be one of all, root" "$hetsort" --source rank1 -o out in
refuses "--stable of chunks on request" 2 "--stable cannot be combined with --scatter=dynamic, which does not keep the order" \
  "$hetsort" --ranks 2 --source root --scatter dynamic --stable -o out in
refuses "--source=root of a file a rank" 2 "its name must not have %r" \
  "$hetsort" --ranks 2 --source root -o out in.%r
refuses "too few links" 2 "links '1,2': 2 given, but there are 3 ranks" \
  "$hetsort" --ranks 3 --source root --links 1,2 -o out in
refuses "zero link" 2 "links '1,0': '0' is not a valid link: it must be" \
  "$hetsort" --ranks 2 --source root --links 1,0 -o out in
refuses "--strategy" 2 "must be one of merge, distribute" "$hetsort" --strategy hope -o out in
for bad in 1,0 0,1 -1,1 1,nan inf,1 1,1e999 1,x 1,,1 '1,1,' ',1,1' '1;1'; do
  refuses "--speeds=$bad" 2 "" "$hetsort" --ranks 2 --speeds "$bad" -o out in
done
refuses "too few speeds" 2 "'1,2': 2 given, but there are 3 ranks" \
  "$hetsort" --ranks 3 --speeds 1,2 -o out in
refuses "zero speed" 2 "speeds '1,0': '0' is not a valid speed: it must be from 1e-30 to 1e30" \
  "$hetsort" --ranks 2 --speeds 1,0 -o out in
for bad in 1,x x,1; do # not: no such file
  refuses "word among speeds, $bad" 2 "speeds '$bad': '" "$hetsort" --ranks 2 --speeds $bad -o out in
  refuses "word among links, $bad" 2 "is not a valid link: it must be a number" \
    "$hetsort" --ranks 2 --source root --links $bad -o out in
done
refuses "missing speeds file that begins with a digit" 2 "'1.txt' is not a valid speed: it must be a number, or the name of a file" \
  "$hetsort" --ranks 2 --speeds 1.txt -o out in
refuses "negative speed" 2 "speeds '-1,1': '-1' is not a valid speed: it must be from 1e-30 to 1e30" \
  "$hetsort" --ranks 2 --speeds=-1,1 -o out in
printf '1\nfast\n' >badspeeds
refuses "word in a speeds file" 2 "'badspeeds', line 2: 'fast' is not a valid speed" \
  "$hetsort" --ranks 2 --speeds badspeeds -o out in
refuses_hosts() { # refuses_hosts NAME MESSAGE TEXT
  printf '%b' "$3" >badhosts
  refuses "$1" 2 "speeds 'badhosts'$2" "$hetsort" --ranks 2 --speeds badhosts -o out in
}
me=$(hostname)
printf 'name, speed,latency\n%s,1,0.5\n' "$me" >hosts.csv
run timeout 60 "$hetsort" --ranks 2 --speeds hosts.csv --explain in
is "a speeds file as hetplan has it" "$rc $err" "0 "
printf 'name,disk,speed,link\n%s.example,100,1,0.5\n' "$me" >hosts.csv
for option in speeds disks links; do
  run timeout 60 "$hetsort" --ranks 2 --$option hosts.csv --explain in
  is "--$option: a name with a domain, for a host without it" "$rc $err" "0 "
done
refuses_hosts "columns in another order" ", line 1: 'name' is not a valid speed" "speed,name\n1,$me\n"
refuses_hosts "host twice" ", line 3: host '$me' is listed twice" "$me 1\n\n$me 1\n"
refuses_hosts "unknown host" ", line 2: host 'no-such-host' has no rank; hosts with ranks: '$me'" "$me 1\nno-such-host 1\n"
refuses_hosts "range without an end" ", line 1: host 'n[1-2' is not a range of hosts" "n[1-2 1\n"
refuses_hosts "host without a speed" ", line 1: host '$me' is not followed by a number" "$me\n1\n"
refuses_hosts "host with two speeds" ", line 1: host '$me' is followed by more than" "$me 1 2\n"
refuses_hosts "host with a bad speed" ", line 2: '0' is not a valid speed: it must be" "#\n$me 0\n"
refuses_hosts "host not named" ", line 2: host '' is not followed" "$me 1\n,1\n"
refuses_hosts "numbers before hosts" ", line 2: '$me' is not a valid speed" "1\n$me 1\n"
truncate -s 4194305 longspeeds
refuses "speeds file of more than 4 MiB" 2 "speeds file 'longspeeds' is larger than 4 MiB" \
  "$hetsort" --ranks 2 --speeds longspeeds -o out in
rm longspeeds
refuses "missing speeds file" 2 "cannot open speeds file 'nospeeds'" \
  "$hetsort" --ranks 2 --speeds nospeeds -o out in

# --- a full disk, if this user may mount one or has one
refuses "a device that is full" 4 "cannot write '/dev/full': No space left on device" "$hetsort" -o /dev/full in
# shellcheck disable=SC2016  # expanded by the inner shell
on_small_tmpfs='mkdir -p small && mount -t tmpfs -o size=64k none small || exit 77
  "$0" -o small/out both; rc=$?; ls -A small; exit $rc'
if [ "$(id -u)" -eq 0 ]; then own_mounts="unshare -m"; else own_mounts="unshare -rm"; fi
run $own_mounts sh -c "$on_small_tmpfs" "$hetsort"
if [ "$rc" -ne 77 ] && [ "$rc" -ne 1 ]; then # 77, 1: not allowed to mount here
  is "full tmpfs: exit code" "$rc" 4
  is "full tmpfs: nothing left in it" "$out" ""
  case $err in *"No space left on device"*) ok "full tmpfs: message" true ;;
  *) is "full tmpfs: message" "$err" "No space left on device" ;; esac
fi
refuses "a plan that cannot be printed" 3 "hetsort: cannot write to standard output" \
  sh -c '"$0" --explain -o out in >/dev/full' "$hetsort"
run sh -c '"$0" -o - in >/dev/full' "$hetsort"
is "full standard output: exit code" "$rc" 4
(ulimit -f 16; run "$hetsort" -o out both; echo "$rc" >code; echo "$err" >message)
is "file size limit: exit code" "$(cat code)" 4
ok "file size limit: message" grep -q "File too large" message
ok "file size limit: nothing written" nothing_written

# --- help, version and tables
run "$hetsort" --version
is "--version" "$rc ${out%%$'\n'*}" "0 hetsort $(cat "$ROOT/VERSION")"
run "$hetsort" --help
is "--help: exit code" "$rc" 0
is "--help: no line is longer than 80 columns" "$(grep -E '.{81}' <<<"$out")" ""
ok "--help: usage" test "${out%%$'\n'*}" = "Usage: hetsort [OPTION]... [-o OUTPUT] [INPUT]..."
ok "--help: at most 75 lines" test "$(wc -l <<<"$out")" -le 75
is "--help: each option is in the manual, in the same order" \
  "$(sed -n '/^\.Sh OPTIONS/,/^\.Sh ENV/p' "$ROOT/sort/man/hetsort.1" | sed -n 's/^\.It.*Fl \\-\([a-z0-9\-]*\).*/\1/p' | tr -cd 'a-z0-9\n-')" \
  "$(sed -nE 's/^  (-[a-zA-Z], |    )--([a-z0-9-]+).*/\2/p' <<<"$out")"
if command -v mandoc >/dev/null; then # as many lines as there are ways to call it
  synopsis=$(mandoc -T ascii -O width=80 "$ROOT/sort/man/hetsort.1" | sed 's/.\x08//g' | sed -n '/^SYNOPSIS/,/^QUICK/p')
  is "manual: the synopsis" "$(grep -c hetsort <<<"$synopsis")" 5
  ok "manual: mpirun and hetsort are one command" grep -q "mpirun -n ranks hetsort" <<<"$synopsis"
fi
run sh -c '"$0" --help >/dev/full' "$hetsort"
is "--help on a full disk" "$rc $err" "3 hetsort: cannot write to standard output"
run "$hetsort" -v -o out in
ok "-v: table" grep -q "^ rank host" <<<"$err"
lines() { # lines WORD - the headings and rows of a table of -v
  awk -v w="$1" '$1 ~ /^ranks?$/ && $2 == "host" {on = index($0, w) > 0} /^total/ {on = 0} on' <<<"$err"
}
table_fits() { # table_fits RANKS OPTION...
  local ranks=$1; shift
  rm -f out
  run "$hetsort" -v --ranks "$ranks" "$@" -o out in
  is "-v, $ranks ranks: exit code" "$rc" 0
  is "-v, $ranks ranks: tables in 80 columns" "$( (lines "took s"; lines busy) | awk 'length > 80')" ""
  ok "-v, $ranks ranks: predicted next to taken" grep -q "need MB used MB need s took s$" <<<"$err"
  is "-v, $ranks ranks: only the shares are a plan" "$(grep -w plan <<<"$err")" "$(grep -E '^[0-9]+ ranks \(threads\), plan nlogn, strategy merge$' <<<"$err")"
}
table_fits 3 --speeds 1,2,3.25
is "-v, 3 ranks: a row each" "$(lines "took s" | wc -l)/$(lines busy | wc -l)" 4/4
is "-v: nothing spilled" "$(grep -c spilled <<<"$err")" 0
used='[0-9.]+ core-seconds, [0-9.]+ per GB, [0-9]+ % of [0-9.]+ processors?; bound by the (disk|memory|processor)'
ok "-v: the resources used" grep -qxE "$used" <<<"$err"
ok "-v: they are shown in README.md" grep -qE "\`$used\`" "$ROOT/README.md"
ls -d /sys/class/powercap/intel-rapl:* /sys/class/hwmon/* >/dev/null 2>&1 || # ls fails if one is missing
  is "-v: no energy where no counter exists" "$(grep -c '^energy' <<<"$err")" 0
table_fits 16
is "-v, 16 ranks: a row each" "$(lines busy | wc -l)" 17
table_fits 17
is "-v, 17 ranks: grouped" "$(lines busy | awk '$1 == 17 {print $2}' | paste -sd' ')" "least median most"
ok "-v, 17 ranks: the busiest" grep -q '^the busiest rank, [0-9]*:$' <<<"$err"
least_most() { lines "took s" | awk '$1 == 17 {v[$2] = $NF} END {exit !(v["least"] <= v["median"] && v["median"] <= v["most"] && v["most"] > 0)}'; }
ok "-v, 17 ranks: in order" least_most
"$gensort" --no-fsync 30000 spilling && rm out
run "$hetsort" -v --memory 3M -o out spilling
ok "-v prints that it spilled" grep -q '^spilled\( to disk\)\?: 3.00 MB in [0-9]* runs, by 1 of 1 rank$' <<<"$err"
mkdir counted && printf x >counted/one
run "$hetsort" --record-size 1 --workdir counted -v -o counted/out counted/one
is "-v counts one by one" "$rc/$(grep -c '^1 record of 1 byte (1 B)' <<<"$err")/$(grep -c ' in 1 run, by 1 of 1 rank$' <<<"$err")" 0/1/1
rm -r counted
rm out spilling
"$hetsort" -o out in
run "$hetsort" -o out in
is "one rank: a message without rank, host and phase" "$err" "hetsort: output 'out' exists; use --force to replace it"
ok "-v: nothing of adapting unasked" test "$(grep -c adapt <<<"$err")" = 0
rm -f out
run "$hetsort" -v --adapt --ranks 3 --report report.json -o out in
ok "--adapt: printed" grep -q '^adapt: output shares [a-z: ]*$' <<<"$err"
is "--adapt: a line a rank" "$(grep -c '^rank [012]: speed .* while reading, assumed 1; writes [0-9]*' <<<"$err")" 3
run "$hetsort" -f -v --adapt --resume --workdir "$TEST_TMP/kept" --ranks 20 -o many in
is "-v, 20 ranks: what --adapt and --resume did, of all in a line each" \
  "$(grep -cE '^speeds [0-9.e+-]+ to [0-9.e+-]+ while reading; [0-9]+ ranks? writes? more than planned, [0-9]+ less$' <<<"$err")/$(
    grep -c '^20 ranks: 0 of 20 runs found, 0 B of 100 kB not read again$' <<<"$err")/$(grep -cE '.{81}' <<<"$err")" 1/1/0
rm -r many kept
ok "the resources used: reported" awk '
  $1 == "\"use\":" {use = 1}
  $1 == "\"core_s\":" {core = $2 + 0}
  $1 == "\"minor_faults\":" && use {faults = $2 + 0; use = 0}
  $1 == "\"bound\":" {bound = $2}
  $1 == "\"user_s\":" {ranks++}
  END {exit !(core > 0 && faults > 0 && bound ~ /^"(disk|memory|processor)"/ && ranks == 3)}' report.json
ok "--adapt: reported" grep -q '"shares": "\(kept\|changed\|no room\)"' report.json
is "--adapt: shares before, and speeds" \
  "$(grep -c '"planned_out_before": 33[34]' report.json)/$(grep -c '"speed_seen":' report.json)" 3/3
moving() { awk -F'[:,]' '/"move_s"/ {n++; some += $2 > 0} END {print n "/" some}' report.json; }
is "reported: threads move blocks" "$(moving)" 3/0
run "$hetsort" -q -f --ranks 3 --exchange-threads 0 --report report.json -o out in
is "or else the one that merges" "$(moving)" 3/3
ok "reported: when all had read" awk -F'[:,]' '/"total_s"/ {t = $2} /"all_read_s"/ {r = $2} END {exit !(r > 0 && r < t)}' report.json
rm -f out
run "$hetsort" -q -o out in
is "-q: silent" "$err" ""
rm -f out

run "$hetsort" --explain --ranks 2 --speeds 1,3 --plan linear --memory 64M in
is "--explain: exit code" "$rc" 0
is "--explain: shares" "$(awk '$1 == 0 || $1 == 1 {print $1, $4, $5}' <<<"$out" | paste -sd' ')" \
  "0 250 250 1 750 750"
ok "--explain: touches nothing" nothing_written
is "--explain: a limit, and where it comes from, once for ranks that are alike" \
  "$(grep -c '^rank [01]: .* of memory, limit 32 MiB$' <<<"$out")/$(grep -cx '  --memory: 64 MiB, for 2 ranks' <<<"$out")" 2/1
is "--explain: lines in 80 columns" "$(grep -E '.{81}' <<<"$out")" ""
run "$hetsort" --explain --ranks 3 --speeds 1,1,1 --source root --scatter balanced --links 1,100,0.0001 in
is "--explain: no share over a link that is too slow" "$(awk '$1 == 2 {print $4}' <<<"$out")" 0
ok "--explain: links" grep -q "scatter balanced; links in MB/s, as given: 100 0.0001" <<<"$out"
run "$hetsort" --explain --ranks 3 --speeds 1,1,0.667 --links 0.1,0.1,0.1 in
is "--explain: links that bind and are alike have equal shares, whatever the speeds" \
  "$(awk '$1 ~ /^[012]$/ && NF == 7 && $4 > 330 && $4 < 337 && $5 > 330 && $5 < 337 {print $7}' <<<"$out" | paste -sd' ')" \
  "link link link"
ok "--explain: links of the exchange" grep -qx "links in MB/s, as given: 0.1 0.1 0.1" <<<"$out"
run "$hetsort" --explain --ranks 2 --speeds 1,1 --disks 1,3 in
is "--explain: disks that bind; the input is in memory" "$(awk '$1 ~ /^[01]$/ && NF == 7 {print $4, $5, $7}' <<<"$out" | paste -sd';')" \
  "500 250 disk;500 750 disk"
run "$hetsort" --explain --ranks 3 --speeds 1,1,0.5 --links 1e6,1e6,1e6 --disks 1e6,1e6,1e6 in
fast=$(awk '$1 ~ /^[012]$/ && NF == 7 {print $4, $5, $7}' <<<"$out")
run "$hetsort" --explain --ranks 3 --speeds 1,1,0.5 in
is "--explain: links and disks that do not bind change no share" "$fast" \
  "$(awk '$1 ~ /^[012]$/ && NF == 7 {print $4, $5, $7}' <<<"$out")"
run "$hetsort" --explain --ranks 3 --plan linear --speeds 1,1,0.5 --links 0.1,0.1,0.1 in
is "--explain: --plan=linear is in proportion, whatever the links" \
  "$(awk '$1 ~ /^[012]$/ && NF == 7 {print $4, $5}' <<<"$out" | paste -sd';')" "400 400;400 400;200 200"
here=$(hostname)
printf 'name,speed,link,disk\n%s,2,10,20\n' "$here" >columns
run "$hetsort" --explain --ranks 2 --speeds columns --links columns --disks columns in
is "--explain: a file whose columns are named" "$(grep -c '^links in MB/s, as given: 10 10$\|^disks in MB/s, as given: 20 20$' <<<"$out")" 2
rm columns
run "$hetsort" --explain --ranks 2 --speeds 1,3 --plan linear in
ok "--explain: nominal rates" grep -q "at the nominal rates" <<<"$out"
truncate -s 400M zeros
run "$hetsort" --explain --ranks 2 -o 'zeros.%r' zeros
ok "--explain: one host measures only if asked to" grep -q "at the nominal rates" <<<"$out"
rm zeros
run "$hetsort" --explain --ranks 2 --speeds auto in
ok "--speeds=auto --explain: says so" grep -q "^predicted makespan .* at measured rates" <<<"$out"
is "--speeds=auto --explain: three rates a rank" \
  "$(awk '/^measured rates/ {m = 1} m && $1 ~ /^[01]$/ && $3 > 0 && $4 > 0 && $5 > 0' <<<"$out" | wc -l)" 2
is "--speeds=auto --explain: threads are alike" "$(awk '/^measured/ {exit} $1 ~ /^[01]$/ {print $3, $4, $5}' <<<"$out" |
  uniq -c | tr -s ' ')" " 2 1 500 500"
# There is one model: --explain, its report and the report of the sort have the same values for each rank.
if command -v python3 >/dev/null; then
  like="--ranks 3 --speeds 1,2,4 --plan equal --verify reread --no-fsync --memory 64M"
  # shellcheck disable=SC2086  # several options
  run "$hetsort" $like --explain --report plan.json -o out in
  printf '%s\n' "$out" >plan
  # shellcheck disable=SC2086
  run "$hetsort" -q $like --report sorted.json -o out in
  is "seconds of the plan: --explain, its report, and the report of the sort" "$rc/$(python3 - 2>&1 <<'PY'
import json
planned, done = (json.load(open(f + ".json"))["ranks"] for f in ("plan", "sorted"))
rows = [line.split() for line in open("plan") if line.split()[:1] in (["0"], ["1"], ["2"])]
seconds = lambda r, *names: sum(s["planned_s"] for name, s in r["stages"].items() if not names or name in names)
for row, p, d in zip(rows, planned, done):
    for r in p, d:  # the prediction includes a fiftieth of a second to start, and the time measured until the plan
        begun = r["predicted_s"] - seconds(r) - 0.02
        print(-1e-9 < begun <= r["phases_s"]["describe"] + r["phases_s"]["plan"] + 1e-9, end=" ")
    print(abs(float(row[5]) - p["predicted_s"]) <= 0.000501, end=" ")
    print(abs(seconds(p, "write", "check") - seconds(d, "write", "check")) < 1e-9, "check" in d["stages"])
print(len({seconds(p, "write") for p in planned}))
PY
  )" "0/True True True True True
True True True True True
True True True True True
3"
  rm -f out plan plan.json sorted.json
  # More threads read than compute, so their time on keys is not the elapsed time.
  "$gensort" 400000 cached
  run "$hetsort" -q --threads 1 --no-fsync --report cached.json -o out cached
  is "no phase takes less than nothing, with an input in the page cache" "$rc/$(python3 -c '
import json
print([p for r in json.load(open("cached.json"))["ranks"] for p, s in r["phases_s"].items() if s < 0])')" "0/[]"
  rm -f cached cached.json out
fi
refuses "--explain of standard input" 2 "cannot know the size" "$hetsort" --explain -

run "$hetsort" --report report.json -o out in
cp expected in_order
"$hetsort" --ranks 4 --report moved.json -o out in_order
is "sorted input: nothing is sent to other ranks" "$(grep -o '"sent": [0-9][0-9]*' moved.json | sort -u)" '"sent": 0'
rm -f out
ok "report: status" grep -q '"status": "ok"' report.json
ok "report: records" grep -q '"records": 1000' report.json
rm -f out
run "$hetsort" --report report.json -o out short
is "report on failure: exit code" "$rc" 2
ok "report on failure: status" grep -q '"status": "refused"' report.json
ok "report on failure: message" grep -q '"message": "input .short. has 150 bytes' report.json
rm -f out

done_testing
