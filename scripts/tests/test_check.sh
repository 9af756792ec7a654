# shellcheck shell=bash disable=SC2016,SC2317  # planted makefiles; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/check over a planted tree: it adds up what the steps say, and nothing bad gets lost.
. "$ROOT/scripts/tap.sh"

stub() { cat >"$1" && chmod +x "$1"; }
mkdir -p tree/scripts
cp "$ROOT/scripts/check" tree/scripts/
stub tree/scripts/deps <<<'#!/bin/sh
echo "deps $*" >>deps.log; exit "${DEPS_RC:-0}"'
stub tree/scripts/mpirun <<<'#!/bin/sh
exit "${MPI_RC:-0}"'
# Each part calls tree/hook, where there is one.
stub tree/scripts/lint <<<'#!/bin/sh
[ ! -e hook ] || ./hook lint || exit 1
echo "lint $*"; echo "${LINT:-3 passed, 0 failed}"; exit "${LINT_RC:-0}"'
stub tree/scripts/fresh-root <<<'#!/bin/sh
[ ! -e hook ] || ./hook bare || exit 1
echo "fresh-root $*"; echo "${BARE:-9 passed, 0 failed}"; exit "${BARE_RC:-0}"'
mkdir root user
stub root/id <<<'#!/bin/sh
echo 0'
stub user/id <<<'#!/bin/sh
echo 1000'
cat >tree/Makefile <<'MAKE'
build-tests:
	@[ ! -e hook ] || ./hook build
	@echo building; echo "  CC     a/file.c"; exit $${BUILD_RC:-0}
check:
	@[ ! -e hook ] || ./hook check
	@echo a line of check; echo "$${CHECK-10 passed, 0 failed}"; exit $${CHECK_RC:-0}
check-mpi:
	@[ ! -e hook ] || ./hook check-mpi
	@echo a line of check-mpi; echo "$${MPI_SAYS-5 passed, 0 failed}"; exit $${MPI_RUN_RC:-0}
MAKE
unset MAKEFLAGS MFLAGS MAKELEVEL

check() { run tree/scripts/check "$@"; }
last() { printf '%s' "$rc ${out##*$'\n'}"; }

check
is "the sum of all steps" "$(last)" "0 18 passed, 0 failed"
is "only one line looks like it" "$(grep -c -E '[0-9]+ passed, [0-9]+ failed' <<<"$out")" 1
is "the table of times has each part" "$(sed -n -E 's/^([a-z-]+) +[0-9]+ s +[0-9]+ s cpu  /\1: /p' <<<"$out")" "build: ok
check: 10 good, 0 bad
check-mpi: 5 good, 0 bad
lint: 3 good, 0 bad
all: 18 good, 0 bad"
ok "the steps' output is shown" grep -q -x 'a line of check' <<<"$out"
is "but for what compiles" "$(grep -c 'CC ' <<<"$out")" 0

CHECK='9 passed, 1 failed' CHECK_RC=2 check
is "a failed test; the later steps run all the same" "$(last)" "1 17 passed, 1 failed"
CHECK='9 passed, 1 failed' CHECK_RC=0 check
is "a failure that the exit status hides" "$(last)" "1 17 passed, 1 failed"
CHECK='' CHECK_RC=1 check
is "a step that ends without a word" "$(last)" "1 8 passed, 1 failed"
MPI_SAYS=$'sort/tests/mpi_x.sh   3 passed   1 failed    2 s,    1 s cpu\n    | not ok 2 - an answer\n    | #   got: 7\nsort/tests/mpi_y.sh   3 passed   0 failed    2 s,    1 s cpu\n8 passed, 1 failed' \
  MPI_RUN_RC=1 check
is "at the end, the failures are printed again" "$(sed -n '/^== failures/,/^$/p' <<<"$out")" \
  $'== failures\ncheck-mpi: sort/tests/mpi_x.sh   3 passed   1 failed    2 s,    1 s cpu\n    | not ok 2 - an answer\n    | #   got: 7'
MPI_SAYS='0 passed, 0 failed' MPI_RUN_RC=1 check
is "an MPI, and no MPI tests" "$(last)" "1 13 passed, 1 failed"
LINT='2 passed, 2 failed' LINT_RC=1 check
is "findings of lint" "$(last)" "1 17 passed, 2 failed"
BUILD_RC=1 check
is "a build that fails ends it" "$(last)" "1 0 passed, 1 failed"
MPI_RC=77 check
is "without MPI its tests are omitted" "$(last)" "0 13 passed, 0 failed"
ok "and that is reported" grep -q 'check-mpi: omitted' <<<"$out"
CHECK='0 passed, 0 failed' MPI_RC=77 LINT='0 passed, 0 failed' check
is "nothing ran" "$(last)" "1 0 passed, 0 failed"
DEPS_RC=1 check
is "something needed is missing" "$(last)" "1 0 passed, 1 failed"
check
is "omitted checks are named in one line, before the last" \
  "$(tail -n 3 <<<"$out" | grep -n -E '^omitted: make check-long .*, check-faults, check-sim, check-slurm, asan, tsan, fuzz, ' | cut -d: -f1)" 1
