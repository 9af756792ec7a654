# shellcheck shell=bash disable=SC2016,SC2317  # inner shells expand; functions called through await
# SPDX-License-Identifier: GPL-3.0-or-later
# The job scripts of docs/jobs, with stubs instead of batch system, launcher and sort: what they start, what becomes of
# a sort that is asked to stop, that ends anyway, that fails, or whose time is over; documents say the same.
# slurm_jobs.sh has the real Slurm. PBS, Flux and Kubernetes are not tried.
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
jobs=$ROOT/docs/jobs

mkdir bin
# A launcher that says what it was to start, and ends as $ENDS says: at once, or by that status when a signal comes.
cat >bin/launcher <<'STUB'
#!/usr/bin/env bash
echo "${0##*/} $*" >>calls
case ${ENDS%%:*} in
  at-once) exit "${ENDS#*:}" ;;
  asked) trap 'exit "${ENDS#*:}"' USR1 ;;
  late) trap : USR1; trap 'exit 143' TERM ;;
esac
echo $$ >pid
exec 3<> <(:)
while :; do read -r -t 0.05 -u 3; done
STUB
printf '#!/bin/sh\necho "${0##*/} $*" >>calls\n' >bin/scontrol
# The time is over as soon as the sort runs.
printf '#!/bin/bash\nshift 3\n"$@" & until [ -s pid ]; do sleep 0.02; done; kill -USR1 $(cat pid); wait $!\n' >bin/timeout
cp bin/scontrol bin/qsub
printf '#!/bin/sh\necho "flux $*" >>calls; [ "$1" != run ] || exit "${ENDS#*:}"\n' >bin/flux
chmod +x bin/*
for name in srun mpirun hetsort; do cp bin/launcher bin/$name; done
export PATH="$PWD/bin:$PATH"

job() { # job ENDS SIGNAL... - run $script and send it the signals when the sort has started
  local ends=$1 pid signal; shift
  rm -f calls pid
  ENDS=$ends SLURM_JOB_ID=7 SLURM_ARRAY_TASK_ID=2 PBS_O_WORKDIR=$PWD bash "$script" "${arguments[@]}" 2>err & pid=$!
  for signal in "$@"; do
    await test -s pid
    kill -"$signal" $pid
    [ "$signal" != USR1 ] || [ "${ends%%:*}" = asked ] || await asleep "$(cat pid)"
  done
  [ "${1:-}" != USR1 ] || [ "${ends%%:*}" != late ] || kill -TERM "$(cat pid)"
  wait $pid; rc=$?
  err=$(<err)
}
asleep() { [ "$(state_of "$1")" = S ]; }
called() { grep -c "^$1" calls; }

for name in slurm slurm-array; do
  script=$jobs/$name.sh arguments=(-o 'a b' c.dat)
  job at-once:0
  is "$name: the status of a sort that ends well" "$rc" 0
  case $name in
    slurm) is "$name: what it starts" "$(cat calls)" 'srun --mpi=pmix --kill-on-bad-exit hetsort --workdir work --resume -o a b c.dat' ;;
    *) is "$name: what it starts" "$(cat calls)" 'hetsort --workdir a b.work --resume -o a b.sorted a b' ;;
  esac
  job at-once:3
  is "$name: the status of one that fails" "$rc" 3
  is "$name: which is not tried again" "$(called scontrol)" 0
  job asked:138 USR1
  is "$name: one that stops when asked goes back into the queue" "$(grep scontrol calls)" 'scontrol requeue 7'
  job asked:0 USR1
  is "$name: one that ends all the same has ended well" "$rc $(called scontrol)" '0 0'
  job late: USR1 TERM
  is "$name: one whose time is over as well" "$(grep scontrol calls)" 'scontrol requeue 7'
done

script=$jobs/pbs.sh arguments=()
job asked:138
is "pbs: stopped when asked: submitted again" "$(cat calls)" $'mpirun --bind-to none hetsort --workdir work --resume -o sorted.dat data.dat\nqsub pbs.sh'
job asked:0
is "pbs: ended all the same" "$rc $(called qsub)" '0 0'
job asked:3
is "pbs: failed" "$rc $(called qsub)" '3 0'
script=$jobs/flux.sh arguments=(-o 'a b' c.dat)
for ends in 0:0 3:0 138:1 142:1; do
  job at-once:${ends%:*}
  is "flux: status ${ends%:*}" "$rc $(called 'flux batch .*/flux.sh -o a b c.dat')" "${ends%:*} ${ends#*:}"
done

asked='--signal=B:USR1@120'
is "scripts, manual and documents have the same signal and time" \
  "$(grep -rhoE -- '--signal=(B:)?[A-Z0-9]+@[0-9]+$|--signal=[A-Z0-9:]+@[0-9]+\b' "$jobs"/slurm*.sh "$ROOT/docs" "$ROOT/sort/man" "$ROOT/scripts/cluster" | sort -u)" "$asked"
sed -n '/^\.Bd/,/^\.Ed/{/^again/,/^wait/p}' "$ROOT/sort/man/hetsort.7" | sed 's/\\e/\\/g; s/\\-/-/g' >manual
is "the manual's script is slurm.sh" "$(cat manual)" "$(grep -v '^ *#\|^$\|^set' "$jobs/slurm.sh" | sed 's/ *#.*//')"
if python3 -c 'import yaml' 2>/dev/null; then
  ok "mpijob.yaml is YAML" python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$jobs/mpijob.yaml"
else echo "# omitted: python3-yaml is not installed"; fi
done_testing
