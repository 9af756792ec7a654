# shellcheck shell=bash disable=SC2016,SC2317  # planted scripts; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/mpirun with planted MPIs: the options each needs, and a clear message if there is no MPI.
. "$ROOT/scripts/tap.sh"

stub() { cat >"$1" && chmod +x "$1"; }
mkdir bare
for tool in bash cat dirname; do ln -s "$(type -P $tool)" bare/; done
cp -R bare open_mpi; cp -R bare mpich; cp -R bare half
for dir in open_mpi mpich; do
  stub $dir/mpicc </dev/null
  stub $dir/mpirun <<<'#!/bin/sh
if [ "$1" = --version ]; then echo "$FAKE"; else echo "root=$OMPI_ALLOW_RUN_AS_ROOT $*"; echo "hwloc $HWLOC_HIDE_ERRORS $HWLOC_PLUGINS_BLACKLIST" >&2; exit 5; fi'
done
stub half/mpirun </dev/null

mpi() { local dir=$1; shift; run env -u MPICC PATH="$PWD/$dir" "$(type -P bash)" "$ROOT/scripts/mpirun" "$@"; }

FAKE='mpirun (Open MPI) 4.1.4' mpi open_mpi 4 prog -x 'a b'
is "Open MPI may run as root" "${out%% *}" root=1
ok "with more ranks than cores" grep -q -e ' --oversubscribe .*-n 4 prog -x a b$' <<<"$out"
is "hwloc prints nothing, and asks no display" "$err" "hwloc 2 hwloc_gl.so"
HWLOC_PLUGINS_BLACKLIST=hwloc_cuda.so FAKE='mpirun (Open MPI) 4.1.4' mpi open_mpi 4 prog
is "in addition to those that the user excludes" "$err" "hwloc 2 hwloc_cuda.so,hwloc_gl.so"
is "the program's status comes back" "$rc" 5
FAKE='HYDRA build details:' mpi mpich 4 prog -x
is "another MPI gets plain options" "$out" 'root= -n 4 prog -x'
FAKE='mpirun (Open MPI) 4.1.4' mpi open_mpi --here
is "--here: there is one" "$rc$out" 0
mpi open_mpi 4
is "no program is a usage error" "$rc $err" "2 usage: mpirun RANKS PROGRAM [ARGUMENT...]"
mpi bare --here
is "--here: there is no MPI" "$rc" 77
ok "and that is reported" grep -q 'no MPI here' <<<"$err"
mpi half --here
is "without mpicc programs are built without MPI, and mpirun must not start them" "$rc" 77
done_testing
