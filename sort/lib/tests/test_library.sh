#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# libhetsort as a client sees it: only the header, the names in the libraries, the manual, the installed
# files, and an example compiled through pkg-config and CMake.
# shellcheck disable=SC2317  # functions called through ok
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"

inc=$ROOT/sort/include header=$ROOT/sort/include/hetsort.h lib=$OBJ/libhetsort.so.$version
pages=("$ROOT"/sort/man/*.3)
if [ "${HAVE_MPI:-no}" = yes ]; then
  cc=("${MPICC:-mpicc}") defines=''
  export OMPI_CC="${CC:-cc}" MPICH_CC="${CC:-cc}"
else
  cc=("${CC:-cc}") defines=-DHETSORT_NO_MPI
fi
words() { tr -s ' \t\n' ' ' | sed -E 's/ ?([(),*]) ?/\1/g; s/^ //; s/ $//'; }

# The calls that the header declares, with MPI or without.
prototypes() {
  awk -v all="${defines:-mpi}" '/^#ifndef HETSORT_NO_MPI/ {n++} /^#endif \/\* HETSORT_NO_MPI/ {n = 0}
    n > 1 && all != "mpi" {next} /^HETSORT_API/, /;/ {printf "%s ", $0} /;$/ {print ""}' "$header" |
    grep HETSORT_API | sed -E 's/HETSORT_(API|MUST_CHECK)//g; s/;//' |
    while IFS= read -r line; do words <<<"$line"; echo; done | sed '/^$/d' | sort
}
calls() { prototypes | grep -oE '\bhetsort_[a-z_]+\(' | tr -d '(' | sort; }
ok "the header declares calls" test "$(calls | wc -l)" -ge 4

# ------------------------------------------------------------------------------------ the header
echo '#include <hetsort.h>' >single_rank.c
echo 'int main(void) { hetsort_opts o = HETSORT_OPTS_INIT; return (int)o.record_bytes + HETSORT_OK; }' >>single_rank.c
cp single_rank.c only_header.cc
warn="-Wall -Wextra -Wshadow -Wundef -Werror"
for define in $defines -DHETSORT_NO_MPI; do
  # shellcheck disable=SC2086
  ok "only the header, C11, $define" "${CC:-cc}" -std=c11 $warn -Wpedantic -Wstrict-prototypes $define -I"$inc" -c single_rank.c
  if command -v c++ >/dev/null; then
    # shellcheck disable=SC2086
    ok "only the header, C++, $define" c++ -std=c++11 $warn -Wpedantic $define -I"$inc" -c only_header.cc
  fi
done
if [ -z "$defines" ]; then
  # shellcheck disable=SC2086
  ok "only the header, C11 with MPI" "${cc[@]}" -std=c11 $warn -Wstrict-prototypes -I"$inc" -c single_rank.c
  mpicxx=${MPICC:-mpicc} mpicxx=${mpicxx/mpicc/mpicxx}
  if "$mpicxx" --version >/dev/null 2>&1; then # it may exist without a compiler
    # shellcheck disable=SC2086
    ok "only the header, C++ with MPI" "$mpicxx" -std=c++11 $warn -Wno-cast-function-type -I"$inc" -c only_header.cc
  fi
fi

# ---------------------------------------------------------------------------------- the libraries
names() { nm --defined-only --extern-only "$1" 2>/dev/null | awk 'NF == 3 {print $3}' | sort -u; }
is "the static library has the header's calls, and no other external name" "$(names "$OBJ/libhetsort.a")" "$(calls)"
# A build for coverage keeps code that nothing calls.
is "no printing, exit or abort in it" \
  "$([ "${SANITIZER:-}" = coverage ] || nm -u "$OBJ/libhetsort.a" 2>/dev/null | awk '$1 == "U" {print $2}' |
    grep -xE '_?_?(v?f?printf)(_chk)?|puts|putchar|perror|stdout|stderr|exit|abort|_exit|__assert_fail|MPI_Abort|system|fopen(64)?')" ""
is "few calls open something: the memory of another rank, and with MPI the number of the kernel" \
  "$([ -n "${SANITIZER:-}" ] || readelf -W -r "$OBJ/libhetsort.a" 2>/dev/null | grep -cE ' open(at)?(64)?( |$)')" \
  "$([ -n "${SANITIZER:-}" ] || { [ "${HAVE_MPI:-no}" = yes ] && echo 2; } || echo 1)"
is "no static data that can be written" \
  "$([ -n "${SANITIZER:-}" ] || size -A "$OBJ/libhetsort.a" 2>/dev/null | awk '$1 ~ /^\.t?(data|bss)$/ && $2 > 0')" ""
if [ -e "$lib" ]; then
  is "exactly the header's calls are exported" \
    "$(nm -D --defined-only "$lib" | awk '$2 != "A" {sub(/@.*/, "", $3); print $3}' | sort)" "$(calls)"
  is "all with the version of the release that brought them, as in the Debian package" \
    "$(nm -D --defined-only "$lib" | awk '{sub(/@@/, "@", $3); print $2 == "A" ? $3 "@" $3 : $3}' | sort)" \
    "$([ -n "$defines" ] || sed -nE 's/^ ([A-Za-z_0-9.]+@[A-Z_0-9.]+) .*/\1/p' "$ROOT/debian/libhetsort0.symbols" | sort)"
  is "the soname is the major version" \
    "$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')" "libhetsort.so.${version%%.*}"
  is "links lead to it" "$(readlink -f "$OBJ/libhetsort.so")" "$(readlink -f "$lib")"
  is "nothing is undefined" \
    "$([ -n "${SANITIZER:-}" ] || LD_LIBRARY_PATH=$OBJ ldd -r "$lib" 2>&1 | grep -E 'undefined|not found')" ""
