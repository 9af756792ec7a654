# shellcheck shell=bash disable=SC2016,SC2034,SC2154  # variables are shared with the test that sources this
# SPDX-License-Identifier: GPL-3.0-or-later
# Slurm on four virtual hosts of scripts/cluster, two of them slower, for tests of jobs: its daemons run in the hosts,
# keep what they write in $TEST_TMP and on the hosts' own disks, and end with the hosts. The controller is on n0.
cluster=$ROOT/scripts/cluster
slurm_id=slurm$$

slurm_missing() { # a sentence that says what this machine lacks, or nothing
  local what
  for what in slurmctld slurmd sbatch srun munged; do
    command -v $what >/dev/null || { echo "$what is not installed: scripts/deps slurm"; return; }
  done
  [ "${HAVE_MPI:-no}" = yes ] || { echo "hetsort is built without MPI"; return; }
  "$cluster" doctor >doctor.out || echo "no virtual hosts: $(sed -n 's/^missing //p' doctor.out | head -n 1)"
}

on() { "$cluster" --id $slurm_id exec "$@"; }
slurm() { on n0 env SLURM_CONF="$TEST_TMP/slurm.conf" "$@"; }

slurm_config() { # $1: the directory that every host has of its own
  cat <<CONF
ClusterName=hetsort
SlurmctldHost=n0
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$TEST_TMP/munge/socket
StateSaveLocation=$TEST_TMP/state
SlurmdSpoolDir=$1/spool
TmpFS=$1/tmp
SlurmctldPidFile=$TEST_TMP/slurmctld.pid
SlurmdPidFile=$1/slurmd.pid
SlurmctldLogFile=$TEST_TMP/slurmctld.log
SlurmdLogFile=$TEST_TMP/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobCompType=jobcomp/filetxt
JobCompLoc=$TEST_TMP/jobs.done
JobAcctGatherType=jobacct_gather/none
SlurmdParameters=config_overrides
KillWait=10
NodeName=n[0-3] CPUs=1 RealMemory=500
PartitionName=all Nodes=ALL Default=YES
CONF
}

munge_up() { # one for all hosts: they share the directory of its socket
  mkdir -m 755 munge
  head -c 128 /dev/urandom >munge/key
  chmod 400 munge/key
  on n0 munged --force --key-file="$PWD/munge/key" --socket="$PWD/munge/socket" --pid-file="$PWD/munge/pid" \
    --log-file="$PWD/munge/log" --seed-file="$PWD/munge/seed"
}

slurm_up() {
  local k
  trap slurm_down EXIT
  "$cluster" up 4 --id $slurm_id --slow 2:1.5 --cpu 0.3 >/dev/null || return 1
  # Whoever kills this test leaves nothing either.
  setsid bash -c 'while kill -0 "$1" 2>/dev/null; do sleep 1; done; exec "$2" down "$3"' _ $$ "$cluster" $slurm_id \
    >/dev/null 2>&1 </dev/null &
  disown
  munge_up || return 1
  slurm_config "$(on n0 sh -c 'echo "$LOCAL"')" >slurm.conf
  mkdir state
  slurm slurmctld -i || return 1
  for k in 0 1 2 3; do
    on n$k sh -c 'mkdir "$LOCAL/tmp"; SLURM_CONF=$1 exec slurmd -N "$2"' sh "$PWD/slurm.conf" n$k || return 1
  done
}

slurm_down() { "$cluster" down $slurm_id >/dev/null 2>&1; }

within() { # within SECONDS COMMAND... - until it succeeds
  local end=$((SECONDS + $1)); shift
  until "$@"; do
    [ $SECONDS -lt $end ] || return 1
    sleep 0.5
  done
}

job_says() { # job_says FIELD - of the job $job
  slurm scontrol show job "$job" | tr ' ' '\n' | sed -n "s/^$1=//p" | head -n 1
}
job_is() { # job_is STATE...
  local now; now=$(job_says JobState)
  case " $* " in *" $now "*) return 0 ;; *) return 1 ;; esac
}
job_has_ended() { job_is COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL BOOT_FAIL; }
job_time_ends() { slurm scontrol update JobId="$job" TimeLimit=1; } # the shortest that there is: a minute since its start
job_is_requeued() { job_is PENDING && [ "$(job_says Restarts)" != 0 ]; }
job_starts_again() { slurm scontrol update JobId="$job" StartTime=now; } # Slurm would wait for two minutes
