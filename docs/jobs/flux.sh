#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsort as a job of Flux: flux batch flux.sh -o sorted.dat data.dat
# Two minutes before its time is over, the sort receives a signal. It then stops where a later job can continue; while
# it merges, it continues until the time is over. A job that ended this way submits the next job, which continues with
# the files in the directory work. There is one rank per node, which uses all of its processors.
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
