# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of kept runs, which are in the directory store, and of their counts in the file report.
begin_with() { # begin_with RECORDS - in the test's directory: in, and expected, sorted by a key with many equals
  cd "$TEST_TMP" && "$BIN/gensort" --no-fsync "$1" in && "$BIN/hetsort" -s --key 0,1 -o expected in || exit 1
}
has_checkpoint() { # has_checkpoint RANK - does it have a run with a checkpoint, whose head is written last?
  grep -q -s -a hesrun04 store/hetsort-rank"$1".run*
}
merged() { # print whether an earlier job had merged all: "done" or "no", or both if ranks differ
  sed -n 's/^ *"merge": "\(.*\)".*/\1/p' report | sort -u | paste -sd' '
}
stopped() { [ "$(state_of "$1")" = T ]; } # stopped PID - by SIGSTOP
flip() { # flip FILE BYTE - flip a bit of the byte; negative: counted from the end
  local at=$2 b
  [ "$at" -ge 0 ] || at=$(($(stat -c %s "$1") + at))
  b=$(od -A n -t u1 -j "$at" -N 1 "$1")
  # shellcheck disable=SC2059  # an octal escape belongs into the format
  printf "\\$(printf %o $((b ^ 16)))" | dd of="$1" bs=1 seek="$at" conv=notrunc status=none
}
