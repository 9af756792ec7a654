# shellcheck shell=bash disable=SC2016,SC2317  # inner shells expand; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs of docs/jobs and of scripts/cluster under Slurm, on four virtual hosts of two speeds: by srun and by mpirun, one
# whose time ends while it reads or merges, one that is cancelled, and an array. `make check-slurm` runs this.
. "$ROOT/scripts/tap.sh"
. "$ROOT/scripts/tests/with_slurm.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
cd "$TEST_TMP" || exit 1
missing=$(slurm_missing)
[ -z "$missing" ] || skip_all "$missing"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_orte_tmpdir_base=$PWD
export PATH="$BIN:$PATH"
speeds=1,1,0.667,0.667
submit() { job=$(slurm sbatch --parsable --output=job.out "$@"); job=${job%%_*}; }
ends_well() { # ends_well WHAT - the job $job
  ok "$1: the job ends" within 120 job_has_ended
  is "$1: and well" "$(job_says JobState) $(job_says ExitCode)" 'COMPLETED 0:0'
  job_is COMPLETED || sed 's/^/# /' job.out
}
sorted() { # sorted WHAT FILE - the records of in.dat in order
  run valsort "$2"
  is "$1: the output is the input in order" "$rc $(sed -n 's/^Checksum: //p' <<<"$err")" "0 $sum"
}
printed() { grep -q -s -e "$1" job.out; }
left() { find . -maxdepth 1 -name '.hetsort-*'; ls work/*lock* 2>/dev/null; }
running() { grep -l -s -z -x "SLURM_JOB_ID=$job" /proc/[0-9]*/environ; }
fresh() { rm -rf work out.dat job.out; }

ok "Slurm comes up on four hosts" slurm_up
four_idle() { [ "$(slurm sinfo -h -N -t idle -o %N | wc -l)" = 4 ]; }
ok "which wait for jobs" within 60 four_idle
sum=$(gensort -c 200000 in.dat 2>&1)
sed 's/^srun --mpi=pmix --kill-on-bad-exit /mpirun /' "$ROOT/docs/jobs/slurm.sh" >mpirun.sh
ok "mpirun takes the place of srun" grep -q '^mpirun hetsort ' mpirun.sh

# ------------------------------------------------------------------------------- jobs that have the time
"$cluster" slurm -n 4 -- hetsort --speeds $speeds -v -o out.dat in.dat >generated.sh
submit --time=5 generated.sh
ends_well "scripts/cluster slurm"
sorted "scripts/cluster slurm" out.dat
is "its ranks are on all nodes" "$(awk '$2 ~ /^n[0-3]$/ {print $1, $2, $3}' job.out | head -n 4 | paste -sd,)" \
  '0 n0 1,1 n1 1,2 n2 0.667,3 n3 0.667'

for way in slurm mpirun; do
  script=$ROOT/docs/jobs/slurm.sh
  [ $way = slurm ] || script=mpirun.sh
  fresh
  submit --nodes=4 --time=5 "$script" --speeds $speeds -v -o out.dat in.dat
  ends_well "$way.sh"
  sorted "$way.sh" out.dat
done
submit --nodes=4 --time=5 "$ROOT/docs/jobs/slurm.sh" --speeds $speeds -o out.dat in.dat
ends_well "once more"
ok "once more: there was nothing left to do" printed 'already complete'

