#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The property matrix over MPI ranks, with messages of any length and with short ones. A sample; a larger one with
# HETSORT_LONG.
set -u
n=0 bad=0
matrix=$OBJ/sort/tests/test_matrix

run_matrix() { # run_matrix RANKS CAP MOST - renumber its test points
  local line rc=none
  while IFS= read -r line; do
    case $line in
      "ok "* | "not ok "*)
        n=$((n + 1))
        [[ $line == ok* ]] || bad=$((bad + 1))
        sed -E "s/^((not )?ok) [0-9]+ - (.*)/\1 $n - \3, messages of $2 bytes/" <<<"$line" ;;
      "exit "*) rc=${line#exit } ;;
      *) echo "# $line" ;;
    esac
  done < <(MATRIX_MAX_MSG=$2 MATRIX_MAX_RECORDS=$3 \
    timeout "${TEST_TIMEOUT:-1200}" "$ROOT/scripts/mpirun" "$1" "$matrix" 2>&1; echo "exit $?")
  n=$((n + 1))
  if [ "$rc" = 0 ]; then echo "ok $n - $1 ranks succeed"; else
    echo "not ok $n - $1 ranks end with $rc"; bad=$((bad + 1))
  fi
}

for ranks in 1 2 3 4 7; do run_matrix $ranks 268435456 200000; done
for ranks in 2 3; do
  run_matrix $ranks 7 100
  run_matrix $ranks 4096 5000
done
echo "1..$n"
[ $bad -eq 0 ]
