#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The public header compiles by itself, as C11 and as C++, without a warning, and the library calls
# nothing that prints, exits or starts threads.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"

inc=$ROOT/partition/include
echo '#include <hetpart.h>' >only.c
echo 'int main(void) { hetpart_opts o = HETPART_OPTS_INIT; return (int)o.method; }' >>only.c
cp only.c only.cc
warn="-Wall -Wextra -Wshadow -Wundef -Wpedantic -Werror"
# shellcheck disable=SC2086
ok "header by itself, C11" ${CC:-cc} -std=c11 $warn -Wstrict-prototypes -I"$inc" -c only.c
if command -v c++ >/dev/null; then
  # shellcheck disable=SC2086
  ok "header by itself, C++" c++ -std=c++11 $warn -I"$inc" -c only.cc
fi

undefined=$(nm -u "$OBJ"/libhetpart.a 2>/dev/null | awk '$1 == "U" {print $2}' | sort -u)
is "no printing, exit or threads" \
  "$(echo "$undefined" | grep -xE 'printf|puts|putchar|stdout|stderr|exit|abort|_exit|__assert_fail|pthread_.*|rand|srand|time|clock|system')" ""

declared=$(grep -oE '\bhetpart_[a-z0-9_]+\(' "$inc/hetpart.h" | tr -d '(' | sort -u)
defined=$(nm --defined-only "$OBJ"/libhetpart.a | awk '$2 == "T" {print $3}' | grep '^hetpart_' | sort -u)
is "every public function is declared" "$(comm -13 <(echo "$declared") <(echo "$defined"))" ""
is "every declared function exists" "$(comm -23 <(awk '/^HETPART_API/, /;/' "$inc/hetpart.h" |
  grep -oE '\bhetpart_[a-z0-9_]+\(' | tr -d '(' | sort -u) <(echo "$defined"))" ""
is "other external names begin with part_" \
  "$(nm --defined-only "$OBJ"/libhetpart.a | awk '$2 ~ /[TDBR]/ {print $3}' | grep -vE '^(hetpart|part)_')" ""
done_testing
