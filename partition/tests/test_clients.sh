#!/usr/bin/env bash
# shellcheck disable=SC2317  # functions are called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs of other authors find an installed library through pkg-config and CMake, in C, C++, Fortran
# and Python, static and shared; and the tree may be moved.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
skip_under_sanitizer
[ -e "$OBJ/$soname" ] || skip_all "no shared library here (SHARED=no)"
unset HETPART_LIBRARY LD_LIBRARY_PATH
export PYTHONDONTWRITEBYTECODE=1
inst=$PWD/inst
ok "install-lib" installation install-lib "$inst"
examples=$inst/share/hetpart/examples
has() { command -v "$1" >/dev/null 2>&1; }

# answers NAME WANTED COMMAND... - the command succeeds, silently on stderr, and prints WANTED
answers() {
  local name=$1 wanted=$2; shift 2
  run "$@"
  is "$name" "$rc${err:+ $err} $(grep -c -F -e "$wanted" <<<"$out")" "0 1"
}
best='best 403.9752296 s'

if has pkg-config; then
  export PKG_CONFIG_PATH=$inst/lib/pkgconfig
  read -ra cflags <<<"$(pkg-config --cflags hetpart)"
  read -ra libs <<<"$(pkg-config --libs hetpart)"
  read -ra static <<<"$(pkg-config --static --libs hetpart)"
  is "a shared library hides its dependencies except mathematics" "${libs[*]}" "-L$inst/lib -lhetpart -lm"
  cc=("${CC:-cc}" -std=c11 -Wall -Wextra -Werror)
  # each by only the documented command line
  for example in "$examples"/*.c; do
    name=$(basename "$example" .c)
    case $name in scatterv_client | roles) continue ;; esac # over MPI: mpi_clients.sh
    ok "C: $name.c builds" "${cc[@]}" "${cflags[@]}" -o "$name" "$example" "${libs[@]}"
  done
  export LD_LIBRARY_PATH=$inst/lib
  answers "C: shares" "238376.188" ./shares
  answers "C: a refusal is printed" "the capacities hold '2300' items of 2500" ./capacity
  answers "C: scatter" "$best" ./scatter
  answers "C: chain" "1 installment: makespan 0.931937" ./chain
  answers "C: learn, first call" "starting without wisdom" ./learn wisdom
  run ./learn wisdom
  is "C: learn, a later call knows from the start" \
    "$rc $(grep -c "without wisdom" <<<"$out") $(awk 'NR == 1 {print $1, $2, $8 <= 1.002 * $6 && $8 < 13.6}' <<<"$out")" \
    "0 0 batch 0: 1"
  unset LD_LIBRARY_PATH
  mv "$inst/lib/libhetpart.so" hidden
  ok "C: builds with only the static library" "${cc[@]}" "${cflags[@]}" -o static "$examples/scatter.c" "${static[@]}"
  mv hidden "$inst/lib/libhetpart.so"
  answers "C: static" "$best" ./static
  export LD_LIBRARY_PATH=$inst/lib
  if has c++; then
    ok "C++: share.cc builds" c++ -std=c++11 -Wall -Wextra -Werror "${cflags[@]}" -o share_cc "$examples/share.cc" "${libs[@]}"
    answers "C++: shares" "2 49339" ./share_cc
    answers "C++: a refusal becomes an exception" "refused: speed of processor 1" ./share_cc
  else left_out "C++: c++ is not installed"; fi
  if has gfortran; then
    ok "Fortran: share.f90 builds" gfortran -std=f2018 -Wall -Wextra -Werror -o share_f \
      "$(pkg-config --variable=fortran_module hetpart)" "$examples/share.f90" "${libs[@]}"
    answers "Fortran: shares" "shares  206873  393127  400000" ./share_f
    answers "Fortran: scatter" "fill 403.9752296" ./share_f
    answers "Fortran: a learnt cost" "learnt  100  200" ./share_f
    answers "Fortran: emulation" "emulated  1  2  7 0.893" ./share_f
    answers "Fortran: a refusal" "refused: the number of items is '18446744073709551615'" ./share_f
    answers "Fortran: texts" "hetpart $version" ./share_f
    ok "Fortran: chain.f90 builds" gfortran -std=f2018 -Wall -Wextra -Werror -o chain_f \
      "$(pkg-config --variable=fortran_module hetpart)" "$examples/chain.f90" "${libs[@]}"
    answers "Fortran: a chain" "lp:  0.897014  8 T T" ./chain_f
    answers "Fortran: a farm's chunks" "farm: 10 chunks," ./chain_f
    answers "Fortran: wisdom as text" "wisdom: a node, speed is 1.5" ./chain_f
    answers "Fortran: wisdom of another machine" "refused: made on 'a node', not on 'another'" ./chain_f
  else left_out "Fortran: gfortran is not installed"; fi
  unset LD_LIBRARY_PATH
else
  left_out "pkg-config is not installed"
fi

if has python3; then
  answers "Python: finds the library by where it was installed" "fill 403.9752296" \
    env PYTHONPATH="$inst/share/hetpart/python" python3 "$examples/share.py"
  answers "Python: shares" "shares [206873, 393127, 400000]" \
    env PYTHONPATH="$inst/share/hetpart/python" python3 "$examples/share.py"
  run env PYTHONPATH="$inst/share/hetpart/python" HETPART_LIBRARY="$PWD/none.so" python3 -c 'import hetpart'
  is "Python: HETPART_LIBRARY rules" "$rc $(tail -n 1 <<<"$err" | cut -d: -f1-2)" \
    "1 ImportError: cannot load libhetpart"
else left_out "Python: python3 is not installed"; fi

# ------------------------------------------------------------------------------------------ CMake
cmake_project() { # cmake_project DIR TREE ARGUMENT... - configure in an empty directory
  local dir=$1 tree=$2; shift 2
  rm -rf "$dir"
  mkdir "$dir"
  cp "$ROOT/partition/tests/clients.cmake" "$dir/CMakeLists.txt"
  env -u PKG_CONFIG_PATH cmake -S "$dir" -B "$dir/build" -DCMAKE_PREFIX_PATH="$tree" -DEXAMPLES="$examples" \
    -DCMAKE_C_COMPILER="${CC:-cc}" "$@" >"$dir/log" 2>&1
}
cmake_build() {
  env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$1/build" >>"$1/log" 2>&1 ||
    { sed 's/^/# /' "$1/log"; false; }
}
needs() { readelf -d "$1" | grep -c "NEEDED.*$soname"; }

if has cmake; then
  languages=C
  if has c++; then languages+=";CXX"; else left_out "CMake with C++"; fi
  if has gfortran; then languages+=";Fortran"; else left_out "CMake with Fortran"; fi
  ok "CMake configures ($languages)" cmake_project shared "$inst" -DLANGUAGES="$languages" -DWANTED="$version"
  ok "CMake builds" cmake_build shared
  answers "CMake, C" "$best" shared/build/scatter
  answers "CMake, C with mathematics" "batch 0:" shared/build/learn
  is "CMake takes the shared library" "$(needs shared/build/scatter)" 1
  if has c++; then answers "CMake, C++" "2 49339" shared/build/share_cc; fi
  if has gfortran; then answers "CMake, Fortran" "fill 403.9752296" shared/build/share_f; fi
  mv "$inst" moved
  examples=$PWD/moved/share/hetpart/examples
  ok "CMake, static library of a tree that was moved" cmake_project static "$PWD/moved" -DLANGUAGES=C \
    -DWANTED=0 -DHETPART_USE_STATIC_LIBS=ON
  ok "it builds" cmake_build static
  answers "it runs" "$best" static/build/scatter
  is "without the shared library" "$(needs static/build/scatter)" 0
  for wrong in 99 "${version%%.*}.99"; do
    cmake_project wrong "$PWD/moved" -DLANGUAGES=NONE -DWANTED="$wrong"
    is "CMake refuses version $wrong" "$? $(grep -c 'compatible with requested' wrong/log)" "1 1"
  done
else
  left_out "cmake is not installed"
fi
done_testing
