#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --io: the same output by each method, in each strategy. Segments that fail, are short or find no ring are moved by
# calls; if these fail too, the message gives the place. A system without io_uring, a build without it.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort faulty=$BIN/failpoints/hetsort
"$BIN/gensort" --no-fsync 200000 in && "$hetsort" --io threads -o expected in || exit 1
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }
moved() { sed -n 's/.*"uring_bytes": \([0-9]*\).*/\1/p' report | awk "{ n += \$1 } END { print n }"; } # bytes moved by io_uring

run "$hetsort" --io sometimes -o out in
is "an unknown method" "$rc/$(head -n 1 <<<"$err")" \
  "2/hetsort: invalid argument 'sometimes' for --io: must be one of auto, uring, threads"

# a build without liburing
cat >bare.c <<'C'
#include "io/io_fd.h"
#include <stdio.h>
int main(void)
{
	err e = { ST_OK, "" };
	uring *u;
	printf("%d %s\n", uring_open(&u, URING_SEGMENT_BYTES, &e), e.text);
	return u != NULL || uring_move(u, 0, &(io_transfer){ .bytes = 1 }) != 0;
}
C
"${CC:-cc}" -D_GNU_SOURCE -std=gnu11 -iquote "$ROOT/sort" -o bare bare.c "$ROOT/sort/io/uring.c" "$ROOT/sort/base/status.c" -pthread
run ./bare
is "built without liburing" "$rc/$out" "0/2 this hetsort was built without io_uring (liburing)"

run "$hetsort" --io uring -o out in
if [ $rc -eq 2 ]; then
  ok "no io_uring here: refused with a reason" grep -q 'io_uring' <<<"$err"
  is "no io_uring here: no file is left" "$(left_over)" ""
  done_testing
fi
is "io_uring" "$rc/$err/$(cmp -s out expected && echo same)" "0//same"
rm -f out

mkdir spill
for mode in "--direct never" "--direct always" "--ranks 3" "--ranks 3 --strategy distribute" \
  "--ranks 2 --source root" "--memory 45M --tmpdir spill" "--memory 45M --tmpdir spill --direct never"; do
  # shellcheck disable=SC2086  # several words
  run "$hetsort" $mode --io uring --report report -o out in
  is "uring, $mode" "$rc/$err/$(cmp -s out expected && echo same)" "0//same"
  case $mode in *root*) least=15000000 ;; *) least=30000000 ;; esac # a scattered input is read in small blocks
  ok "uring, $mode: it moved most bytes" test "$(moved)" -gt $least
  rm -f out report
done
run "$hetsort" -v --io uring -o out in
ok "-v reports uring" grep -q '^rank 0: files read by uring, written by uring$' <<<"$err"
run "$hetsort" -v --force --io threads --report report -o out in
ok "-v reports threads" grep -q '^rank 0: files read by threads, written by threads$' <<<"$err"
is "threads: no byte by io_uring" "$(moved)" 0
run "$hetsort" --explain in
ok "--explain reports the method" grep -qx '  past the page cache by uring, unless a trial shows that threads are faster' <<<"$out"
run "$hetsort" --force --direct always --report report -o out in
ok "auto: io_uring writes past the page cache" test "$(moved)" -gt 12000000
run "$hetsort" --force --direct never --report report -o out in
is "auto: threads write through the page cache" "$(moved)" 0
rm -f out report

# faults: 200000 records are 20 segments in each direction
takes() { # takes PLAN ARGUMENT... - the sort succeeds without these segments
  local plan=$1; shift
  HETSORT_FAIL=$plan run timeout 60 "$faulty" --io uring --report report "$@" -o out in
  is "$plan, $*: sorted" "$rc/$err/$(cmp -s out expected && echo same)" "0//same"
  rm -f out
}
for mode in "--direct never" "--direct always" "--ranks 3"; do
  # shellcheck disable=SC2086
  {
    takes "" $mode
    all=$(moved)
    takes uring:1=short,uring:4=short,uring:5=short,uring:30=short $mode
    is "$mode: io_uring moves the rest of a short segment" "$(moved)" "$all"
    for plan in uring:1=EIO uring:7=EIO uring:9=EINTR uring:3=EAGAIN uring:30=ENOSPC; do
      takes $plan $mode
      ok "$plan, $mode: calls moved some bytes" test "$(moved)" -lt "$all"
    done
    case $mode in *3) takes ring:4=EMFILE,ring:5=ENOMEM $mode ;; *) takes ring:2=EMFILE $mode ;; esac
  }
done
rm -f report
for errno in "ENOSYS/Function not implemented" "EPERM/Operation not permitted"; do
  HETSORT_FAIL=ring:1=${errno%/*} run "$faulty" --io uring -o out in
  is "${errno%/*}: refused" "$rc/$(left_over)" 2/
  ok "${errno%/*}: the reason" grep -q "io_uring cannot be used here: ${errno#*/}$" <<<"$err"
  HETSORT_FAIL=ring:1=${errno%/*} run "$faulty" -v -o out in
  is "${errno%/*}: auto" "$rc/$(cmp -s out expected && echo same)" 0/same
  ok "${errno%/*}: auto gives the reason" grep -q "^  no uring: .*: ${errno#*/}$" <<<"$err"
  rm -f out
done
HETSORT_FAIL=ring:1=ENOMEM run "$faulty" --io uring -o out in
is "no memory for a ring: exit code, left over" "$rc/$(left_over)" 4/
ok "no memory for a ring: message" grep -q "io_uring cannot be used here: Cannot allocate memory$" <<<"$err"
HETSORT_FAIL=ring:2=EPERM@rank1 run "$faulty" --ranks 3 --io uring -o out in
is "one ring is missing on one rank" "$rc/$(cmp -s out expected && echo same)" "0/same"
rm -f out
HETSORT_FAIL=ring:1=EPERM@rank1 run "$faulty" --ranks 3 --io uring -o out in
is "no io_uring on one rank: all leave" "$rc/$(left_over)" 2/
ok "no io_uring on one rank: message" grep -q '^hetsort: rank 1: ' <<<"$err"

# blocking calls fail as well
if [ "${SANITIZER:-coverage}" = coverage ]; then # the shim and the sanitizers replace the same calls
  fails() { # fails PLAN SHIM CODE WORDS
    HETSORT_FAIL=$1 run env HETSORT_SHIM="$2" LD_PRELOAD="$OBJ/shim.so" timeout 60 "$faulty" --io uring \
      --direct never --threads 1 -o out in
    is "$1 and $2: exit code, left over" "$rc/$(left_over)" "$3/"
    ok "$1 and $2: message" grep -q "$4" <<<"$err"
  }
  fails uring:1=EIO read:1+=EIO 3 "cannot read 'in' at byte [0-9]*: Input/output error"
  fails uring:25=ENOSPC write:4+=ENOSPC 4 "cannot write 'out': No space left on device"
  fails uring:25=EIO write:4+=EIO 3 "cannot write 'out': Input/output error"
fi
done_testing
