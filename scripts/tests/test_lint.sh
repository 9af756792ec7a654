# shellcheck shell=bash disable=SC2016,SC2317  # planted scripts; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# Each rule of scripts/lint must fire on a tree that breaks it, and stay silent on the same tree
# before. The good tree is full of near misses: words in comments and strings, longer names.
. "$ROOT/scripts/tap.sh"
. "$ROOT/scripts/tests/planted_tree.sh"

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
  plant gensort/valsort.c <<<'#include "tool.h"'
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
  plant README.md <<<'See https://example.org/home/page, [x](https://example.org), [y](docs/y.md#z) and ~/home/x.'
  { echo '`make -j4`, `make bench ARGS="-j FILE"`, `make -j"$(nproc)"`'; echo '```sh'; lines 298 x; } | plant docs/y.md
  plant gensort/man/x.1 </dev/null
  plant sort/tests/test_x.sh <<<'is "a thing" 1 1'
  printf '%s\n' '| 1 | falls | stays | `test_x.sh: a thing` |' '| 2 | rains | *not tested*: no sky |' | plant sort/tests/FAULTS.md
  plant ok.sh <<<'echo "$HOME"'
}

own='mpi-header pure-planner library-exit own-validator no-shell spdx size faults docs stray paths'

# fires NAME RULE WHERE - RULE finds something, and names WHERE
fires() {
  lint "$2"
  is "$1" "$rc $(grep -q -F -- "$3" <<<"$out" && echo named) ${out##*$'\n'}" "1 named 0 passed, 1 failed"
  good_tree
}

good_tree
# shellcheck disable=SC2086  # rules are words
lint $own
is "the good tree has no finding" "$rc ${out##*$'\n'}" "0 11 passed, 0 failed"
[ "$rc" -eq 0 ] || printf '# %s\n' "$out"

plant sort/job.c <<<'#include <mpi.h>';          fires "mpi.h in a phase" mpi-header sort/job.c:2
plant sort/tests/test_a.c <<<'# include "mpi.h"'; fires "mpi.h in a test" mpi-header sort/tests/test_a.c:2
plant partition/base/mpi.c <<<'#include <mpi.h>';     fires "mpi.h outside partition/mpi/" mpi-header partition/base/mpi.c:2
plant partition/share/a.c <<<'#include <pthread.h>';   fires "threads in the planner" pure-planner partition/share/a.c:2
plant partition/base/part.h <<<'#include <mpi.h>';    fires "MPI in a planner header" pure-planner partition/base/part.h:2
plant partition/share/a.c <<<'int f(void) { return printf ("x"); }'; fires "the planner prints" pure-planner partition/share/a.c:2
plant partition/share/a.c <<<'int f(void) { return fprintf(log, "x"); }'; fires "the planner writes a file" pure-planner partition/share/a.c:2
plant partition/online/wisdom.c <<<'int f(void) { return fprintf(stderr, "x"); }'; fires "wisdom prints" pure-planner partition/online/wisdom.c:2
plant partition/online/wisdom_read.c <<<'int f(void) { return puts("x"); }'; fires "wisdom puts" pure-planner partition/online/wisdom_read.c:2
plant sort/job.c <<<'void f(void) { if (1) abort(); }'; fires "the sorter aborts" library-exit sort/job.c:2
plant sort/job.c <<<'void f(void) { comm_abort(c, 1); }'; fires "the sorter ends the job" library-exit sort/job.c:2
plant partition/share/a.c <<<'void f(void) { exit(1); }'; fires "the planner exits" library-exit partition/share/a.c:2
plant partition/mpi/a.c <<<'void f(void) { MPI_Abort(c, 1); }'; fires "the planner's ranks abort" library-exit partition/mpi/a.c:2
plant gensort/val_join.c <<<'#include "gen_lcg.h"'; fires "the validator uses the generator" own-validator gensort/val_join.c:2
plant gensort/valsort.c <<<'#include "../sort/keys.h"'; fires "the validator uses the sorter" own-validator gensort/valsort.c:2
plant gensort/valsort.c <<<'#include <hetsort.h>'; fires "the validator uses the library" own-validator gensort/valsort.c:2
plant gensort/gen_x.c <<<'#include "val_join.h"'; fires "the generator uses the validator" own-validator gensort/gen_x.c:2
row() { printf '%s\n' "$@" | plant sort/tests/FAULTS.md; }
row '| 1 | falls | stays | `test_x.sh: no thing` |'; fires "a row names words that do not exist" faults "row 1: no 'no thing' in 'test_x.sh'"
row '| 1 | falls | stays | `test_y.sh: a thing` |'; fires "a row names a file that does not exist" faults "row 1: no 'a thing' in 'test_y.sh'"
row '| 1 | falls | stays | `../../ok.sh: echo` |'; fires "a row names a file that is not a test" faults "row 1: nothing runs '../../ok.sh'"
row '| 1 | falls | stays | it is fine |'; fires "a row names no test" faults "row 1 names no test"
row '| 2 | falls | stays | `test_x.sh: a thing` |'; fires "a row is missing" faults "no row 1 before: | 2 | falls"

