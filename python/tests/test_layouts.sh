#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Files of random layouts, sorted as a stable sort of numpy does: see layouts.py. HETSORT_LONG=1: 2000 layouts;
# LAYOUTS="FIRST END": those.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
python=$(python_with numpy) || skip_all "no python3 with numpy"
cd "$TEST_TMP" || exit 1
export PYTHONDONTWRITEBYTECODE=1 HETSORT_PROGRAM=$BIN/hetsort
read -r first end <<<"${LAYOUTS:-0 ${HETSORT_LONG:+2000}}"
run "$python" -W error "$ROOT/python/tests/layouts.py" "$first" "${end:-15}"
is "layouts from seed $first on" "$rc $(tail -n 1 <<<"$out") $err" "0 $((${end:-15} - first)) layouts, 0 differences "
grep '^#' <<<"$out" | head -n 20
done_testing
