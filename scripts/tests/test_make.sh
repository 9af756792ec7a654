# shellcheck shell=bash disable=SC2016,SC2317  # planted compilers; functions called through ok
# The build where something is missing says so at once, and what to do; and looks for it once.
. "$ROOT/scripts/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL

# A compiler that has not the header $LACKS, notes what it is asked, and leaves no object.
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

for header in glpk.h jansson.h xxhash.h; do
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
is "a header that is there is looked for once" "$rc $(cat looked)" "0 glpk.h"
done_testing