# ------------------------------------------------------- with and without PMI, in the script, and from Python
# Each line of job.out that begins with = is a way to start a sort, and how it ended.
fresh
python=
[ ! -e "$OBJ/libhetsort.so" ] || python=$(python_with numpy mpi4py) || python=
cat >ways.sh <<SCRIPT
#!/bin/bash
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python HETSORT_LIBRARY=$OBJ/libhetsort.so HETSORT_PROGRAM=$BIN/hetsort
way() { # way NAME COMMAND... - an output of the way is removed when it is the right one
  local name=\$1 rc k right=0; shift
  timeout 100 "\$@" && rc=0 || rc=\$?
  for k in 0 1; do cmp -s sorted way.\$k && rm way.\$k && right=\$((right + 1)); done
  echo "= \$name: \$rc, \$right sorted"
}
hetsort -o sorted in
way script hetsort -o way.0 in
way filter sh -c 'hetsort <in >way.0'
way pmix srun --mpi=pmix -n 2 hetsort -o way.0 in
way farm srun --mpi=pmix -n 2 sh -c 'hetsort --launcher=none -o way.\$SLURM_PROCID in'
way none srun --mpi=none -n 2 hetsort -o way.0 in
way none,farm srun --mpi=none -n 2 sh -c 'hetsort --launcher=none -o way.\$SLURM_PROCID in'
way pmi2 srun --mpi=pmi2 -n 2 hetsort -o way.0 in
way pmi2,farm srun --mpi=pmi2 -n 2 sh -c 'hetsort --launcher=none -o way.\$SLURM_PROCID in'
way mpirun mpirun -n 2 hetsort -o way.0 in
way one srun --mpi=pmix -n 2 sh -c '[ \$SLURM_PROCID = 1 ] || exec timeout 20 hetsort -o way.0 in'
[ -z "$python" ] || way python srun --mpi=pmix -n 2 "$python" "$ROOT/python/tests/launchers.py" mpi
SCRIPT
gensort 1000 in
submit --nodes=2 --time=15 ways.sh
ok "ways to start a sort: the job ends" within 600 job_has_ended
ended() { sed -n "s/^= $1: //p" job.out; }
for way in script filter pmix mpirun; do is "$way: sorted" "$(ended $way)" "0, 1 sorted"; done
for way in farm none,farm pmi2,farm; do is "$way: sorted twice" "$(ended $way)" "0, 2 sorted"; done
is "srun without PMI: refused" "$(ended none)" "2, 0 sorted"
is "srun without PMI: each process says so" "$(grep -c '^hetsort: SLURM_STEP_NUM_TASKS says that 2 .*MPI joins 1: .*--launcher=none' job.out)" 2
is "srun with another PMI: sorted, or refused by hetsort or MPI" "$(ended pmi2 | grep -c -x -e '[12], 0 sorted' -e '0, 1 sorted')" 1
ok "one rank of two: it says for whom it waits" printed '^hetsort: rank 0 (.*) waits for .* to start hetsort.*--launcher=none'
[ -z "$python" ] || is "sort_file and the library in ranks: sorted" \
  "$(ended python) $(grep -c ': 1 rank, file True, library True$' job.out)" "0, 0 sorted 2"

# ---------------------------------------------------------------------------- jobs whose time is too short
# The first start of a job is slow: one rank sleeps at the phase of $SLOW. Slurm looks at times every 30 seconds, so the
# sleep at `read` ends after the signal, and before the minute is over.
mkdir slow
printf '#!/bin/sh\n[ -n "${SLURM_RESTART_COUNT:-}" ] || export HETSORT_FAIL=delay@$SLOW\nexec %s/failpoints/hetsort "$@"\n' "$BIN" >slow/hetsort
chmod +x slow/hetsort
too_short() { # too_short PHASE SCRIPT - its time ends where rank 0 is in the phase
  fresh
  PATH=$PWD/slow:$PATH submit --nodes=4 --time=30 "$2" --speeds $speeds --progress 1 -v -o out.dat in.dat
  ok "$1: the job gets there" within 120 printed "^hetsort: $1"
  job_time_ends
  ok "$1: its time ends, and it is back in the queue" within 180 job_is_requeued
  ok "$1: nothing has the name of the output" test ! -e out.dat
  job_starts_again
  ends_well "$1"
  sorted "$1" out.dat
  ok "$1: it resumed with the runs that existed" printed '[1-9][0-9]* of [0-9]* runs\? found'
}
SLOW=merge:2=600 too_short merge "$ROOT/docs/jobs/slurm.sh"
SLOW=read:2=40 too_short read mpirun.sh
ok "read: it stopped when Slurm announced the end of its time" printed 'stopped by SIGUSR1'

# --------------------------------------------------------------------------------------------- scancel
fresh
SLOW=merge:2=600 PATH=$PWD/slow:$PATH submit --nodes=4 --time=30 "$ROOT/docs/jobs/slurm.sh" --speeds $speeds --progress 1 -o out.dat in.dat
ok "scancel: the job merges" within 120 printed '^hetsort: merge'
slurm scancel "$job"
ok "scancel: the job ends" within 60 job_is CANCELLED
ended_everywhere() { [ -z "$(running)" ]; }
ok "scancel: no process is left" within 60 ended_everywhere
is "scancel: nothing temporary is left" "$(left)" ''
ok "scancel: nor an output" test ! -e out.dat

# ---------------------------------------------------------------------------------------------- an array
for k in 1 2 3; do gensort -b$((k * 1000)) 50000 part$k.dat; done
submit --array=1-3 --time=5 "$ROOT/docs/jobs/slurm-array.sh" part1.dat part2.dat part3.dat
array_has_ended() { [ -z "$(slurm squeue -h -j "$job" 2>/dev/null)" ]; }
ok "array: all jobs end" within 120 array_has_ended
for k in 1 2 3; do ok "array: file $k is sorted" valsort -q part$k.dat.sorted; done

slurm sacct -c --format=JobID,JobName,NNodes,NodeList,State 2>/dev/null | sed 's/^/# sum: /'
is "Slurm's own list has them: completed, cancelled" \
  "$(grep -c JobState=COMPLETED jobs.done) $(grep -c JobState=CANCELLED jobs.done)" '10 1'
done_testing
