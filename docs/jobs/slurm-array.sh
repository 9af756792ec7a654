#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One hetsort for each of several files, as an array of jobs of Slurm: sbatch --array=1-3 --time=60 slurm-array.sh a.dat b.dat c.dat
# Each sorts FILE to FILE.sorted on one node, with its own work directory, and continues as slurm.sh describes.
#SBATCH --job-name=hetsort
#SBATCH --nodes=1
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

again() { kill -USR1 $!; wait $! || scontrol requeue "$SLURM_JOB_ID"; }
trap again USR1
trap : TERM # the time is over: this shell stays alive for `again`

file=${!SLURM_ARRAY_TASK_ID}
hetsort --workdir "$file.work" --resume -o "$file.sorted" "$file" &
wait $! || wait $! # a signal ends the first one; the second has the status of the sort
