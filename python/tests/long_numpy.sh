#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The tests that the installed numpy has for its sorts, with hetsort instead of numpy: see numpy_cases.py.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
skip_under_sanitizer
[ -e "$OBJ/libhetsort.so" ] || skip_all "no shared library here (SHARED=no)"
python=$(python_with numpy pytest hypothesis) || skip_all "no python3 with numpy, pytest and hypothesis"
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$ROOT/python HETSORT_LIBRARY=$OBJ/libhetsort.so
run "$python" "$ROOT/python/tests/numpy_cases.py"
counts=$(tail -n 1 <<<"$out")
is "numpy's cases: only objects are refused ($counts)" "$rc $(grep -c '^different\|^refused' <<<"$out") $(
  grep -c '^refused .*objects of Python' <<<"$out")" "0 3 3"
ok "many are equal" test "${counts%% *}" -ge 80
done_testing
