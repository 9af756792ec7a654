# shellcheck shell=bash disable=SC2016,SC2317  # planted compilers; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# The build where something is missing says so at once, and what to do; and looks for it once.
. "$ROOT/scripts/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

# A compiler that lacks the header $LACKS, notes what it is asked, and leaves no object.
cat >cc <<'SH'
#!/bin/sh
case " $* " in
  *" -E "*)
    text=$(cat)
    echo "$text" | sed -n 's/^#include <\(.*\)>/\1/p' | tail -n 1 >>looked
    case $text in *"<${LACKS:-no header}>"*) echo "fatal error: no such file" >&2; exit 1 ;; esac ;;
  *) echo compiled >>looked; exit 1 ;;
esac
SH
chmod +x cc
build() { run make -s -C "$ROOT" CC="$PWD/cc" OBJ="$PWD/obj" PROGDIR="$PWD/bin" CFLAGS= MPI=no ISAL="${ISAL:-yes}" "$@"; }
cd "$TEST_TMP" || exit 1
sed -i "s|looked|$PWD/looked|" cc

for header in glpk.h gsl/gsl_sf_lambert.h jansson.h xxhash.h; do
  rm -rf obj looked
  LACKS=$header build all
  is "without $header" "$rc $(head -n 1 <<<"$err")" \
    "2 make: no header '$header' here; run scripts/deps, which installs what is missing"
  is "nothing is compiled then: $header" "$(grep -c compiled looked)" 0
done
rm -rf obj
ISAL=no LACKS=zlib.h build all
ok "without isa-l and zlib" grep -q "^make: no header 'zlib.h' here" <<<"$err"
rm -rf obj
LACKS=jansson.h build "$PWD/obj/partition/base/plan.o"
ok "the planner's library needs no jansson" grep -q compiled looked
rm -rf obj
LACKS=cmocka.h build "$PWD/obj/has/cmocka.h"
ok "without cmocka tests are not built" grep -q "^make: no header 'cmocka.h' here" <<<"$err"
run make -s -C "$ROOT" CC=no-such-compiler OBJ="$PWD/obj" PROGDIR="$PWD/bin" all
is "without a compiler" "$rc $(head -n 1 <<<"$err")" "2 make: no compiler 'no-such-compiler' here; run scripts/deps"

rm -f looked
build "$PWD/obj/has/glpk.h"
build "$PWD/obj/has/glpk.h"
is "an existing header is looked for once" "$rc $(cat looked)" "0 glpk.h"

# The commit that --version -v names: "unknown" without git, and never nothing.
mkdir tree tree/scripts without
# shellcheck disable=SC2016 # git archive expands it, and has done so if this tree is an archive
sed 's/^archived=.*/archived='"'"'$Format:%H$'"'/" "$ROOT/scripts/commit" >tree/scripts/commit && chmod +x tree/scripts/commit
touch tree/.git
for tool in bash sh dirname make mkdir cat; do ln -s "$(command -v $tool)" without/; done
is "without git the commit is unknown" "$(PATH=$PWD/without tree/scripts/commit)" unknown
cp -R without silent
printf '#!/bin/sh\n' >silent/git && chmod +x silent/git
is "and where git says nothing" "$(PATH=$PWD/silent tree/scripts/commit)" unknown
sed -i "s/^archived=.*/archived='1a2b3c4d5e6f7a8b9c0d1a2b3c4d5e6f7a8b9c0d'/" tree/scripts/commit
is "and in an archive, which has no repository, it is the one that git archive has written" "$(PATH=$PWD/without tree/scripts/commit)" 1a2b3c4d5e
sed -n '/^\$(OBJ)\/commit:/,/^\t/p' "$ROOT/Makefile" >tree/rule
printf 'FORCE:\n.PHONY: FORCE\n' >>tree/rule
commit_of() { printf '#!/bin/sh\n%s\n' "$1" >tree/scripts/commit; PATH=$PWD/without make -s -C tree -f rule OBJ=obj obj/commit; cat tree/obj/commit; }
is "a script that fails leaves it unknown" "$(commit_of false)" unknown
is "a commit is noted" "$(commit_of "echo 1a2b3c4")" 1a2b3c4
is "and kept when git is gone" "$(commit_of false)" 1a2b3c4
echo >tree/obj/commit
is "an empty file is not a commit" "$(commit_of "echo unknown")" unknown

run make -s -C "$ROOT" help
listed=$out
targets=$(sed -n 's/^\(bench[a-z -]*\):.*/\1/p' "$ROOT"/bench/bench.mk | tr ' ' '\n' | sort -u)
ok "bench.mk has targets" grep -qx bench-plan <<<"$targets"
for target in $targets; do ok "make help lists $target" grep -q "^  $target " <<<"$listed"; done

for program in hetsort hetsort-report hetsim hetplan gensort valsort cpuburn; do
  run "$BIN/$program" --version
  is "$program --version" "$rc/$err/$out" "0//$program $(cat "$ROOT/VERSION")"$'\nLicense GPLv3+: GNU GPL version 3 or later.'
done
done_testing
