# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The corpus of a fuzzer, replayed without libFuzzer: all inputs are run, one that shows a fault is
# named by the last line, and a fuzzer without inputs is a failure.
. "$ROOT/scripts/tap.sh"

mkdir -p room/tests/corpus/some "bin/room/tests"
cat >fuzz_some.c <<C
#include "$ROOT/scripts/fuzz.h"
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_line l;
	fuzz_words(&l, data, size);
	fuzz_check(l.argc < 4 || strcmp(l.argv[3], "bad") != 0);
	free(l.text);
	return 0;
}
C
fuzz=bin/room/tests/fuzz_some
${CC:-cc} -D_GNU_SOURCE -o $fuzz fuzz_some.c "$ROOT/scripts/fuzz-main.c" ||
  { ok "a fuzzer compiles" false; done_testing; }

replay() { run env ROOT="$PWD" $fuzz "$@"; }
replay
is "no corpus is a failure" "$rc $out" $'1 1..1\nnot ok 1 - no corpus in '"$PWD/room/tests/corpus/some"
: >room/tests/corpus/some/empty
printf 'one\0two\0good\0' >room/tests/corpus/some/words
replay
is "each input is a point" "$rc $(grep -c '^ok' <<<"$out") ${out##*$'\n'}" "0 2 1..2"
printf 'one\0two\0bad\0more' >room/tests/corpus/some/the-bad
replay
ok "a fault ends the run" test "$rc" -gt 128
is "after the name of its input" "${out##*$'\n'}" "# the-bad"
replay room/tests/corpus/some/words
is "only a named file is run" "$rc ${out##*$'\n'}" "0 1..1"
replay missing
is "a missing one is a failure" "$rc ${out%%$'\n'*}" \
  "1 not ok 1 - cannot read missing: No such file or directory"
done_testing
