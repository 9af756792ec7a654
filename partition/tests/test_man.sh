#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The man pages have every function of these parts, with the arguments of the header, and none that
# the header lacks; mandoc finds no fault with them. The examples build without a warning and run.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"

header=$ROOT/partition/include/hetpart.h man=$ROOT/partition/man

# One line "type name(arguments)" for each function.
from_header() {
  awk '/^HETPART_API/, /;/' "$header" | tr '\n\t' '  ' | sed 's/;/\n/g' |
    sed -e 's/HETPART_API//; s/HETPART_MUST_CHECK//; s/  */ /g; s/^ //; s/ $//; s/(void)/()/' |
    grep hetpart_ | sort
}
from_man() {
  awk '/^\.Ft/ { t = substr($0, 5); gsub(/"/, "", t) }
       /^\.Fo/ { f = $2; n = 0; a = "" }
       /^\.Fa/ && f { s = substr($0, 5); gsub(/"/, "", s); a = a (n++ ? ", " : "") s }
       /^\.Fc/ { if (a == "void") a = ""; sep = t ~ /\*$/ ? "" : " "; print t sep f "(" a ")"; f = "" }' \
    "$@" | sort
}
pages=("$man"/*.3)
ours='hetpart_(version|status|cost|plan|share|model|wisdom|emulate|farm)[a-z0-9_]*\('
is "every function of these parts has a page" \
  "$(comm -23 <(from_header | grep -E "$ours") <(from_man "${pages[@]}"))" ""
is "the pages say what the header says" \
  "$(comm -13 <(from_header) <(from_man "${pages[@]}"))" ""
if command -v mandoc >/dev/null; then
  is "mandoc finds no fault" "$(mandoc -T lint -W warning "${pages[@]}" 2>&1)" ""
fi

for c in "$ROOT"/partition/examples/*.c; do
  [ -e "$c" ] || continue
  name=$(basename "$c" .c)
  # shellcheck disable=SC2046,SC2086
  ok "example $name builds" ${CC:-cc} -std=c11 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Werror \
    ${SANITIZER:+-fsanitize=$( [ "$SANITIZER" = tsan ] && echo thread || echo address,undefined )} \
    -I"$ROOT/partition/include" "$c" "$OBJ/libhetpart.a" -o "$name" \
    $(pkg-config --libs gsl 2>/dev/null || echo -lgsl -lgslcblas) -lglpk -lm
  run "./$name"
  is "example $name runs" "$rc" 0
  want=${c%.c}.out
  [ ! -e "$want" ] || is "example $name prints what is expected" "$out" "$(cat "$want")"
done
done_testing
