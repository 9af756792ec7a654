#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The Python package hetsort compared with numpy: arrays and files, every type and direction. HETSORT_LONG=1: 2000
# kinds of records.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
skip_under_sanitizer
[ -e "$OBJ/libhetsort.so" ] || skip_all "no shared library here (SHARED=no)"
python=$(python_with numpy) || skip_all "no python3 with numpy"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python HETSORT_LIBRARY=$OBJ/libhetsort.so HETPART_LIBRARY=$OBJ/libhetpart.so
export HETSORT_PROGRAM=$BIN/hetsort MPLCONFIGDIR=$PWD/matplotlib
exec "$python" -W error "$ROOT/python/tests/hetsort_tests.py"
