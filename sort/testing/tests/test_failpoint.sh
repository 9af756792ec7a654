#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Failpoints: the installed program has none, their grammar is strict, and a sample of them keeps all promises. Ranks are
# threads here; in mpi_faults.sh they are processes.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 1000 in && "$BIN/hetsort" -o expected in || exit 1

ok "hetsort has no failpoints" test -z "$(nm "$BIN/hetsort" | grep -v -E ' [Uw] |__gcov|__wrap_(_exit|raise|kill|MPI_Abort)$' | grep -i -E 'fail_|__wrap_')"
ok "bin/failpoints/hetsort has failpoints" test -n "$(nm "$hetsort" | grep -i -E ' t fail_plan$')"
HETSORT_FAIL=alloc:1 run "$BIN/hetsort" -o out in
is "hetsort ignores HETSORT_FAIL" "$rc" 0
rm -f out

for bad in x alloc alloc: alloc:0 alloc:-1 alloc:1x 'alloc:1,' ',alloc:1' 'alloc:1,,comm:1' file:1=EPONY alloc:1=EIO \
  alloc:1@rank alloc:1@rankx flip@:1 flip@sent flip@sent:1=2 flip@heard:1=x kill@merge kill@:1 kill@merge:x delay@read:0 delay@read:0=x \
  comm:99999999999999999999 kill@averyveryverylongphase:1 file:1@in file:1@inaveryveryverylongphase 'file:1@in,'; do
  HETSORT_FAIL=$bad run "$hetsort" -o out in
  is "refused: HETSORT_FAIL=$bad" "$rc/$(grep -c 'HETSORT_FAIL: cannot read the point at' <<<"$err")" 2/1
done

if [ "${SANITIZER:-coverage}" = coverage ]; then # the shim and the sanitizers replace the same calls
  for bad in x open:1 read: read:x read=EPONY read:1=5 read:1@rank read:1@1 'read:1,,write' short2 slow; do
    HETSORT_SHIM=$bad LD_PRELOAD=$OBJ/shim.so run "$BIN/hetsort" -o out in
    is "refused: HETSORT_SHIM=$bad" "$rc/$(grep -c 'HETSORT_SHIM: cannot read the point at' <<<"$err")" 99/1
  done
  HETSORT_SHIM=write:2=kill LD_PRELOAD=$OBJ/shim.so run "$BIN/hetsort" -o out in
  is "the shim kills" "$rc/$(ls out 2>/dev/null)" 137/
  HETSORT_SHIM=read:1=short,write:2=short LD_PRELOAD=$OBJ/shim.so run "$BIN/hetsort" -o out in
  is "several short calls do no harm" "$rc/$(cmp out expected)" 0/
  rm -f out .hetsort-*
fi

# fails PLAN CODE WORDS ARGUMENT...
fails() {
  local plan=$1 code=$2 words=$3; shift 3
  HETSORT_FAIL=$plan run timeout -s KILL 60 "$hetsort" "$@" -o out in
  is "$plan: exit code, output" "$rc/$(ls out 2>/dev/null)" "$code/"
  case $err in *"$words"*) ok "$plan: message" true ;; *) is "$plan: message" "$err" "...$words..." ;; esac
}
for phase in describe plan read sample split merge exchange write sync commit; do
  fails "kill@$phase:1" 137 "" --ranks 3
  rm -f .hetsort-* # files of a killed program have such names
