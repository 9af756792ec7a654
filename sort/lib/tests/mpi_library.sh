#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetsort's calls over ranks: the right answer; misuse or lack of memory on one rank is reported on
# all of them; then as installed: the example and the one in the manual.
# shellcheck disable=SC2317  # functions called through ok
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
mpicc=${MPICC:-mpicc}
mpicxx=${mpicc/mpicc/mpicxx} mpifort=${mpicc/mpicc/mpifort}
export UCX_MEM_EVENTS=no # UCX, which MPICH may use, would replace calls that the shim counts
client() { # client SOURCE - as its comment says
  # shellcheck disable=SC2046
  "$mpicc" -std=c11 -Wall -Wextra -Werror "$1" -o client \
    $(PKG_CONFIG_PATH=$PWD/inst/lib/pkgconfig pkg-config --cflags --libs hetsort)
}
over() { run env LD_LIBRARY_PATH="$PWD/inst/lib" timeout 120 "$ROOT/scripts/mpirun" "$1" ./client; }

flags() { PKG_CONFIG_PATH=$PWD/inst/lib/pkgconfig pkg-config "$@" hetsort; }
stars() {
  # shellcheck disable=SC2046
  ok "C++: stars.cc" "$mpicxx" -std=c++17 -Wall -Wextra -Werror -Wno-cast-function-type inst/share/hetsort/examples/stars.cc \
    -o client $(flags --cflags --libs)
  over 3
  is "C++: the heaviest first, shares of 1:2:1" "$rc $(grep -c 'the same by numbers' <<<"$out") $(grep masses <<<"$out" | sort -k2n | awk '
    NR > 1 && $6 > last {bad++} $8 > $6 {bad++} {last = $8; n[NR] = $3}
    END {print n[1] + n[2] + n[3], (n[2] - 2 * n[1]) ^ 2 <= 4, (n[2] - 2 * n[3]) ^ 2 <= 4, bad + 0}')" "0 3 3030 1 1 0"
}
masses() {
  # shellcheck disable=SC2046
  ok "Fortran: masses.f90" "$mpifort" -std=f2018 -Wall -Wextra -Werror $(flags --variable=fortran_module) \
    inst/share/hetsort/examples/masses.f90 -o client $(flags --libs)
  over 3
  is "Fortran: each rank has its masses" "$rc $(grep bodies <<<"$out" | sort -k2n | awk '{print $3, $6 + 0, $8 + 0}')" \
    "0 $(awk 'BEGIN {for (r = 0; r < 3; r++) for (i = 1; i <= 100 + r; i++) print (i * 37 + r * 11) % 50 / 4}' | sort -rn |
      awk '{m[NR] = $1} END {print 100, m[1], m[100]; print 101, m[101], m[201]; print 102, m[202], m[303]}')"
  is "Fortran: the masses by number, in equal shares" "$(grep numbers <<<"$out" | sort -k2n | awk '{print $3, $6 + 0, $8 + 0}')" \
    "$(awk 'BEGIN {for (r = 0; r < 3; r++) for (i = 1; i <= 100 + r; i++) print (i * 37 + r * 11) % 50 / 4}' | sort -rn |
      awk '{m[NR] = $1} END {for (r = 0; r < 3; r++) print 101, m[101 * r + 1], m[101 * r + 101]}')"
  is "Fortran: a refusal, and the version" "$(grep refused <<<"$out")" "refused by $version: record_bytes is '0': must be 1 to 65536"
}

clients() { # the examples, as their authors would build them
  local ranks
  export OMPI_CC="${CC:-cc}" MPICH_CC="${CC:-cc}"
  ok "make install" installation install "$PWD/inst"
  ok "particles.c" client inst/share/hetsort/examples/particles.c
  for ranks in 1 2 3 4; do
    over $ranks
    # all particles; ranks in order, so that no cell is below the last one of the rank before; shares
    # of 1:2 to within a record
    is "particles, $ranks ranks" "$rc $(sort -k2n <<<"$out" | awk -v ranks=$ranks '
      { n += $3; got[NR - 1] = $3; bad += $6 < last || $8 < $6; last = $8 }
      END { for (i = 0; i < ranks; i++) { want += 10000 + 100 * i; parts += 1 + i % 2 }
            for (i = 0; i < ranks; i++) { d = got[i] - want * (1 + i % 2) / parts; bad += d * d > 1 }
            print NR, n - want, bad + 0 }')" "0 $ranks 0 0"
  done
  ok "columns.c" client inst/share/hetsort/examples/columns.c
  over 3
  is "columns: they belong together, in order over all ranks" "$rc $(sort -k2n <<<"$out" | awk '
    { n += $3; bad += $6 < last || $8 + 0 < $6 || $9 > 0; last = $8 + 0 } END { print NR, n, bad + 0 }')" "0 3 3030 0"
  ok "dtcmp_pairs.c" client inst/share/hetsort/examples/dtcmp_pairs.c
  over 3
  is "pairs: both keys in their directions, over all ranks" "$rc $(sort -k1n -k2n <<<"$out" | cut -d' ' -f3,4)" \
    "0 $(awk 'BEGIN {for (r = 0; r < 3; r++) for (i = 0; i < 10; i++) print (i * 7 + r * 3) % 5 - 2, 10 * i + r}' | sort -k1,1n -k2,2nr)"
  ok "mpsort_integers.c" client inst/share/hetsort/examples/mpsort_integers.c
  over 3
  is "integers, as qsort() has them" "$rc $(grep -c ': 3333[34] integers, right' <<<"$out")" "0 3"
  if "$mpicxx" --version >/dev/null 2>&1; then stars; else left_out "C++: $mpicxx is not installed"; fi
  if "$mpifort" --version >/dev/null 2>&1; then masses; else left_out "Fortran: $mpifort is not installed"; fi
  awk '/^\.Bd -literal/ {on = 1; next} /^\.Ed/ {on = 0} on' "$ROOT/sort/man/hetsort.3" | sed 's/\\e/\\/g' >manual.c
  ok "the manual's example builds" client manual.c
  over 3
  is "and its ranks are in order" \
    "$rc $(sort -k2n <<<"$out" | awk '{bad += $5 < last; last = $7} END {print NR, bad + 0}')" "0 3 0"
  awk '/^```c$/ {inside = 1; next} /^```/ {inside = 0} inside' "$ROOT/README.md" >readme.c
  ok "the README's example builds" client readme.c
  over 2
  is "and runs" "$rc $err" "0 "
}

# shellcheck disable=SC2034  # for over_ranks
tests=$OBJ/sort/lib/tests/mpi
over_ranks library_test 1 2 3 4 7
over_ranks misuse_test 1 2 3
[ "${SANITIZER:-coverage}" = coverage ] && over_ranks oom_test 1 2 3 # the shim and the sanitizers replace the same calls
for level in 0 3; do
  run timeout 240 "$ROOT/scripts/mpirun" 3 "$OBJ/sort/lib/tests/mpi/library_test" $level
  is "library_test, thread level $level" "$rc $(grep -c -x -E '[1-9][0-9]* checks, 0 failed' <<<"$out")" "0 1"
done

run timeout 240 "$ROOT/scripts/mpirun" 3 "$OBJ/bench/library_bench" 20011 1
is "the benchmark: a line for each variant, all validated" "$rc $(grep -c '^{"bench": "library".*}$' <<<"$out")" "0 4"

done_under_sanitizer
if command -v pkg-config >/dev/null; then clients; else left_out "pkg-config is not installed"; fi
done_testing