fi
defines='' # the map and the manual hold the calls of both
is "the map names the header's calls" \
  "$(sed -n '/global:/,/[*]/s/^[[:blank:]]\([a-z_]*\);$/\1/p' "$ROOT/sort/lib/hetsort.map" | sort)" "$(calls)"

# ------------------------------------------------------------------------------------- the manual
is "each call is named in the NAME of a page, once, and nothing else is" \
  "$(awk -f "$ROOT/partition/pkg/man-names.awk" "${pages[@]}" | cut -d' ' -f1 | grep -vx hetsort | sort)" "$(calls)"
page_prototypes() {
  awk 'function strip(s) { gsub(/"/, "", s); return s }
    /^\.Sh / { synopsis = $2 == "SYNOPSIS" }
    !synopsis { next }
    /^\.Ft / { type = substr($0, 5) }
    /^\.Fo / { call = $2; args = "" }
    /^\.Fa / { args = args (args ? "," : "") strip(substr($0, 5)) }
    /^\.Fc/ { print type " " call "(" args ")" }
    /^\.Fn / { call = $2; print type " " call "(" strip(substr($0, 6 + length(call))) ")" }' "${pages[@]}" |
    while IFS= read -r line; do words <<<"$line"; echo; done | sed '/^$/d' | sort
}
is "prototypes are the header's" "$(page_prototypes)" "$(prototypes)"
is "each status and option is explained" \
  "$(sed -nE 's/^\t(HETSORT_[A-Z_]+) = [0-9]+,?.*/\1/p; s/^\t[a-z_0-9 ]+ \*?([a-z_]+); .*/\1/p' "$header" |
    grep -vx text | while read -r name; do grep -q -F "$name" "$ROOT/sort/man/hetsort.3" || echo "$name"; done)" ""
if command -v mandoc >/dev/null; then
  is "mandoc has nothing to say" "$(mandoc -T lint -W warning "${pages[@]}" 2>&1)" ""
fi

# ------------------------------------------------------------------------------------ installation
contents() { (cd "$1" && find . ! -type d | sort); }
ok "make install" installation install "$PWD/inst"
for f in lib/libhetsort.a include/hetsort.h lib/pkgconfig/hetsort.pc lib/cmake/hetsort/hetsort-config.cmake \
  lib/cmake/hetsort/hetsort-config-version.cmake share/hetsort/examples/particles.c share/man/man3/hetsort.3 \
  share/man/man3/hetsort_sort_counts.3 share/hetpart/python/hetsort/__init__.py share/hetsort/examples/times.py; do
  ok "installed: $f" test -s "inst/$f"
done
is "no place holder is left" "$(grep -rlE '@[A-Z_]+@' inst/lib/pkgconfig inst/lib/cmake)" ""
is "a page that is shared is found" "$(cat inst/share/man/man3/hetsort_share.3)" ".so man3/hetsort_sort.3"

done_installed() {
  ok "make uninstall" installation uninstall "$PWD/inst" MPI=no
  is "leaves no file" "$(contents inst)" ""
  is "and no directory of its own" "$(find inst -name 'hetsort' -o -name examples)" ""
  done_testing
}
if [ -n "${SANITIZER:-}" ]; then left_out "clients: sanitizers"; done_installed; exit; fi

