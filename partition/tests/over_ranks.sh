# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Run a program of partition/mpi/tests, or of the directory $tests, over several numbers of ranks;
# source it.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
if [ "${HAVE_MPI:-no}" != yes ] || ! "$ROOT/scripts/mpirun" --here; then skip_all "no MPI here"; fi

over_ranks() { # over_ranks PROGRAM RANKS... - it checks something, all checks hold, and it ends in time
  local program=$1 ranks; shift
  local from=${tests:-$OBJ/partition/mpi/tests}
  for ranks in "$@"; do
    run timeout 240 "$ROOT/scripts/mpirun" "$ranks" "$from/$program"
    is "$program, $ranks ranks" "$rc $(grep -c -x -E '[1-9][0-9]* checks, 0 failed' <<<"$out")" "0 1"
    # shellcheck disable=SC2154  # err is set by run
    [ "$rc" = 0 ] || printf '# %s\n' "${err//$'\n'/$'\n# '}"
  done
}
