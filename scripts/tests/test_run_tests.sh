# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The runner of the tests: whatever goes wrong in a test must show in its last line and its status.
. "$ROOT/scripts/tap.sh"

mkdir -p tree/scripts
cp "$ROOT/scripts/run-tests" tree/scripts/
export TMPDIR=$PWD

plant() { cat >"tree/$1"; } # plant NAME <SCRIPT
runner() { run env TEST_TIMEOUT="${limit:-100}" tree/scripts/run-tests "$@"; }
last() { printf '%s' "$rc ${out##*$'\n'}"; }

plant good.sh <<<'echo "ok 1 - a"; echo "ok 2 - b"; echo 1..2'
plant bad.sh <<<'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2; exit 1'
plant short.sh <<<'echo 1..3; echo "ok 1 - a"'
plant no_plan.sh <<<'echo "ok 1 - a"'
plant silent.sh <<<'exit 0'
plant dies.sh <<<'echo 1..1; echo "ok 1 - a"; exit 3'
plant lies.sh <<<'echo 1..2; echo "not ok 1 - a"; echo "ok 2 - b"; exit 0'
plant hangs.sh <<<'echo 1..1; sleep 60; echo "ok 1 - a"'
plant skips.sh <<<'echo "no such machine"; exit 77'
# shellcheck disable=SC2016  # for the planted test to expand
plant empty.sh <<<'[ -z "$(ls)" ] && [ "$PWD" = "$TEST_TMP" ] && echo "ok 1 - a"; touch x; echo 1..1'
# shellcheck disable=SC2016
plant mpi.sh <<<'dir=$OMPI_MCA_orte_tmpdir_base; [ -d "$dir" ] && [ -z "$(ls "$dir")" ] && [ "$PRTE_MCA_prte_tmpdir_base" = "$dir" ] &&
  touch "$dir/left" && echo "ok 1 - a"; echo "# sum: $dir"; echo 1..1'

runner good.sh;          is "passes are counted" "$(last)" "0 2 passed, 0 failed"
runner bad.sh good.sh;   is "a failed point fails the run" "$(last)" "1 3 passed, 1 failed"
runner short.sh;         is "fewer points than planned" "$(last)" "1 1 passed, 1 failed"
runner no_plan.sh;       is "no plan" "$(last)" "1 1 passed, 1 failed"
runner silent.sh;        is "a test that tests nothing" "$(last)" "1 0 passed, 1 failed"
runner dies.sh;          is "a bad exit status" "$(last)" "1 1 passed, 1 failed"
runner lies.sh;          is "exit 0 does not hide a failed point" "$(last)" "1 1 passed, 1 failed"
limit=1 runner hangs.sh;         is "a test that hangs" "$(last)" "1 0 passed, 1 failed"
ok "the limit that struck is named" grep -q '# timed out after 1 s (TEST_TIMEOUT)$' <<<"$out"
plant tardy.sh <<<'echo "ok 1 - a"; echo "not ok 2 - b"; echo 1..2; sleep 60'
limit=5 runner tardy.sh good.sh; is "a test that hangs at its end keeps its counts" "$(last)" "1 3 passed, 1 failed"
ok "the limit that struck is named then, too" grep -q '# timed out after 5 s (TEST_TIMEOUT)$' <<<"$out"
runner missing.sh;       is "a missing test" "$(last)" "1 0 passed, 1 failed"
plant points.sh <<<'echo "not ok 1 # SKIP as_cmocka_says"; echo "ok 2 - b # skip no room"; echo "ok 3 - c"; echo 1..3'
plant none.sh <<<'echo "not ok 1 # SKIP a"; echo 1..1'
plant lost.sh <<<'echo "not ok 1 # SKIP a"; echo "ok 2 - b"; echo 1..3'
runner points.sh;        is "points that are skipped are neither passed nor failed" "$(last)" "0 1 passed, 0 failed"
is "and are named" "$(sed -n '2,3p' <<<"$out")" $'  skipped: # SKIP as_cmocka_says\n  skipped: b # skip no room'
plant bytes.sh <<<'printf "ok 1 - a \\377\\nok 2 - b # SKIP no room\\n1..2\\n"'
runner bytes.sh;         is "names of points may have any bytes" "$(last)" "0 1 passed, 0 failed"
runner none.sh good.sh;  is "skipping all points is not a failure" "$(last)" "0 2 passed, 0 failed"
runner lost.sh;          is "points that are skipped count for the plan" "$(last)" "1 1 passed, 1 failed"
runner skips.sh;         is "all skipped: nothing ran" "$(last)" "1 0 passed, 0 failed"
runner skips.sh good.sh; is "a skip is not a failure" "$(last)" "0 2 passed, 0 failed"
ok "a skip is reported with its reason" grep -q 'skipped: no such machine' <<<"$out"
cp "$ROOT/scripts/tap.sh" tree/scripts/
# shellcheck disable=SC2016
plant lacks.sh <<<'. "$ROOT/scripts/tap.sh"; no-such-tool >up & ok "it starts" await test -s up; ok "again" await test -s up; done_testing'
limit=50 runner lacks.sh; is "a tool that is missing ends what waits for it" "$(last)" "1 0 passed, 2 failed"
ok "and is named" grep -q '# not installed, and this test needs it: no-such-tool $' <<<"$out"
# shellcheck disable=SC2016
plant copes.sh <<<'. "$ROOT/scripts/tap.sh"; no-such-tool 2>/dev/null; is "it copes" $? 127; done_testing'
runner copes.sh;         is "a test that can do without passes" "$(last)" "0 1 passed, 0 failed"
plant sums.sh <<<'echo "# 3 words"; echo "# sum: 7 of 9"; echo "ok 1 - a"; echo 1..1'
runner sums.sh;          is "what a test sums up is shown" "$(sed -n 2p <<<"$out")" "  7 of 9"
runner -j 2 mpi.sh mpi.sh;    is "Open MPI's files: a directory for each test, empty" "$(last)" "0 2 passed, 0 failed"
dirs=$(grep '^  /' <<<"$out" | sort -u)
# shellcheck disable=SC2086  # two names
is "and removed" "$(wc -l <<<"$dirs") $(ls $dirs 2>/dev/null)" "2 "
runner;                  is "no tests" "$(last)" "1 0 passed, 0 failed"
runner empty.sh;         is "each test starts in an empty directory" "$(last)" "0 1 passed, 0 failed"
is "no scratch directory is left" "$(ls -d hetsort-test* 2>/dev/null)" ""

