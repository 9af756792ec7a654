#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/numpy-table: all ways agree, and each has its figure.
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
run "$python" -W error "$ROOT/bench/numpy-table" 1e4 1
is "status" "$rc $err" "0 "
is "three kinds of records" "$(grep -c -x -E '\| (16|100) bytes by [^|]*( \| [0-9.]+){4} \|' <<<"$out")" 3
done_testing
