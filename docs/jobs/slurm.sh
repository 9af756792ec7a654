#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsort as a job of Slurm: sbatch --nodes=4 --time=60 slurm.sh -o sorted.dat data.dat
# Two minutes before its time is over, the job receives a signal. The sort then stops where a later job can continue;
# while it merges, it continues until the time is over. Unless it succeeds, the job is put back into the queue, and
# later continues with the files in the directory work. There is one rank per node, which uses all of its processors.
#SBATCH --job-name=hetsort
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

again() { kill -USR1 $!; wait $! || scontrol requeue "$SLURM_JOB_ID"; }
trap again USR1
trap : TERM # the time is over: this shell stays alive for `again`

# Or use mpirun instead of srun and its two options.
srun --mpi=pmix --kill-on-bad-exit hetsort --workdir work --resume "$@" &
wait $! || wait $! # a signal ends the first one; the second has the status of the sort