# Two that wait for each other end only if they run at once.
meet() { echo "touch \"\$MEET/$1\"; for _ in \$(seq 100); do [ ! -e \"\$MEET/$2\" ] || { echo 'ok 1 - met'; break; }; sleep 0.05; done; echo 1..1"; }
export MEET=$PWD/meet
mkdir meet; meet a b | plant a.sh; meet b a | plant b.sh
TEST_TIMEOUT=100 tree/scripts/run-tests -j 2 a.sh b.sh >said
is "-j 2: two at a time" "$? $(tail -n 1 said)" "0 2 passed, 0 failed"
rm meet/*
run env TEST_TIMEOUT=6 tree/scripts/run-tests a.sh b.sh
is "otherwise one after the other" "$(last)" "1 1 passed, 1 failed"
runner -j 3 good.sh bad.sh dies.sh skips.sh good.sh; is "-j 3: all are counted" "$(last)" "1 6 passed, 2 failed"
is "each is reported, whole" "$(grep -c -E '^(good|bad|dies|skips).sh' <<<"$out")" 5
# shellcheck disable=SC2016
plant late.sh <<<'sleep 0.5; touch "$MEET/late"; echo "ok 1 - a"; echo 1..1'
# shellcheck disable=SC2016
plant after.sh <<<'[ -e "$MEET/late" ] && echo "ok 1 - a"; echo 1..1'
runner -j 2 late.sh -j 2 after.sh; is "-j again: what was before has ended" "$(last)" "0 2 passed, 0 failed"
for bad in 0 x '' 10000; do
  runner good.sh -j "$bad"; is "-j '$bad' is refused" "$rc/$err" "2/run-tests: -j takes a number of tests, not '$bad'"
done
is "they leave no scratch directory" "$(ls -d hetsort-test* 2>/dev/null)" ""

# A signal to the runner ends the running test too, although that has a process group of its own.
# shellcheck disable=SC2016
plant long.sh <<<'echo $$ >"$PID_FILE"; sleep 120; echo "ok 1 - a"; echo 1..1'
for args in long.sh "-j 2 long.sh good.sh"; do
  rm -f pid
  # shellcheck disable=SC2086  # words
  PID_FILE=$PWD/pid TEST_TIMEOUT=120 tree/scripts/run-tests $args >/dev/null 2>&1 &
  runner_pid=$!
  await test -s pid
  kill $runner_pid
  wait $runner_pid
  is "a signal ends the runner: $args" $? 130
  ok "and the test it was running" await gone "$(cat pid)"
  is "nothing is left" "$(ls -d hetsort-test* 2>/dev/null)" ""
done
done_testing
