#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Bits of memory flip while 200 MB are sorted: one bit per sort, anywhere in the memory that the process may write, at any
# time. An output must not be wrong with status 0. The only exceptions are the windows that SECURITY.md names, before
# the checksum of the input and after the checksum of the output: there one record differs by that one bit only.
# FLIPS: number of flips [500]   SEED: of random numbers. The results still depend on the load of the machine.
# shellcheck disable=SC2059  # an octal escape belongs into the format
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
fast=$(mktemp -d -p /dev/shm 2>/dev/null) && cd "$fast" && trap 'rm -rf "$fast"' EXIT
records=2000000
RANDOM=${SEED:=$$}
echo "# SEED=$SEED"
"$BIN/gensort" --no-fsync $records in && "$BIN/hetsort" --no-fsync -o expected in || exit 1

begin() { # begin RANKS - start a sort; set job
  "$BIN/hetsort" -f --no-fsync --threads 2 --ranks "$1" -o out in 2>messages &
  job=$!
}
address() { # address - print a random address in the writable private memory of the job
  local range mode rest lo hi sum=0 at
  local -a los=() sizes=()
  while read -r range mode rest; do
    [ "$mode" = rw-p ] || continue
    lo=$((16#${range%-*})) hi=$((16#${range#*-}))
    los+=("$lo") sizes+=($((hi - lo)))
    sum=$((sum + hi - lo))
  done <"/proc/$job/maps"
  [ $sum -gt 0 ] || return 1
  at=$(((RANDOM << 45 | RANDOM << 30 | RANDOM << 15 | RANDOM) % sum))
  for rest in "${!los[@]}"; do
    if [ $at -lt "${sizes[rest]}" ]; then echo $((los[rest] + at)); return 0; fi
    at=$((at - sizes[rest]))
  done
}
flip() { # flip - flip a bit of the job while it is stopped
  local at byte
  kill -STOP $job 2>/dev/null && at=$(address 2>/dev/null) &&
    byte=$(dd if="/proc/$job/mem" bs=1 skip="$at" count=1 2>/dev/null | od -A n -t u1) && [ -n "$byte" ] &&
    printf "\\$(printf %o $((byte ^ 1 << RANDOM % 8)))" |
    dd of="/proc/$job/mem" bs=1 seek="$at" conv=notrunc 2>/dev/null
  local rc=$?
  kill -CONT $job 2>/dev/null
  return $rc
}
one_bit() { # one_bit - return whether out and expected differ in one bit of one record, at any place
  local -a differ
  local i a b bits=0
  mapfile -t differ < <(comm -3 <(xxd -p -c 100 out | LC_ALL=C sort) <(xxd -p -c 100 expected | LC_ALL=C sort) | tr -d '\t ')
  [ ${#differ[@]} -eq 2 ] || return 1
  for ((i = 0; i < 200; i += 2)); do
    a=$((16#${differ[0]:i:2} ^ 16#${differ[1]:i:2}))
    for ((b = a; b; b >>= 1)); do bits=$((bits + (b & 1))); done
  done
  [ $bits -eq 1 ]
}

detected=0 harmless=0 crashed=0 inside=0 outside=0 struck=0
strike() { # strike - start a sort, flip a bit, and count the result
  begin $((struck % 2 ? 3 : 1))
  sleep "$(awk -v s="$whole_s" -v r="$RANDOM" 'BEGIN { print s * r / 32768 }')"
  if ! flip; then wait $job; return; fi # the job had ended
  wait $job
  local rc=$?
  struck=$((struck + 1))
  if [ $rc -gt 128 ]; then crashed=$((crashed + 1)); echo "# died of signal $((rc - 128)): $(head -n 1 messages)"
  elif [ $rc -ne 0 ]; then detected=$((detected + 1)); [ -s messages ] || { outside=$((outside + 1)); echo "# $rc, no message"; }
  elif cmp -s out expected; then harmless=$((harmless + 1))
  elif one_bit; then inside=$((inside + 1))
  else outside=$((outside + 1)); echo "# status 0 and $(cmp -l out expected | wc -l) bytes differ"
  fi
}

from=$EPOCHREALTIME
begin 1
wait $job
is "without a flip" "$?/$(cmp out expected)" 0/
whole_s=$(awk -v a="$from" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
begin 1
flip || skip_all "the memory of other processes cannot be written here"
wait $job
for ((tries = 0; struck < ${FLIPS:-500} && tries < 3 * ${FLIPS:-500}; tries++)); do strike 2>/dev/null; done
echo "# $struck flips: $detected detected, $harmless harmless, $crashed died of a signal, $inside not detected in the" \
  "windows, $outside not detected elsewhere"
ok "flips struck" test $struck -gt $((${FLIPS:-500} / 2))
ok "some were detected" test $detected -gt 0
is "wrong with status 0, not in the windows" $outside 0
done_testing
