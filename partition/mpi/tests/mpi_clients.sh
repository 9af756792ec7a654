#!/usr/bin/env bash
# shellcheck disable=SC2317  # functions are called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# Programs of others find an installed libhetpart_mpi, shared and static: through pkg-config and
# through CMake, from an empty directory, also when the tree was moved; what the library exports.
# shellcheck source=partition/tests/over_ranks.sh
. "$ROOT/partition/tests/over_ranks.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
skip_under_sanitizer
[ -e "$OBJ/$soname" ] || skip_all "no shared library here (SHARED=no)"
unset LD_LIBRARY_PATH
export OMPI_CC="${CC:-cc}" MPICH_CC="${CC:-cc}"
inst=$PWD/inst mpi_soname=libhetpart_mpi.so.${version%%.*} lib=$OBJ/libhetpart_mpi.so.$version
mpi_calls() {
  awk '/^HETPART_API/, /;/' "$ROOT/partition/mpi/include/hetpart_mpi.h" |
    grep -oE '\bhetpart_mpi_[a-z0-9_]+\(' | tr -d '(' | sort -u
}
needs() { readelf -d "$1" | sed -n 's/.*NEEDED.*\[\(libhetpart.*\)\]/\1/p' | sort | tr '\n' ' '; }

is "exactly the header's calls are exported, with their version" \
  "$(nm -D --defined-only "$lib" | awk '$2 != "A" {print $3}' | sort)" "$(mpi_calls | sed 's/$/@@HETPART_MPI_0/')"
is "and the map names no other" \
  "$(sed -n '/global:/,/local:/s/^[[:blank:]]*\(.*\);$/\1/p' "$ROOT/partition/mpi/hetpart_mpi.map" | sort)" "$(mpi_calls)"
is "the soname is the major version" "$(readelf -d "$lib" | sed -n 's/.*SONAME.*\[\(.*\)\].*/\1/p')" "$mpi_soname"
is "it needs the shared libhetpart" "$(needs "$lib")" "$soname "

ok "install-lib" installation install-lib "$inst"
is "its names lead to the file" \
  "$(readlink "$inst/lib/libhetpart_mpi.so") $(readlink "$inst/lib/$mpi_soname")" \
  "libhetpart_mpi.so.$version libhetpart_mpi.so.$version"

answers() { # answers NAME PROGRAM - over 1 and 3 ranks
  local ranks
  for ranks in 1 3; do
    run timeout 120 "$ROOT/scripts/mpirun" "$ranks" "$2"
    is "$1, $ranks ranks" "$rc $out" "0 100003 numbers, sum of square roots 5000250003"
  done
}
client() { # client PROGRAM LIBRARY... - the example in an empty directory, only by the documented line
  local program=$1; shift
  "${MPICC:-mpicc}" -std=c11 -Wall -Wextra -Werror "${cflags[@]}" -o "$program" \
    "${source:-$inst/share/hetpart/examples/scatterv_client.c}" "$@"
}
if command -v pkg-config >/dev/null; then
  export PKG_CONFIG_PATH=$inst/lib/pkgconfig
  read -ra cflags <<<"$(pkg-config --cflags hetpart_mpi)"
  read -ra libs <<<"$(pkg-config --libs hetpart_mpi)"
  read -ra static <<<"$(pkg-config --static --libs hetpart_mpi)"
  is "pkg-config prints the version" "$(pkg-config --modversion hetpart_mpi)" "$version"
  ok "a client builds" client ./shared "${libs[@]}"
  source=$ROOT/bench/scatter_client.c ok "and so does the client of the experiments" client ./measured "${libs[@]}"
  is "with the shared libraries" "$(needs shared | grep -c "$mpi_soname")" 1
  export LD_LIBRARY_PATH=$inst/lib
  answers "pkg-config, shared" ./shared
  unset LD_LIBRARY_PATH
  mkdir hidden
  mv "$inst"/lib/libhetpart*.so hidden/
  ok "a client builds with only the static libraries" client ./static "${static[@]}"
  mv hidden/* "$inst/lib/"
  is "without the shared libraries" "$(needs static)" ""
  answers "pkg-config, static" ./static
else left_out "pkg-config is not installed"; fi

cmake_client() { # cmake_client DIR TREE ARGUMENT... - configure and build
  local dir=$1 tree=$2; shift 2
  mkdir "$dir"
  cp "$ROOT/partition/tests/clients.cmake" "$dir/CMakeLists.txt"
  {
    env -u PKG_CONFIG_PATH cmake -S "$dir" -B "$dir/build" -DCMAKE_PREFIX_PATH="$tree" -DLANGUAGES=C \
      -DEXAMPLES="$tree/share/hetpart/examples" -DCMAKE_C_COMPILER="${CC:-cc}" -DMPI_C_COMPILER="${MPICC:-mpicc}" \
      -DPARTS=mpi "$@" &&
      env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL cmake --build "$dir/build"
  } >"$dir/log" 2>&1
}
if command -v cmake >/dev/null; then
  mv "$inst" moved
  ok "CMake, a tree that was moved" cmake_client by_cmake "$PWD/moved"
  is "CMake takes the shared libraries" "$(needs by_cmake/build/scatterv_client | grep -c "$mpi_soname")" 1
  answers "CMake, shared" by_cmake/build/scatterv_client
  ok "CMake, static" cmake_client by_cmake_static "$PWD/moved" -DHETPART_USE_STATIC_LIBS=ON
  is "CMake takes the static libraries" "$(needs by_cmake_static/build/scatterv_client)" ""
  answers "CMake, static" by_cmake_static/build/scatterv_client
  if command -v c++ >/dev/null; then
    printf '#include <hetpart_mpi.h>\nint main() { return !hetpart_version(); }\n' >client.cc
    ok "CMake, a project in C++ only" cmake_client by_cxx "$PWD/moved" -DLANGUAGES=CXX -DCXX_CLIENT="$PWD/client.cc"
  else left_out "CMake with C++"; fi
  cmake_client wrong "$PWD/moved" -DPARTS=tea
  is "CMake refuses a component that does not exist" "$? $(grep -c "no component 'tea'" wrong/log)" "1 1"
  rm moved/lib/libhetpart_mpi.*
  cmake_client gone "$PWD/moved"
  is "and one that was not installed" "$? $(grep -c "no component 'mpi'" gone/log)" "1 1"
  mv moved "$inst"
else left_out "cmake is not installed"; fi

ok "uninstall" installation uninstall "$inst"
is "leaves nothing" "$(find "$inst" ! -type d)" ""
done_testing
