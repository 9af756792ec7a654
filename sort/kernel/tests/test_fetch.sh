#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Loops over records at random places prefetch them. A compiler may drop a function that does nothing
# else, because it seems to have no effect. So this test reads the compiled code.
# shellcheck disable=SC2317  # functions called through ok
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "only reads code for x86-64"
command -v objdump >/dev/null || skip_all "no objdump"
lib=$OBJ/libhetsort.a
[ -e "$lib" ] || skip_all "no libhetsort.a"
objdump -d --no-show-raw-insn "$lib" >code
fetches() { awk -v name="<$1" '/^[0-9a-f]+ </ {in_it = index($2, name ">:") || index($2, name ".")} in_it' code | grep -q prefetch; }

for f in demand_gather sorted_piece_heads; do
  ok "$f fetches records ahead" fetches "$f"
done
done_testing
