#!/usr/bin/env bash
# hetsort as a job of Slurm: sbatch --nodes=4 --time=60 slurm.sh -o sorted.dat data.dat
# Two minutes before its time is over the job is told. The sort then stops where a later job can go on; while it
# merges, it goes on for as long as it may. Unless it ends well, the job goes back into the queue, and from there
# on with what is in the folder work.
#SBATCH --job-name=hetsort
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --signal=B:USR1@120
#SBATCH --requeue
#SBATCH --open-mode=append
set -eu

again() { kill -USR1 $!; wait $! || scontrol requeue "$SLURM_JOB_ID"; }
trap again USR1
trap : TERM # the time is over: this shell stays for what `again` has to do

# Or mpirun in place of srun and its two options.
srun --mpi=pmix --kill-on-bad-exit hetsort --workdir work --resume "$@" &
wait $! || wait $! # a signal ends the first one; the second has the status of the sort
