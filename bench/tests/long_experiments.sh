# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The experiments at sizes where figures mean something, judged more tightly than the quick ones of
# mpi_experiments.sh: five minutes on 2 processors. One whose figures are not as expected is tried once more, as
# others may disturb it unseen. The bounds are in figures.py; shares that plan or adapt nothing miss them.
. "$ROOT/scripts/tap.sh"
[ -z "${SANITIZER:-}" ] || skip_all "no speeds are measured under sanitizers"
if [ "${HAVE_MPI:-no}" != yes ] || ! "$ROOT/scripts/mpirun" --here; then skip_all "no MPI here"; fi
command -v python3 >/dev/null || skip_all "python3 is not installed"
run "$ROOT/scripts/cluster" doctor
if [ "$rc" != 0 ] || ! grep -q '^ok Open MPI' <<<"$out"; then
  skip_all "no virtual hosts here: $(sed -n 's/^missing //p' <<<"$out" | paste -sd';')"
fi
[ "$(nproc)" -gt 1 ] || skip_all "hosts of enough speed take 2 processors"
[ "$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)" -gt 8000000 ] || skip_all "the disks of the hosts take 8 GB of memory"

experiment() { # experiment NAME OPTIONS...: one or two tries, and a test point for each figure
  local name=$1 try tries=() verdict text; shift
  for try in 1 2; do
    run timeout 600 "$ROOT/bench/experiments" "$name" "$@" --out "try$try"
    is "$name: it runs, and all outputs are right" "$rc" 0
    [ "$rc" = 0 ] || { echo "# ${err//$'\n'/$'\n# '}"; return 0; }
    tries+=("try$try/$name.jsonl")
    run python3 "$ROOT/bench/tests/figures.py" "$name" "${tries[@]}"
    [ "$rc" = 0 ] || break
    grep -qv '^holds' <<<"$out" || break
  done
  is "$name: all figures are there" "$rc/$err" 0/
  while IFS=$'\t' read -r verdict text; do
    echo "# sum: $name: $verdict: $text"
    ok "$name: $text" test "$verdict" != MISSED
  done <<<"$out"
}

experiment slow --hosts 4 --rates max --cpu 0.25 --second 1 --records 6000000 --single 1 --repeat 3
experiment adapt --hosts 4 --factor 3 --records 3000000 --repeat 5
experiment scatter --items 1200 --measured 2 --repeat 1
experiment ratios --hosts 2 --factors 4 --records 3000000 --repeat 2
done_testing
