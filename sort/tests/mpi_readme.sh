#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The examples of README.md, docs and hetsort(7) that need a launcher. They start mpirun; here it is a shell script that
# adds the options that the installed MPI needs on this machine, and ignores host files.
set -u
mkdir -p "$TEST_TMP/shim"
cat >"$TEST_TMP/shim/mpirun" <<SHIM
#!/bin/sh
PATH=\${PATH#*/shim:}
[ "\$1" = --hostfile ] && [ -s "\$2" ] && shift 2
[ "\$1" = -n ] && shift
exec "$ROOT/scripts/mpirun" "\$@"
SHIM
chmod +x "$TEST_TMP/shim/mpirun"
mkdir "$TEST_TMP/work"
export EXAMPLES=mpirun BIN="$TEST_TMP/shim:$BIN" TEST_TMP="$TEST_TMP/work"
exec bash "$ROOT/sort/tests/test_readme.sh"