plant bench/a.c <<<'int f(void) { return system ("ls"); }'; fires "a shell is called" no-shell bench/a.c:2
plant sort/tests/a.c <<<'void *f(void) { /* " */ return popen("ls", "r"); }'; fires "a pipe to a shell" no-shell sort/tests/a.c:2
echo 'int x;' >tree/sort/x.h;                    fires "no SPDX line" spdx sort/x.h:1
echo 'echo' >tree/sort/x.sh;                     fires "nor in a script" spdx sort/x.sh:1
rm -f tree/sort/x.sh
plant sort/x.h <<<'/* The rank is told of it. */';  fires "a phrase that plain English does not need" english sort/x.h:2
plant sort/x.h <<<'/* It has not a name. */';       fires "and another" english sort/x.h:2

{ echo 'int f(void)'; echo '{'; lines 79 '	call();'; echo '}'; } | plant sort/f.c
fires "a function of 81 lines" size "sort/f.c:3: function of 81 lines"
{ echo 'int f(int a)'; echo '{'; lines 20 '	if (a) a++;'; echo '}'; } | plant sort/f.c
fires "a function of complexity 21" size "sort/f.c:3: function of complexity 21"
{ echo 'extern "C" {'; echo 'int f(int a,'; echo '      int b) {'; lines 80 '	if (a) { b(); }'; echo '} }'; } | plant sort/f.c
fires "in extern C, with its brace on the line" size "sort/f.c:4: function of 82 lines"
lines 600 'int x;' | plant sort/f.c
home=home  # not spelled out, or the rule would fire on this file
fires "a file of 601 lines" size "sort/f.c:601: 601 lines"
plant doc.md <<<"It lies in /${home}/anna/data.";fires "somebody's home" paths doc.md:1
plant run.sh <<<"cp /${home/home/root}/x .";      fires "root's home" paths run.sh:2

plant in <<<'records';                           fires "records at the top" stray "in: a file at the top"
head -c 300000 /dev/zero | plant docs/a.bin;     fires "a large file" stray "docs/a.bin: 300000 bytes"

plant docs/a.md <<<'![a picture](plots/a.svg)'; fires "a link that leads nowhere" docs "docs/a.md: no file 'plots/a.svg'"
lines 301 x | plant docs/a.md;                   fires "a long document" docs "docs/a.md: 301 lines, more than 300"
plant docs/a.md <<<'Use `make MPI=no -j`.';      fires "make without a number of jobs" docs 'docs/a.md:1:Use `make MPI=no -j`.: give -j a number'
plant docs/a.md <<<'```sh mpirun';               fires "two words after a fence" docs 'docs/a.md:1:```sh mpirun: a renderer knows one word after a fence'
lines 151 x | plant README.md;                   fires "a long README" docs "README.md: 151 lines, more than 150"

# The rule of layers, on a tree that has a table, a Makefile and a build. A run of lint takes a while, so
# several breaks are planted for each.
breaks() { # breaks N - the rule itself finds N things, which found looks for
  lint layers
  is "$1 findings" "$rc $(grep -c '^    ' <<<"$out") ${out##*$'\n'}" "1 $1 0 passed, 1 failed"
  [ "$(grep -c '^    ' <<<"$out")" -eq "$1" ] || printf '# %s\n' "$out"
}
found() { ok "$1" grep -q -x -F -- "    $2" <<<"$out"; } # found NAME FINDING
table() { sed -i "$1" tree/CONTRIBUTING.md; }

