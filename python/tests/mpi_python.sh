#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Python package hetsort over ranks, with communicators of mpi4py: the order of numpy, and mistakes of one rank,
# which all ranks report.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
skip_under_sanitizer
[ -e "$OBJ/libhetsort.so" ] || skip_all "no shared library here (SHARED=no)"
python=$(python_with numpy mpi4py) || skip_all "no python3 with numpy and mpi4py"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python HETSORT_LIBRARY=$OBJ/libhetsort.so SEED=${SEED:-$RANDOM}
run "$python" -c 'import hetsort._library as l; from mpi4py import MPI; print(
  l.mpi_version() == MPI.Get_library_version().rstrip("\0\n "))'
[ "$out" = True ] || skip_all "mpi4py is of another MPI than this build"
for ranks in 1 2 3; do
  run timeout 240 "$ROOT/scripts/mpirun" "$ranks" "$python" "$ROOT/python/tests/over_ranks.py"
  is "over $ranks ranks" "$rc $(grep -c -x -E '[1-9][0-9]* checks, 0 failed' <<<"$out")" "0 $ranks"
  if [ "$rc" != 0 ] || grep -q '^# ' <<<"$out"; then grep '^# ' <<<"$out" | head -n 20; fi
done
done_testing