done
fails file:1=kill@incommit 137 "" --ranks 3
rm -f .hetsort-*
fails file:1=EXDEV@rank0@incommit 3 "finishing: " --ranks 3
fails kill@sort:2 137 "" --ranks 3 --strategy distribute
rm -f .hetsort-*
fails comm:20@rank2 5 "hetsort: rank 2, " --ranks 3
rm -f .hetsort-*
fails alloc:12@rank1 4 "hetsort: rank 1, " --ranks 3
for n in $(seq 40); do # no memory is needed to print why a rank gave up
  HETSORT_FAIL=flip@heard:5@rank0,alloc:$n@rank0 run "$hetsort" --threads 1 -o out in
  case $rc/$err in [45]/*": no memory for "* | 4/*"cannot start thread"* | 5/*"a message from rank 0 arrived damaged") ;; *) unsaid+=" $n: $rc/$err" ;; esac
done
is "a failing allocation, and a damaged message: each is named" "${unsaid:-}" ""
framed=("$hetsort" --threads 1 --skip-header 100 --skip-trailer 100 --verify reread --no-fsync -f -o out in)
"${framed[@]}" && mv out framed.expected
for n in $(seq 200); do
  HETSORT_FAIL=alloc:$n run "${framed[@]}"
  case $rc/$err in 4/*": no memory for "*) framed_failed=$n ;; 0/) cmp -s out framed.expected || unframed+=" $n: wrong" ;; *) unframed+=" $n: $rc/$err" ;; esac
done
is "a failing allocation, header and trailer: each is named" "${unframed:-}" ""
ok "a failing allocation, header and trailer: some, and not the last" test "${framed_failed:-200}" -lt 200
rm -f out
for n in $(seq 12 23); do # rank 2 refuses, and then the ranks cannot agree to refuse
  HETSORT_FAIL=file:4@rank2,flip@heard:$n@rank2 run "$hetsort" --ranks 3 -o out - <in
  case $rc/$err in 5/"hetsort: rank "[0-2]", "*) ;; *) unnamed+=" $n: $rc/$err" ;; esac
done
is "a refusal of a rank, and a damaged message: rank and phase are named" "${unnamed:-}" ""
# wrong numbers of records that are kept; only in memory can a file have the size that they claim
shm=$(mktemp -d /dev/shm/hetsort-lies.XXXXXX 2>/dev/null) || shm=$PWD
"$BIN/hetsort" -o first <(head -c 50000 in) && "$BIN/hetsort" -o second <(tail -c 50000 in)
for n in $(seq 50 80); do
  HETSORT_FAIL=lie:$n@rank0 run timeout -s KILL 60 "$hetsort" --merge --ranks 3 --unique --timeout 3 -f -o "$shm/lies" first second
  [ "$rc" -ne 0 ] || cmp -s "$shm/lies" expected || wrong+=" $n"
done
is "wrong numbers of kept records: no output is wrong" "${wrong:-}" ""
[ "$shm" = "$PWD" ] || rm -r "$shm"
for at in 1=0@rank0 1=95@rank2 20=5@rank1 40=60@rank0 60@rank2 80@rank1; do # messages to that rank, or from it to rank 0
  rank=${at#*@rank}
  fails flip@heard:$at 5 "hetsort: rank " --ranks 3
  is "flip@heard:$at: the message names the rank; no file is left" \
    "$(grep -qE "^hetsort: rank $rank, [a-z]+: a message from rank [0-2] arrived damaged$|: a message from rank $rank arrived damaged$" <<<"$err" && echo named)/$(find . -name '.hetsort-*')" named/
done
for strategy in merge distribute; do
  for threads in 0 1 2; do
    fails flip@sent:1@rank2 1 "the output's checksum " --ranks 3 --strategy $strategy --exchange-threads $threads
  done
done
# The merged records are verified against the input: a flipped bit of a payload changes the checksum, a flipped bit of a
# key changes the order, at the border of two ranks too.
mv in aside
printf bcdefghijklmno >in
for ranks in 1 2; do
  fails flip@write:1 1 "the output's checksum " --ranks $ranks --record-size 14 --key 0,1
  fails flip@write:1@rank0 6 " out of order" --ranks $ranks --record-size 1 --key 0,1
done
printf op >in
fails flip@write:1@rank1 1 "rank 1's first key is smaller than the last key before it" --ranks 2 --record-size 1 --key 0,1
mv aside in
for scatter in balanced dynamic; do
  fails flip@sent:1@rank0 5 ", reading: block 0 from rank 0 to rank " --ranks 3 --source root --scatter $scatter \
    --speeds 0.01,1,1 --links 1,1000000,1000000
done
"$BIN/gensort" --no-fsync 50000 more && cp in few && mv more in
for block in 2 3 4; do
  fails flip@sent:$block@rank0 5 "hetsort: rank 1, reading: block $((block - 1)) from rank 0 to rank 1 came damaged" \
    --ranks 2 --source root --speeds 0.01,1 --links 1,1000000
done
mv few in
for what in version protocol order sizes layout; do
  case $what in order) name="byte order" ;; sizes) name="set of type sizes" ;;
    layout) name="record layout" ;; *) name=$what ;; esac
  fails differ@$what:1 5 "hetsort: rank 1, opening: it has another $name than rank 0: '" --ranks 3
done
fails lie:2@rank0 5 ", opening: it has another version than rank 0: '" --ranks 3 # noise
fails thread:3 4 "hetsort: cannot start thread 2 of 3" --ranks 3
HETSORT_FAIL=delay@read:1=0.2,file:12=short@rank0,file:14=short,file:16=short@rank2 run "$hetsort" --ranks 3 -o out in
is "delays and short calls do no harm" "$rc/$err/$(cmp -s out expected && echo same)" 0//same
rm -f out

(HETSORT_FAIL=stop@merge:1 exec "$hetsort" --ranks 3 -o out in) &
pid=$!
ok "stop@merge:1 stops it" await grep -q '^State:.T' "/proc/$pid/status"
kill -CONT $pid && wait $pid
is "stop@merge:1: the job continues after SIGCONT" "$?/$(cmp -s out expected && echo same)" 0/same
rm -f out

for n in 1 2 3 4 5; do # rank 0 fails in the plan while the others wait for it
  what="no memory for "
  [ $n -lt 3 ] || what="cannot plan the shares: no memory for "
  fails alloc:$n@rank0@inplan 4 "hetsort: rank 0, planning: $what" --ranks 5 --threads 1 --source root --speeds 1,3,3,2,1
done
for n in 1 2 3 4 5; do # the others wait in a collective, and leave it together with rank 1
  phase=planning
  [ $n -lt 2 ] || phase=reading
  fails alloc:$n@rank1@inplan 4 "hetsort: rank 1, $phase: no memory for " --ranks 3 --strategy distribute
done
for n in $(seq 22 36); do # one of these calls lists the states in the workdir
  mkdir work
  HETSORT_FAIL=file:$n=EMFILE run "$hetsort" --workdir work --resume -o out in
  is "file:$n=EMFILE, --workdir: the exit code and the reason" \
    "$(case $rc in 0) echo 0 ;; *) echo "$rc/$(grep -c ': Too many open files$' <<<"$err")" ;; esac)" "$( [ $rc = 0 ] && echo 0 || echo 4/1)"
  rm -rf work out
done
for n in $(seq 25 31); do # one of these messages contains the number of states
  mkdir work
  HETSORT_FAIL=kill@commit:0 run "$hetsort" --ranks 5 --workdir work -o out in
  HETSORT_FAIL=lie:$n@rank0 run timeout 60 "$hetsort" --ranks 3 --timeout 3 --workdir work --resume -o out in
  ok "lie:$n@rank0, resumed by fewer ranks: no state stays after success" [ "$rc" != 0 -o ! -e work/hetsort-rank3.json ]
  rm -rf work out .hetsort-*
done
for n in $(seq 17 22); do # the same on one rank, which names itself
  mkdir work
  HETSORT_FAIL=kill@commit:0 run "$hetsort" --workdir work -o out in
  HETSORT_FAIL=lie:$n run timeout 60 "$hetsort" --workdir work --resume -o out in
  is "lie:$n, one rank, resumed: it succeeds or names the message" \
    "$rc/$(grep -c -E '^hetsort: (the other ranks|a message of rank 0) ' <<<"$err")" "$([ "$rc" = 0 ] && echo 0/0 || echo 5/1)"
  rm -rf work out .hetsort-*
done
for n in $(seq 95 125); do # one of these messages is the last: the exit code of rank 0, if the job has failed
  HETSORT_FAIL=lie:$n@rank0 timeout 60 "$hetsort" --ranks 3 --timeout 3 -f -o out in
done >said 2>&1
is "no wrong last message is believed" "$(grep ', ending: ' said)" ""
rm -f out .hetsort-*
mkdir walk
run env TEST_TMP="$TEST_TMP/walk" "$BIN/failpoints/fault_walk" quick 1
grep -v -E '^(ok|not ok|1\.\.)' <<<"$out"
is "a sample of the walk: no promise is broken" "$rc/$(grep -c '^not ok' <<<"$out")" 0/0
ok "a sample of the walk: faults struck" test "$(grep -c -v ', 0 faults' <<<"$(grep '^ok' <<<"$out")")" -gt 50
mkdir sim
run env TEST_TMP="$TEST_TMP/sim" "$BIN/failpoints/fault_sim" 48 1
grep '^#' <<<"$out"
is "48 clusters from seeds" "$rc/$(grep -c '^ok' <<<"$out")" 0/4
done_testing