layered_tree
lint layers
is "layers without a finding, and without a build" "$rc $(grep -c 'ok (16 files, 8 objects not up to date, so their calls were not looked at)' <<<"$out")" "0 1"
lint --strict layers
is "when strict, a build is needed" "$rc $(grep -c 'Makefile:1: calls cannot be looked at: 8 objects are not up to date' <<<"$out")" "1 1"
build_tree
lint --strict layers
is "layers without a finding, with a build" "$rc $(grep -c 'ok (16 files)' <<<"$out")" "0 1"
[ "$rc" -eq 0 ] || printf '# %s\n' "$out"

plant sort/base/x.c <<<$'#include "x.h"\n#include "middle/a.h"\nint x(void) { return 1; }'
plant sort/base/y.h <<<$'# include "../top/other.h"'
plant sort/base/z.h <<<$'#define HEADER "middle/a.h"\n#ifdef NEVER\n#include "nowhere.h"\n#include "top/other.h"\n#endif'
plant sort/top/other.h </dev/null
plant sort/top/other.c <<<$'#include "base/z.h"\n#include "partition/share/share.h"\n#include HEADER'
plant sort/middle/a.c <<<$'#include "base/tests/help.h"\n#include <mpi.h>\nint a(void) { return 1; }'
plant sort/middle/b.c <<<$'#include "../partition/share/share.h"'
plant sort/base/tests/test_x.c <<<$'\n#include "../../../partition/share/share.h"'
table 's/`middle`, //'
breaks 12
found "an include up, in a file newer than the build" "sort/base/x.c:3: includes sort/middle/a.h, but sort/middle/ stands above sort/base/ (CONTRIBUTING.md:6)"
found "an include up in a header, by another path" "sort/base/y.h:2: includes sort/top/other.h, but sort/top/ stands above sort/base/ (CONTRIBUTING.md:5)"
found "an include that this build omits" "sort/base/z.h:5: includes sort/top/other.h, but sort/top/ stands above sort/base/ (CONTRIBUTING.md:5)"
found "an include of nothing" "sort/base/z.h:4: includes nowhere.h, which is not a file of this tree"
found "an include by way of a macro" "sort/top/other.c:1: the compiler reads sort/middle/a.h for it, which no #include names"
found "an include down that the table does not have" "sort/top/main.c:4: includes sort/middle/a.h, but sort/top/ may use only sort/base, partition/include (CONTRIBUTING.md:5)"
found "another part's private header" "sort/middle/b.c:2: includes partition/share/share.h, which is private to partition/"
found "another part's private header, by its path in the tree" "sort/top/other.c:3: includes partition/share/share.h, which is private to partition/"
found "another part's private header in a test" "sort/base/tests/test_x.c:3: includes partition/share/share.h, which is private to partition/"
found "a test's header outside of tests" "sort/middle/a.c:2: includes sort/base/tests/help.h, which is for tests"
found "somebody else's header, in a row that does not name it" "sort/middle/a.c:3: includes <mpi.h>, which sort/middle/ may not (CONTRIBUTING.md:6)"

layered_tree
plant sort/middle/b.h <<<$'#ifndef B_H\n#define B_H\n#include "a.h"\nint b(void);\n#endif'
plant sort/middle/b.c <<<$'#include "b.h"\n\nint b(void) { return a(); }'
plant sort/base/x.c <<<$'int x(void);\nint b(void);\nint x(void) { return b(); }'
build_tree
breaks 3
found "a circle of includes" "sort/middle/a.h:2: a circle: includes sort/middle/b.h, which includes sort/middle/a.h"
found "a call up, without an include" "sort/base/x.c:3: calls b of sort/middle/b.c, but sort/middle/ stands above sort/base/ (CONTRIBUTING.md:6)"
found "a circle of calls, of three files" "sort/base/x.c:3: a circle: calls b of sort/middle/b.c, which calls a of sort/middle/a.c, which calls x of sort/base/x.c"

