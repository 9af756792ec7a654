# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# TAP for shell tests: source it, call ok/is/run/await, end with done_testing.
tap_n=0 tap_bad=0

ok() { # ok NAME COMMAND... - a test point: the command succeeds
  local name=$1; shift
  tap_n=$((tap_n + 1))
  if "$@"; then echo "ok $tap_n - $name"; else
    echo "not ok $tap_n - $name"; tap_bad=$((tap_bad + 1)); said
  fi
  return 0
}

is() { # is NAME GOT WANTED - a test point: two strings are equal
  tap_n=$((tap_n + 1))
  if [ "$2" = "$3" ]; then echo "ok $tap_n - $1"; else
    echo "not ok $tap_n - $1"; tap_bad=$((tap_bad + 1))
    printf '#   got:    %s\n#   wanted: %s\n' "$2" "$3"; said
  fi
  return 0
}

said() { # what the last command that was run said, for whoever looks into a failure
  [ -z "${err:-}" ] || printf '%s\n' "exit code ${rc:-?}, standard error:" "$err" | head -n 20 | sed 's/^/#     /'
}

# shellcheck disable=SC2034  # rc, out and err are read by the tests
run() { # run COMMAND... - sets rc, out, err
  out=$("$@" 2>"${TEST_TMP:-.}/.stderr"); rc=$?
  err=$(<"${TEST_TMP:-.}/.stderr")
  return 0
}

# bash calls it for a missing tool. run-tests names the tool if the test fails.
command_not_found_handle() {
  echo "$1" >>"${TEST_TMP:-.}/.missing"
  echo "'$1' is not installed" >&2
  return 127
}

await() { # await COMMAND... - until it succeeds; given up after a minute, at once where a tool was missing
  local tap_i
  for ((tap_i = 0; tap_i < 3000; tap_i++)); do
    if "$@"; then return 0; fi
    if [ -e "${TEST_TMP:-.}/.missing" ]; then return 1; fi
    sleep 0.02
  done
  return 1
}

# Of processes, as /proc has them: ps and pgrep are not everywhere.
state_of() { # state_of PID - R, S, D, T (stopped), Z (nobody has asked for its exit code), ...; nothing if it is gone
  sed -n 's/^State:[[:space:]]*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null
}
gone() { # gone PID... - have all of them ended, also if nobody has asked for their exit codes?
  local tap_p
  for tap_p in "$@"; do
    case $(state_of "$tap_p") in '' | Z | X) ;; *) return 1 ;; esac
  done
}
children_of() { # children_of PID - one a line
  grep -l -s -x "PPid:[[:space:]]*$1" /proc/[0-9]*/status | cut -d/ -f3
}

# on_terminal COLUMNS SIGNAL TEXT COMMAND... - as scripts/terminal.c has it; sets out. Ask have_terminal before.
have_terminal() {
  "${CC:-cc}" -D_GNU_SOURCE -O1 -o "$TEST_TMP/terminal" "$ROOT/scripts/terminal.c" -lutil && "$TEST_TMP/terminal" 80 0 . true >/dev/null
}
# shellcheck disable=SC2034  # out is read by the tests
on_terminal() { out=$("$TEST_TMP/terminal" "$@" 2>&1); err=; }

# mpich - is the launcher MPICH's? When a rank dies, it kills the others at once (SIGKILL).
mpich() { [[ $("${MPIRUN:-mpirun}" --version 2>&1) = *HYDRA* ]]; }

skip_all() { echo "$1"; exit 77; }

done_testing() { echo "1..$tap_n"; [ $tap_bad -eq 0 ] && [ $tap_n -gt 0 ]; exit; }
