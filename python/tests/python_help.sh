# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# python_help.sh - what the tests of the Python modules share.

python_with() { # python_with MODULE... - an interpreter that has them, else python3: it may be the system's that has
  local python
  for python in python3 /usr/bin/python3; do
    if "$python" -c "import $(IFS=,; echo "$*")" 2>/dev/null; then echo "$python"; return 0; fi
  done
  echo python3
  return 1
}