layered_tree
plant sort/new/a.c <<<'static int new;'; plant sort/new/b.c <<<'static int newer;'
rm tree/partition/share/round.c
plant sort/base/w.c <<<'static int w;'
for i in {10..23}; do plant "sort/middle/m$i.c" <<<'static int m;'; done
table 's|`base` .$|`base`, `top`, `share`, `partition/share` \||'
table '$a | `sort/old/` | gone | - |\n| `sort/base/` | again | - |'
breaks 9
found "a directory without a row" "sort/new/a.c:1: the table of CONTRIBUTING.md has no row for sort/new/"
found "a directory of one module" "partition/share/share.c:1: is the only module in partition/share/"
found "more modules than the row says" "sort/base/w.c:1: sort/base/ has 4 modules, more than 3"
found "more than 15 modules" "sort/middle/a.c:1: sort/middle/ has 16 modules, more than 15"
found "a row that may use what stands above it" "CONTRIBUTING.md:6: sort/middle/ may use sort/top/, which does not stand below it"
found "a row that may use no directory" "CONTRIBUTING.md:6: sort/middle/ may use share/, which is not a directory of this tree"
found "a row that may use what is private" "CONTRIBUTING.md:6: sort/middle/ may use partition/share/, which is private to partition/"
found "a row without a directory" "CONTRIBUTING.md:10: sort/old/ is not a directory of this tree"
found "a directory with two rows" "CONTRIBUTING.md:11: sort/base/ has a row already"

layered_tree
table '/^|/d'
lint layers
found "no table" "CONTRIBUTING.md:1: there is no table of directories"
echo 'nonsense' >>tree/Makefile
lint layers
found "a Makefile that does not work" "include-graph ended with status 2"

# The same in a copy of this tree, with its build.
mkdir copy
(cd "$ROOT" && scripts/tracked-files | grep -E '\.(c|h|cc|awk|mk|py|f90)$|^(Makefile|CONTRIBUTING\.md|VERSION)$' | tar -cf - -T -) | tar -xf - -C copy
if [ -d "$ROOT/build" ]; then ln -s "$ROOT/build" copy/build; fi
sed -i '2i #include "phases/job.h"' copy/sort/kernel/radix.c
sed -i '2i #include "../partition/base/part.h"' copy/sort/model/shares.c
run "$ROOT/scripts/lint" --root copy layers
is "the tree with two forbidden includes is refused" "$rc $(grep -c -F -e 'sort/kernel/radix.c:2: includes sort/phases/job.h, but sort/phases/ stands above sort/kernel/' \
  -e 'sort/model/shares.c:2: includes partition/base/part.h, which is private to partition/' <<<"$out")" "1 2"

good_tree
# The rules that run a tool, if it is installed.
tool_fires() { # tool_fires TOOL NAME RULE WHERE
  if command -v "$1" >/dev/null 2>&1; then shift; fires "$@"; else good_tree; fi
}
printf '{ BasedOnStyle: LLVM }\n' >tree/.clang-format
plant sort/f.c <<<'int   f( void ) ;';    tool_fires clang-format "bad layout" format sort/f.c:2
plant doc.md <<<"T""eh end.";        tool_fires codespell "a typing error" spelling doc.md:1
plant bad.sh <<<'rm $1';                  tool_fires shellcheck "a bad script" shell 'bad.sh:2:4'
printf '#!/bin/sh\nrm $1\n' >tree/tool;   tool_fires shellcheck "a bad script without .sh" shell 'tool:2:4'
printf '.TH X 1\n.SH NAME\n.foo\n' >tree/gensort/man/x.1
tool_fires mandoc "a bad man page" man 'unknown macro'

# A rule that cannot look must not pass.
mkdir empty_path
for tool in bash git grep find sed head mktemp dirname rm tr xargs awk wc cat mv sort; do
  ln -s "$(command -v $tool)" empty_path/
done
PATH=$PWD/empty_path lint format
is "nothing but a missing tool does not pass" "$rc ${out##*$'\n'}" "1 0 passed, 0 failed"
PATH=$PWD/empty_path lint format size
is "a missing tool is omitted" "$rc ${out##*$'\n'}" "0 1 passed, 0 failed"
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
