#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# u64_sort with NEON: test_u64 compiled for 64-bit Arm processors, of which qemu emulates one.
#   ARM_CC: the compiler [aarch64-linux-gnu-gcc]   QEMU: the emulator [qemu-aarch64-static]
set -u
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
cc=${ARM_CC:-aarch64-linux-gnu-gcc} qemu=${QEMU:-qemu-aarch64-static}
for tool in "$cc" "$qemu"; do
  command -v "$tool" >/dev/null || skip_all "no $tool (scripts/deps arm)"
done

kernel=$ROOT/sort/kernel
run "$cc" -O2 -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -static -I "$ROOT/sort" -o test_u64 \
  "$kernel/tests/test_u64.c" "$kernel"/u64_*.c
is "it compiles for aarch64 without a warning" "$rc $err" "0 "
run "$qemu" ./test_u64
ok "it sorts with NEON" grep -q '^# NEON$' <<<"$out"
is "all kinds are sorted" "$rc" 0
[ "$rc" -eq 0 ] || grep -v '^ok' <<<"$out" | head -n 20 | sed 's/^/# /'
done_testing
