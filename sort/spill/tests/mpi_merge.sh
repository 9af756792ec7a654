#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --merge with ranks that are processes: the output of one rank, and an input that is not sorted ends all of them.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 30001 noise || exit 1
head -c 700000 noise >in.a && tail -c +700001 noise >in.b
for f in a b; do "$hetsort" --no-fsync -o $f in.$f || exit 1; done
"$hetsort" --no-fsync -o wanted noise || exit 1
for ranks in 2 4; do
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$hetsort" --no-fsync --merge -f -o out a b
  is "$ranks processes" "$rc/$err$(cmp out wanted 2>&1)" 0/
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$hetsort" --no-fsync --merge --manifest set -f -o "$ranks.%r" a b
  is "$ranks processes, parts" "$rc/$err$(cat "$ranks".[0-9] | cmp - wanted 2>&1)" 0/
done
run timeout 120 "$ROOT/scripts/mpirun" 3 "$hetsort" --no-fsync --merge -o new a in.b
is "an input that is not sorted: status" "$rc" 2
case $err in *"input 'in.b' is not sorted"*) ok "the input is named" true ;; *) is "the input is named" "$err" "...in.b..." ;; esac
is "nothing is left" "$(compgen -G 'new*' || compgen -G '.hetsort*')" ""
done_testing
