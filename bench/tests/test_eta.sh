# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# How wrong --progress was, of a planted report; bench/eta itself takes virtual hosts.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
cat >report <<'REPORT'
{"total_s": 11, "progress": [{"at_s": 1, "left_s": 27, "part": 0.09}, {"at_s": 3, "left_s": 10, "part": 0.25},
  {"at_s": 6, "left_s": 3602, "part": 0.51}],
 "ranks": [{"stages": {"read": {"planned_s": 1, "taken_s": 4}, "write": {"planned_s": 1, "taken_s": 7}}},
  {"stages": {"read": {"planned_s": 2, "taken_s": 6}, "write": {"planned_s": 1, "taken_s": 5}}}]}
REPORT
run env PYTHONPATH="$ROOT/bench" PYTHONDONTWRITEBYTECODE=1 python3 -c '
import json
from harness import progress
report = json.load(open("report"))
moments = progress.predictions(report)
print(moments)
print(progress.errors(moments, 11, (0.2, 0.5, 0.9)))
print(progress.stages(report), progress.predictions({}))'
is "seconds since the start and left; by how much they were wrong, where there is a moment; stages" "$out" "[(1, 27), (3, 10), (6, 3602)]
[0.25, 719.4, None]
{'read': (1.5, 5.0), 'write': (1.0, 6.0)} []"
run env PYTHONPATH="$ROOT/bench" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from harness import progress as eta
print(eta.longer("4000000 --memory 200M --unique", 2.5), "|", eta.longer("1234", 1), "|", eta.percent([0.1, None, -0.2, 0.3]))'
is "a case with more records and memory; median and range" "$out" "10000000 --memory 500M --unique | 1234 | +10 % (-20 to +30)"
run "$ROOT/bench/eta" --frobnicate
is "what it does not know is refused" "$rc" 2
done_testing
