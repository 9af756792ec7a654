#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The plug-in for MPI of an installation: ranks under mpirun find it in lib/hetsort from any working directory.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
plugin=$(find "$BIN" -maxdepth 1 -name 'libhetsort-*.so')
[ -n "$plugin" ] || skip_all "hetsort is built without a plug-in for MPI"
mkdir -p at/bin at/lib/hetsort && cp "$BIN/hetsort" at/bin && cp "$plugin" at/lib/hetsort || exit 1
"$BIN/gensort" --no-fsync 1000 in || exit 1
"$BIN/hetsort" -o expected in || exit 1
run "$ROOT/scripts/mpirun" 2 at/bin/hetsort -o out in
is "two ranks" "$rc/$(cmp -s out expected && echo same)" "0/same"
rm -r at/lib
run "$ROOT/scripts/mpirun" 2 at/bin/hetsort --force -o out in
ok "without the plug-in: refused" test "$rc" -ne 0
is "without the plug-in: one message" "$(grep -c 'is not installed: install the package hetsort-' <<<"$err")" 1
done_testing
