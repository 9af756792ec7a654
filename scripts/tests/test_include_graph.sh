# shellcheck shell=bash disable=SC2317  # functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/include-graph draws the directories of a tree and the arrows between them. Errors that it does not
# allow is test_lint.sh's.
. "$ROOT/scripts/tap.sh"
. "$ROOT/scripts/tests/planted_tree.sh"

graph() { run "$ROOT/scripts/include-graph" --root tree "$@"; }
has_line() { grep -q -x -E -- "$1" <<<"$out"; }

layered_tree
build_tree
graph
is "a tree is drawn" "$rc" 0
ok "the highest directory first, with what it includes" has_line ' *2  sort/top/ +2 +2  sort/middle 1, partition/include 1'
ok "the next below" has_line ' *1  sort/middle/ +2 +4  sort/base 2'
ok "at the foot what includes nothing" has_line ' *0  sort/base/ +3 +4  -'
ok "files without tests" has_line '14 files in 5 directories, 2 in directories of tests'
ok "includes, arrows and none up" has_line '10 includes between files, 4 arrows between directories, 0 includes up'
ok "calls" has_line '5 objects, 5 calls between them, 0 calls up, 0 circles of calls'
ok "no finding" has_line '0 findings.*'
graph --arrows
ok "an arrow of an include has its line" has_line $'include\tsort/middle/b.c\tsort/base/x.h\t3'
ok "an arrow of a call has its name" has_line $'call\tsort/top/main.c\tsort/middle/a.c\ta'

plant sort/base/x.c <<<$'#include "x.h"\n#include "middle/a.h"\nint x(void) { return 1; }'
plant sort/middle/b.h <<<$'#pragma once\n#include "a.h"\nint b(void);'
graph
ok "an arrow up is drawn as one" has_line ' *0  sort/base/ +3 +4  UP to sort/middle 1'
ok "and counted" has_line '[0-9]+ includes between files, 5 arrows between directories, 1 includes up'
ok "a circle is counted" has_line '1 circles of includes'
graph --svg
is "a picture has a box a directory, an arrow an arrow" \
  "$(grep -c '<rect x=' <<<"$out") $(grep -c '<path d="M.*<title>' <<<"$out") $(grep -c 'stroke="red"' <<<"$out") $(tail -n 1 <<<"$out")" "5 5 1 </svg>"
graph --nonsense
is "an unknown argument is refused" "$rc" 2
done_testing
