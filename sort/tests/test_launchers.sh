#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Variables of launchers without a job, as a subprocess of a rank, a batch script or a container inherits them, with
# the program, hetsort.sort_file() of Python and the library: nothing hangs, and nothing fails without a message.
# --launcher=none sorts in any case. mpi_launchers.sh has the rows that need mpirun.
set -u
. "$ROOT/scripts/tap.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 1000 in && "$hetsort" -o sorted in || exit 1
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python HETSORT_LIBRARY=$OBJ/libhetsort.so HETSORT_PROGRAM=$hetsort
python=
if [ -e "$OBJ/libhetsort.so" ] && [ -z "${SANITIZER:-}" ]; then python=$(python_with numpy) || python=; fi

under() { # under COMMAND... - run it with the variables of $stale
  # shellcheck disable=SC2086 # words
  run timeout 120 env $stale "$@"
}
sorts() { # sorts NAME COMMAND... - it writes the sorted records to `out`, and says nothing
  local name=$1; shift
  rm -f out
  under "$@"
  is "$name" "$rc/$err/$(cmp sorted out 2>&1)" 0//
}
fails() { # fails NAME MESSAGE COMMAND... - it is refused, and says so once
  local name=$1 message=$2; shift 2
  under "$@"
  is "$name: refused" "$rc" 2
  is "$name: one message" "$(grep -c '^hetsort: ' <<<"$err")" 1
  ok "$name: the message" grep -q -e "$message" <<<"$err"
}

while IFS=: read -r launcher stale; do
  sorts "$launcher: none" "$hetsort" --launcher=none -o out in
  sorts "$launcher: none, two ranks" "$hetsort" --launcher=none --ranks 2 -o out in
  # shellcheck disable=SC2016 # expanded by sh
  sorts "$launcher: none, as a filter" sh -c '"$0" --launcher=none <in >out' "$hetsort"
  sorts "$launcher: none, the last option" "$hetsort" -o out --timeout 60 in --launcher=none
  under "$hetsort" --launcher=none --check sorted
  is "$launcher: none, --check" "$rc/$err" 0/
  under "$hetsort" --launcher=none --check in
  is "$launcher: none, --check of a disorder" "$rc/$(grep -c 'is out of order' <<<"$err")" 1/1
  fails "$launcher: none, no input" "cannot open input 'none'" "$hetsort" --launcher=none -o out none
  fails "$launcher: usage" "unknown option '--nosuch'" "$hetsort" --nosuch
  [ -z "$python" ] || { under "$python" "$ROOT/python/tests/launchers.py" plain
    is "$launcher: sort_file and the library" "$rc/$out/$err" "0/rank 0: 1 rank, file True, library True/"; }
done <<'END'
no launcher:
Open MPI, first:OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=0 OMPI_COMM_WORLD_LOCAL_SIZE=4
Open MPI:OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1 PMIX_RANK=1 PMIX_NAMESPACE=7
MPICH:PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=4 PMI_FD=9
PMIx:PMIX_RANK=2 PMIX_NAMESPACE=7 PMIX_SERVER_URI2=7.0;tcp4://127.0.0.1:1
a step of Slurm:SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4
a batch script of Slurm:SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NTASKS=4
LAM:LAMRANK=1
END

# Slurm does not start ranks by these variables, so hetsort needs no MPI: each process is a job.
stale="SLURM_PROCID=1 SLURM_LOCALID=1 SLURM_NTASKS=4"
sorts "batch script: sorted" "$hetsort" -o out in
# shellcheck disable=SC2016 # expanded by sh
sorts "batch script: as a filter" sh -c '"$0" <in >out' "$hetsort"
fails "batch script: no input" "cannot open input 'none'" "$hetsort" -o out none
fails "batch script: no MPI launcher" "mpi: no MPI launcher has started this process; use mpirun" "$hetsort" --launcher=mpi -o out in
stale="SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=4"
for wish in "-o out" --check; do
  # shellcheck disable=SC2086 # words
  fails "each of four: $wish" "4 processes were started, but MPI joins 1.* use --launcher=none" "$hetsort" $wish in
done
stale="OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2"
fails "the rank is named" "^hetsort: rank 1 ($(hostname)), starting: no input file" "$hetsort" -o out
stale=
fails "mpi, but no launcher" "use mpirun, or srun" "$hetsort" --launcher=mpi -c in
done_testing
