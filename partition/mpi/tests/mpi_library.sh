#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetpart_mpi as a client sees it: the header by itself, the names in the library, the man page, and
# a client of MPI_Scatterv with one call changed, which prints what it printed before.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"

mpi=$ROOT/partition/mpi lib=$OBJ/libhetpart_mpi.a mpicc=${MPICC:-mpicc}
export OMPI_CC="${CC:-cc}" MPICH_CC="${CC:-cc}"
include="-I$mpi/include -I$ROOT/partition/include"
warn="-Wall -Wextra -Wshadow -Wundef -Werror"

echo '#include <hetpart_mpi.h>' >only.c
echo 'int main(void) { hetpart_mpi_scatter_opts o = HETPART_MPI_SCATTER_OPTS_INIT; hetpart_mpi_farm_opts f = HETPART_MPI_FARM_OPTS_INIT; return (int)o.method + (int)f.chunk; }' >>only.c
cp only.c only.cc
# shellcheck disable=SC2086
ok "only the header, C11" "$mpicc" -std=c11 $warn -Wstrict-prototypes $include -c only.c
cxx=${mpicc/mpicc/mpicxx}
if "$cxx" --version >/dev/null 2>&1; then # it may exist without a compiler
  # shellcheck disable=SC2086
  ok "only the header, C++" "$cxx" -std=c++11 -Wall -Wextra -Wno-cast-function-type -Werror $include -c only.cc
fi

names() { nm --defined-only "$lib" 2>/dev/null | awk '$2 ~ /[TDBR]/ {print $3}' | sort -u; }
header=$mpi/include/hetpart_mpi.h
prototypes() { # one line "type name(arguments)" for each function of the header
  awk '/^HETPART_API/, /;/' "$header" | tr '\n\t' '  ' | sed 's/;/\n/g' |
    sed -e 's/HETPART_API//; s/HETPART_MUST_CHECK//; s/  */ /g; s/^ //; s/ $//' | grep hetpart_ | sort
}
is "the library has the functions of the header, and no others" \
  "$(names | grep '^hetpart_')" "$(prototypes | sed -E 's/^[^(]* (hetpart_[a-z_]+)\(.*/\1/' | sort)"
is "other external names begin with hm_, farm_ or scatter_" "$(names | grep -vE '^(hetpart_mpi|hm|farm|scatter)_')" ""
is "no printing, exit, abort or threads" \
  "$(nm -u "$lib" 2>/dev/null | awk '$1 == "U" {print $2}' | sort -u |
    grep -xE 'printf|fprintf|__f?printf_chk|puts|putchar|stdout|stderr|exit|abort|_exit|__assert_fail|pthread_.*|MPI_Abort|MPI_Comm_set_attr|system')" ""

from_man() {
  awk '/^\.Ft/ { t = substr($0, 5) }
       /^\.Fo/ { f = $2; n = 0; a = "" }
       /^\.Fa/ && f { s = substr($0, 5); gsub(/"/, "", s); a = a (n++ ? ", " : "") s }
       /^\.Fc/ { print t " " f "(" a ")"; f = "" }' "$mpi/man/hetpart_mpi.3" | sort
}
is "the man page has the functions of the header" "$(from_man)" "$(prototypes)"
is "and explains every option and constant" \
  "$(grep -oE '\bHETPART_MPI_[A-Z_]+\b' "$header" | grep -v _H | sort -u | while read -r name; do
    grep -q -F "$name" "$mpi/man/hetpart_mpi.3" || echo "$name"; done)" ""

client=$mpi/examples/scatterv_client.c
# shellcheck disable=SC2086
ok "the client as it was builds" "$mpicc" -std=c11 $warn -DPLAIN $include "$client" -o plain -lm
for ranks in 1 3 4; do
  run timeout 120 "$ROOT/scripts/mpirun" $ranks ./plain
  before="$rc $out"
  run timeout 120 "$ROOT/scripts/mpirun" $ranks "$OBJ/partition/mpi/examples/scatterv_client"
  is "client, $ranks ranks: as before" "$rc $out" "$before"
  is "client, $ranks ranks: the sum" "$rc $out" "0 100003 numbers, sum of square roots 5000250003"
done

# The example of emulation: ranks play several roles, and compute the same as equal processes.
sum=$(awk -v m=11 -v steps=5 'BEGIN {
  for (v = 0; v < m; v++) x[v] = v
  for (; steps > 0; steps--) { for (v = 0; v < m; v++) y[v] = x[v] + x[(v + m - 1) % m]; for (v in y) x[v] = y[v] }
  for (v in x) t += v * x[v]
  print t }')
played() { # played RANKS ROLES RATING... - the number of roles of each rank
  local ranks=$1 roles=$2; shift 2
  run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$OBJ/partition/mpi/examples/roles" 11 5 "$@"
  is "roles, $ranks ranks of speeds $*" "$rc $out" "0 roles: $roles"$'\n'"sum: $sum"
}
played 4 "1 2 4 4" 0.46 0.65 1.61 1.61
played 1 11 3
played 3 "10 0 1" 100 1 10
played 2 "3 8" 1 2
done_testing