check --strict
ok "without a missing tool, if none may be missing" grep -q '^omitted: .*, analyze$' <<<"$out"

# Check, lint and the bare system run at the same time, as each waits here for the others, and check-mpi after check, next
# to the bare system. The first ends when a line has said that it runs, so its output is still printed first.
stub tree/hook <<'SH'
#!/bin/bash
. "$ROOT/scripts/tap.sh"
touch "began.$1"
case $1 in
  build) await grep -q '^-- [0-9]* s: build: ' ../said ;;
  bare) await test -e began.build && await test -e began.lint && await test -e began.check-mpi ;;
  check-mpi) test -e ended.check ;;
  *) await test -e began.check && await test -e began.lint && await test -e began.bare ;;
esac || exit 1
if [ "$1" = check ]; then await grep -q '^-- [0-9]* s: .*check: ' ../said; fi
touch "ended.$1"
SH
CHECK_QUIET_S=0 CHECK='9 passed, 1 failed' BARE_RC=1 PATH=$PWD/root:$PATH tree/scripts/check --bare >said 2>&1
is "at the same time" "$? $(tail -n 1 said)" "1 26 passed, 2 failed"
is "the output of parts does not mix" "$(grep -E '^(==|building|a line|lint|fresh-root|[a-z-]+ +[0-9]+ s )' said |
  sed -E 's/, [0-9]+ s$//; s/ +[0-9]+ s +[0-9]+ s cpu /:/; s| --cache.*||')" "== build
building
== build: 0 good, 0 bad
== check
a line of check
== check: 9 good, 1 bad
== check-mpi
a line of check-mpi
== check-mpi: 5 good, 0 bad
== lint
lint 
== lint: 3 good, 0 bad
== bare
fresh-root --ways root
== bare: 9 good, 1 bad
== failures
build: ok
check: 9 good, 1 bad
check-mpi: 5 good, 0 bad
lint: 3 good, 0 bad
bare: 9 good, 1 bad
all: 26 good, 2 bad"

# A signal ends the parts that run, and the check; so does a build that fails.
stub tree/hook <<<'#!/bin/sh
[ "$1" = build ] || { echo $$ >../pid.$1; exec sleep 600; }'
PATH=$PWD/root:$PATH tree/scripts/check --bare >said 2>&1 &
pid=$!
for part in check check-mpi lint bare; do await test -s pid.$part; done
kill $pid; wait $pid
is "a signal ends it" $? 130
# shellcheck disable=SC2046  # several numbers
ok "and each part" await gone $(cat pid.*)
stub tree/hook <<<'#!/bin/bash
. "$ROOT/scripts/tap.sh"
case $1 in bare) echo $$ >../pid.bare; exec sleep 600 ;; build) await test -s ../pid.bare; exit 1 ;; esac'
rm pid.*
PATH=$PWD/root:$PATH check --bare
is "a build that fails does not wait for the bare system" "$(last)" "1 0 passed, 1 failed"
ok "and ends what it runs" await gone "$(cat pid.bare)"
rm tree/hook

# Both commands on a bare Debian, as .ci/run asks for them.
bare() { local as=$1; shift; XDG_CACHE_HOME=$PWD/cache PATH=$PWD/$as:$PATH check --bare "$@"; }
bare root
is "--bare: its sum is in the last line" "$(last)" "0 27 passed, 0 failed"
ok "as root, with a cache" grep -q "^fresh-root --ways root --cache $PWD/cache/hetsort /var/tmp/" <<<"$out"
is "its scratch is gone" "$(ls -d "$(grep -o '/var/tmp/[^ ]*' <<<"$out")" 2>/dev/null)" ""
BARE='9 passed, 2 failed' BARE_RC=1 bare root
is "what fails there" "$(last)" "1 27 passed, 2 failed"
BARE=nothing BARE_RC=1 bare root
is "a bare Debian that does not come up" "$(last)" "1 18 passed, 1 failed"
CI='' bare user
is "without root it is omitted" "$(last)" "0 18 passed, 0 failed"
is "twice it says so, loudly" "$(grep -c 'OMITTED: .* takes root' <<<"$out")" 2
CI=true bare user
is "and fails where nobody reads that" "$(last)" "1 18 passed, 1 failed"
stub tree/scripts/deps <<<'#!/bin/sh
echo "deps $*" >>deps.log; case " $* " in *" bare "*) exit 1 ;; esac'
CI=true bare root
is "without debootstrap as well" "$(last)" "1 18 passed, 1 failed"
ok "and says why" grep -q 'OMITTED: .* a tool is missing' <<<"$out"

rm tree/deps.log
check --no-install --strict
is "--no-install is passed to deps" "$(cat tree/deps.log)" $'deps --no-install\ndeps --no-install lint clients'
ok "--strict is passed to lint" grep -q -x 'lint --strict' <<<"$out"
check --nonsense
is "an unknown argument is refused" "$rc" 2
done_testing
