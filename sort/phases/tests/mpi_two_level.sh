# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# An exchange in two steps between processes writes the same as a direct one.
. "$ROOT/scripts/tap.sh"
"$BIN/gensort" --no-fsync 5000 in
for ranks in 2 3 7; do
    for threads in 0 2; do
        run "$ROOT/scripts/mpirun" "$ranks" "$BIN/hetsort" -q -f --no-fsync --exchange direct -o direct in
        is "$ranks ranks, $threads exchange threads: directly" "$rc" 0
        run "$ROOT/scripts/mpirun" "$ranks" "$BIN/hetsort" -q -f --no-fsync --exchange two-level \
            --exchange-threads "$threads" --report report.json -o two in
        is "$ranks ranks, $threads exchange threads: in two steps" \
            "$rc/$(cmp direct two && echo same)/$(grep -c '"exchange": *"two-level"' report.json)" 0/same/1
    done
done
done_testing
