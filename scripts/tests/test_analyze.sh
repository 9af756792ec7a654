# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A sound file passes and is not looked at twice; of two planted faults each tool finds one.
. "$ROOT/scripts/tap.sh"
for tool in clang-tidy cppcheck; do
  command -v $tool >/dev/null 2>&1 || skip_all "$tool is not installed (scripts/deps analysis)"
done
# The settings of an outer call do not belong to the tree analysed here.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS OBJ CC SANITIZER

mkdir -p tree/scripts tree/bench tree/gensort tree/partition tree/sort
(cd "$ROOT" && cp --parents Makefile VERSION .clang-tidy scripts/*.mk bench/bench.mk scripts/analyze "$TEST_TMP/tree")
cat >tree/gensort/gen_sound.c <<'C'
int sound(int x);
int sound(int x)
{
	return x + 1;
}
C
run tree/scripts/analyze
is "a sound file passes" "$rc ${out##*$'\n'}" "0 2 passed, 0 failed"
touch -d '1 hour ago' tree/gensort/gen_sound.c
before=$(stat -c %Y tree/build/analyze/gensort/gen_sound.o)
run tree/scripts/analyze
is "it is not looked at again" "$(stat -c %Y tree/build/analyze/gensort/gen_sound.o)" "$before"

cat >tree/gensort/val_planted.c <<'C'
#include <stdlib.h>
int planted(void);
int planted(void)
{
	int *p = malloc(sizeof *p), a[3];
	if (!p)
		return 0;
	free(p);
	a[3] = 1;
	return *p + a[0];
}
C
run tree/scripts/analyze
is "a planted fault is found by both" "$rc ${out##*$'\n'}" "1 1 passed, 2 failed"
ok "clang-tidy names its line" grep -q 'val_planted.c:10:.*Use of memory after it is freed' <<<"$out"
ok "so does cppcheck" grep -q 'val_planted.c:9: error: .*out of bounds' <<<"$out"
run tree/scripts/analyze
is "and again, until it is gone" "$rc ${out##*$'\n'}" "1 1 passed, 2 failed"
run tree/scripts/analyze often
is "an unknown argument is refused" "$rc" 2
done_testing
