# shellcheck shell=bash disable=SC2016,SC2317  # planted scripts; functions called through ok
# Each rule of scripts/lint must fire on a tree that breaks it, and stay silent on the same tree
# before. The good tree is full of near misses: words in comments and strings, longer names.
. "$ROOT/scripts/tap.sh"

plant() { # plant FILE <TEXT - into the tree, below an SPDX line if it is C
  mkdir -p "tree/$(dirname "$1")"
  case $1 in *.[ch]) echo '/* SPDX-License-Identifier: GPL-3.0-or-later */' ;; esac >"tree/$1"
  cat >>"tree/$1"
}

lines() { local i; for ((i = 0; i < $1; i++)); do echo "$2"; done; } # lines N TEXT

lint() { run "$ROOT/scripts/lint" --root tree "$@"; }

good_tree() {
  rm -rf tree
  plant sort/comm/comm_mpi.c <<<'#include <mpi.h>'
  plant sort/include/hetsort.h <<<'#include <mpi.h>'
  plant partition/mpi/hook.c <<<'#include <mpi.h>'
  plant partition/base/cost.c <<'C'
#include <stdio.h>
/* printf("in a comment"); abort(); system("x");
 * #include <mpi.h> */
static int my_printf(int n);
int cost(char *s, int n)
{
	snprintf(s, 9, "printf(\"%d\"); // system(1)", n); // exit(1);
	return my_printf(n) + ecosystem(n);
}
C
  plant partition/online/wisdom.c <<<'int f(void *file) { return fprintf(file, "x") + !fopen("a", "r"); }'
  plant partition/hetplan/main.c <<<'int main(void) { printf("x"); exit(1); }'
  plant sort/main.c <<<'int main(void) { exit(2); }'
  plant gensort/valsort.c <<<'#include "record.h"'
  plant gensort/gensort.c <<<'#include "gen_lcg.h"'
  { echo 'int longest(void)'; echo '{'; lines 78 '	call();'; echo '}'; } | plant sort/long.c
  { echo '/* lint: table */'; echo 'int t[] = {'; lines 700 '	1,'; echo '};'; } | plant sort/table.c
  plant sort/twice.c <<'C'
extern "C" {
#ifdef A
int f(int a) {
#else
int f(void) {
#endif
	return '"' + '}';
}
}
C
  plant README.md <<<'See https://example.org/home/page and ~/home/x.'
  plant gensort/man/x.1 </dev/null
  plant sort/tests/test_x.sh <<<'is "a thing" 1 1'
  printf '%s\n' '| 1 | falls | stays | `test_x.sh: a thing` |' '| 2 | rains | *not tested*: no sky |' | plant sort/tests/FAULTS.md
  plant ok.sh <<<'echo "$HOME"'
}

own='mpi-header pure-planner library-exit own-validator no-shell spdx size faults paths'

# fires NAME RULE WHERE - RULE alone finds something, and names WHERE
fires() {
  lint "$2"
  is "$1" "$rc $(grep -q -F -- "$3" <<<"$out" && echo told) ${out##*$'\n'}" "1 told 0 passed, 1 failed"
  good_tree
}

good_tree
# shellcheck disable=SC2086  # rules are words
lint $own
is "the good tree has no finding" "$rc ${out##*$'\n'}" "0 9 passed, 0 failed"
[ "$rc" -eq 0 ] || printf '# %s\n' "$out"

plant sort/run.c <<<'#include <mpi.h>';          fires "mpi.h in a phase" mpi-header sort/run.c:2
plant sort/tests/test_a.c <<<'# include "mpi.h"'; fires "mpi.h in a test" mpi-header sort/tests/test_a.c:2
plant partition/base/mpi.c <<<'#include <mpi.h>';     fires "mpi.h beside partition/mpi/" mpi-header partition/base/mpi.c:2
plant partition/share/a.c <<<'#include <pthread.h>';   fires "threads in the planner" pure-planner partition/share/a.c:2
plant partition/base/part.h <<<'#include <mpi.h>';    fires "MPI in a planner header" pure-planner partition/base/part.h:2
plant partition/share/a.c <<<'int f(void) { return printf ("x"); }'; fires "the planner prints" pure-planner partition/share/a.c:2
plant partition/share/a.c <<<'int f(void) { return fprintf(log, "x"); }'; fires "the planner writes a file" pure-planner partition/share/a.c:2
plant partition/online/wisdom.c <<<'int f(void) { return fprintf(stderr, "x"); }'; fires "wisdom prints" pure-planner partition/online/wisdom.c:2
plant partition/online/wisdom_read.c <<<'int f(void) { return puts("x"); }'; fires "wisdom puts" pure-planner partition/online/wisdom_read.c:2
plant sort/run.c <<<'void f(void) { if (1) abort(); }'; fires "the sorter aborts" library-exit sort/run.c:2
plant sort/run.c <<<'void f(void) { comm_abort(c, 1); }'; fires "the sorter ends the job" library-exit sort/run.c:2
plant partition/share/a.c <<<'void f(void) { exit(1); }'; fires "the planner exits" library-exit partition/share/a.c:2
plant partition/mpi/a.c <<<'void f(void) { MPI_Abort(c, 1); }'; fires "the planner's ranks abort" library-exit partition/mpi/a.c:2
plant gensort/val_join.c <<<'#include "gen_lcg.h"'; fires "the validator uses the generator" own-validator gensort/val_join.c:2
plant gensort/valsort.c <<<'#include "../sort/keys.h"'; fires "the validator uses the sorter" own-validator gensort/valsort.c:2
plant gensort/valsort.c <<<'#include <hetsort.h>'; fires "the validator uses the library" own-validator gensort/valsort.c:2
plant gensort/gen_x.c <<<'#include "val_join.h"'; fires "the generator uses the validator" own-validator gensort/gen_x.c:2
row() { printf '%s\n' "$@" | plant sort/tests/FAULTS.md; }
row '| 1 | falls | stays | `test_x.sh: no thing` |'; fires "a row names words that are not there" faults "row 1: no 'no thing' in 'test_x.sh'"
row '| 1 | falls | stays | `test_y.sh: a thing` |'; fires "a row names a file that is not there" faults "row 1: no 'a thing' in 'test_y.sh'"
row '| 1 | falls | stays | `../../ok.sh: echo` |'; fires "a row names a file that is no test" faults "row 1: nothing runs '../../ok.sh'"
row '| 1 | falls | stays | it is fine |'; fires "a row names no test" faults "row 1 names no test"
row '| 2 | falls | stays | `test_x.sh: a thing` |'; fires "a row is missing" faults "no row 1 before: | 2 | falls"

plant bench/a.c <<<'int f(void) { return system ("ls"); }'; fires "a shell is called" no-shell bench/a.c:2
plant sort/tests/a.c <<<'void *f(void) { /* " */ return popen("ls", "r"); }'; fires "a pipe to a shell" no-shell sort/tests/a.c:2
echo 'int x;' >tree/sort/x.h;                    fires "no SPDX line" spdx sort/x.h:1

{ echo 'int f(void)'; echo '{'; lines 79 '	call();'; echo '}'; } | plant sort/f.c
fires "a function of 81 lines" size "sort/f.c:3: function of 81 lines"
{ echo 'extern "C" {'; echo 'int f(int a,'; echo '      int b) {'; lines 80 '	if (a) { b(); }'; echo '} }'; } | plant sort/f.c
fires "in extern C, with its brace on the line" size "sort/f.c:4: function of 82 lines"
lines 600 'int x;' | plant sort/f.c
home=home  # not spelled out, or the rule would fire on this file
fires "a file of 601 lines" size "sort/f.c:601: 601 lines"
plant doc.md <<<"It lies in /${home}/anna/data.";fires "somebody's home" paths doc.md:1
plant run.sh <<<"cp /${home/home/root}/x .";      fires "root's home" paths run.sh:1

# The rules that run a tool, where it is there.
tool_fires() { # tool_fires TOOL NAME RULE WHERE
  if command -v "$1" >/dev/null 2>&1; then shift; fires "$@"; else good_tree; fi
}
printf '{ BasedOnStyle: LLVM }\n' >tree/.clang-format
plant sort/f.c <<<'int   f( void ) ;';    tool_fires clang-format "bad layout" format sort/f.c:2
plant doc.md <<<"T""eh end.";        tool_fires codespell "a typing error" spelling doc.md:1
plant bad.sh <<<'rm $1';                  tool_fires shellcheck "a bad script" shell 'bad.sh:1:4'
printf '#!/bin/sh\nrm $1\n' >tree/tool;   tool_fires shellcheck "a bad script without .sh" shell 'tool:2:4'
printf '.TH X 1\n.SH NAME\n.foo\n' >tree/gensort/man/x.1
tool_fires mandoc "a bad man page" man 'unknown macro'

# What cannot look must not pass.
mkdir empty_path
for tool in bash git grep find sed head mktemp dirname rm tr xargs awk wc cat mv sort; do
  ln -s "$(command -v $tool)" empty_path/
done
PATH=$PWD/empty_path lint format
is "a missing tool alone does not pass" "$rc ${out##*$'\n'}" "1 0 passed, 0 failed"
PATH=$PWD/empty_path lint format size
is "a missing tool is left out" "$rc ${out##*$'\n'}" "0 1 passed, 0 failed"
PATH=$PWD/empty_path lint --strict format size
is "a missing tool fails when strict" "$rc ${out##*$'\n'}" "1 1 passed, 1 failed"
printf '#!/bin/sh\nexit 9\n' >empty_path/clang-format
chmod +x empty_path/clang-format
PATH=$PWD/empty_path lint format
is "a tool that breaks silently is a finding" "$rc ${out##*$'\n'}" "1 0 passed, 1 failed"
rm -rf tree; mkdir tree
lint size
is "an empty tree does not pass" "$rc ${out##*$'\n'}" "1 0 passed, 0 failed"
lint nonsense
is "an unknown rule is refused" "$rc" 2
done_testing
