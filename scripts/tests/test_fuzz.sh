# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# A fuzzer without a fault passes; a planted fault is found; no fuzzer at all is a failure.
. "$ROOT/scripts/tap.sh"
"$ROOT/scripts/deps" --check fuzz >/dev/null 2>&1 || skip_all "clang with libFuzzer is not installed"
# The sanitizers of an outer run do not belong into the tree built here.
unset MAKEFLAGS MFLAGS MAKELEVEL CFLAGS OBJ CC SANITIZER

mkdir -p tree/scripts tree/gensort/tests/corpus/planted
(cd "$ROOT" && cp --parents Makefile VERSION scripts/*.mk bench/bench.mk scripts/fuzz "$TEST_TMP/tree")
cat >tree/gensort/tests/fuzz_sound.c <<'C'
#include <stddef.h>
#include <stdint.h>
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	return n > 0 && data[0] == 1 ? 0 : 0;
}
C
sed 's/return .*/if (n > 2 \&\& data[0] == 66) __builtin_trap(); return 0;/' \
  tree/gensort/tests/fuzz_sound.c >tree/gensort/tests/fuzz_planted.c
printf 'AAAA' >tree/gensort/tests/corpus/planted/one

run tree/scripts/fuzz 1 gensort/tests/fuzz_sound.c
is "a sound fuzzer passes" "$rc ${out##*$'\n'}" "0 1 passed, 0 failed"

run tree/scripts/fuzz 1 gensort/tests/fuzz_planted.c gensort/tests/fuzz_sound.c
is "a planted fault is found, the next fuzzer runs all the same" "$rc ${out##*$'\n'}" "1 1 passed, 1 failed"
ok "the input that shows it is kept" test -n "$(ls tree/build/findings)"
is "the corpus is left as it was" "$(ls tree/gensort/tests/corpus/planted)" one

echo 'int broken(' >tree/gensort/tests/fuzz_broken.c
run tree/scripts/fuzz 1 gensort/tests/fuzz_broken.c
is "a fuzzer that does not compile is a failure" "$rc" 1
run tree/scripts/fuzz 1
is "no fuzzer is a failure" "$rc" 1
run tree/scripts/fuzz often
is "a bad number of seconds is refused" "$rc" 2
done_testing
