#!/usr/bin/env bash
# hetsort as a job of Flux: flux batch flux.sh -o sorted.dat data.dat
# Two minutes before its time is over the sort is told. It then stops where a later job can go on; while it merges, it
# goes on for as long as it may. A job that ended this way submits the next, which goes on with what is in the folder work.
#FLUX: --job-name=hetsort
#FLUX: --nodes=4
#FLUX: --exclusive
#FLUX: --time-limit=61m
set -eu

rc=0
flux run --nodes=4 --tasks-per-node=1 --exclusive --time-limit=60m --signal=USR1@2m \
  hetsort --workdir work --resume "$@" || rc=$?
case $rc in
  138 | 142) flux batch "$PWD/flux.sh" "$@" ;; # 128 and the number of SIGUSR1, or of SIGALRM, by which Flux ends a job
esac
exit $rc
