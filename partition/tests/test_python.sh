#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Python module gives the answers of C; it and the Fortran module declare the calls of the header.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
skip_under_sanitizer
command -v python3 >/dev/null 2>&1 || skip_all "python3 is not installed"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
[ -e "$OBJ/$soname" ] || skip_all "no shared library here (SHARED=no)"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python HETPART_LIBRARY=$OBJ/$soname
exec "$(python_with numpy)" -W error "$ROOT/partition/tests/bindings.py" "$ROOT"