pc() { PKG_CONFIG_PATH=$PWD/inst/lib/pkgconfig pkg-config "$@" hetsort; }
stock=$ROOT/sort/examples/stock.c
if command -v pkg-config >/dev/null; then
  is "pkg-config prints the version" "$(pc --modversion)" "$version"
  # shellcheck disable=SC2046
  ok "stock.c, shared" "${cc[@]}" -std=c11 -Wall -Wextra -Werror "$stock" $(pc --cflags --libs) -o stock
  run env LD_LIBRARY_PATH="$PWD/inst/lib" ./stock
  is "its answer" "$out" "$(cat "$ROOT/sort/examples/stock.out")"
  # shellcheck disable=SC2046
  ok "stock.c, static" "${cc[@]}" -std=c11 "$stock" $(pc --cflags --static) inst/lib/libhetsort.a \
    inst/lib/libhetpart.a $(pc --static --libs | sed 's/-lhet[a-z]*//g') -o stock.static
  run ./stock.static
  is "the same answer" "$out" "$(cat "$ROOT/sort/examples/stock.out")"
  if command -v c++ >/dev/null; then
    # shellcheck disable=SC2046
    ok "C++17, hetsort.hpp" c++ -std=c++17 -Wall -Wextra -Wshadow -Wpedantic -Werror -DHETSORT_NO_MPI \
      "$ROOT/sort/lib/tests/cxx_test.cc" $(pc --cflags --libs) -o cxx
    run env LD_LIBRARY_PATH="$PWD/inst/lib" ./cxx
    is "sorts as std::stable_sort" "$rc $(grep '^not ok' <<<"$out") $(tail -n 1 <<<"$out")" "0  1..14"
  else left_out "C++: c++ is not installed"; fi
else left_out "pkg-config is not installed"; fi

if command -v cmake >/dev/null; then
  cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.10)
project(client LANGUAGES ${LANGUAGES})
find_package(hetsort ${WANTED} REQUIRED CONFIG)
add_executable(stock ${SOURCES})
target_link_libraries(stock PRIVATE ${TARGET})
CMAKE
  cmake_client() { # cmake_client DIR ARGUMENT...
    local dir=$1; shift
    if ! { env -u PKG_CONFIG_PATH -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake -S . -B "$dir" \
      -DCMAKE_PREFIX_PATH="$PWD/inst" -DCMAKE_C_COMPILER="${CC:-cc}" -DLANGUAGES=C -DSOURCES="$stock" -DTARGET=hetsort::hetsort "$@" &&
      env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$dir"; } >"$dir.log" 2>&1; then
      sed 's/^/# /' "$dir.log"
      return 1
    fi
  }
  for kind in OFF ON; do
    ok "a CMake client, static libraries $kind" cmake_client "build.$kind" -DWANTED="$version" -DHETSORT_USE_STATIC_LIBS=$kind
    run "build.$kind/stock"
    is "its answer" "$out" "$(cat "$ROOT/sort/examples/stock.out")"
  done
  mv inst moved
  moved=-DCMAKE_PREFIX_PATH=$PWD/moved
  ok "a tree that was moved" cmake_client build.moved "$moved"
  run build.moved/stock
  is "its answer" "$out" "$(cat "$ROOT/sort/examples/stock.out")"
  if command -v c++ >/dev/null; then
    cp single_rank.c single_rank.cc
    ok "a project in C++ only" cmake_client build.cxx "$moved" -DLANGUAGES=CXX -DSOURCES="$PWD/single_rank.cc"
  else left_out "CMake with C++"; fi
  if command -v gfortran >/dev/null; then
    echo 'program p; use hetsort; implicit none; print "(A)", hetsort_string(hetsort_version()); end program' >version.f90
    ok "a project in C and Fortran" cmake_client build.f "$moved" "-DLANGUAGES=C;Fortran" -DSOURCES="$PWD/version.f90" -DTARGET=hetsort::fortran
    run build.f/stock
    is "its answer" "$out" "$version"
  else left_out "CMake with Fortran"; fi
  mv moved inst
  ok "a version that does not exist is refused" test "$(cmake_client wrong -DWANTED=99 | grep -c 'compatible with requested')" -ge 1
else left_out "cmake is not installed"; fi
done_installed
