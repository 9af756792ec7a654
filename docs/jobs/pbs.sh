#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsort as a job of PBS: fill in nodes, their processors (ncpus), time and files, and `qsub pbs.sh` where the files are.
# There is one rank (mpiprocs) per node, which uses all of its processors.
# Two minutes before its time is over, the sort receives a signal. It then stops where a later job can continue; while
# it merges, it continues until the time is over. A job that ended this way submits the next job, which continues with
# the files in the directory work.
#PBS -N hetsort
#PBS -l select=4:ncpus=16:mpiprocs=1
#PBS -l walltime=01:00:00
set -eu
cd "$PBS_O_WORKDIR"

trap : TERM # the time is over: this shell stays alive to submit the next job
rc=0
timeout --preserve-status --signal=USR1 58m mpirun --bind-to none hetsort --workdir work --resume -o sorted.dat data.dat || rc=$?
case $rc in
  138 | 143) qsub pbs.sh ;; # 128 and the number of SIGUSR1, or of SIGTERM
esac
exit $rc
