# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of plots, which are omitted where matplotlib is missing.
can_draw() { PYTHONPATH=$ROOT/bench python3 -B -c 'from harness import chart; chart.require()' 2>"${TEST_TMP:-.}/.draw"; }
