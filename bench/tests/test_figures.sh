# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The checks of long_experiments.sh: figures that hold, figures that are missed, and figures of disturbed tries.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
figures() { run python3 "$ROOT/bench/tests/figures.py" "$@"; }

try() { # try FILE DISTURBED SECONDS_BALANCED: uniform takes 20 s, the model says 10 for balanced
  python3 - "$@" >"$1" <<'PY'
import json, sys
disturbed, balanced = sys.argv[2] == "disturbed", float(sys.argv[3])
for line in ({"type": "setup", "format": "hetsort-bench", "version": 1},
             {"type": "sample", "command": "uniform", "disturbed": False},
             {"type": "sample", "command": "balanced", "disturbed": disturbed},
             {"type": "figure", "command": "balanced", "median_s": balanced},
             {"type": "figure", "command": "ascending", "median_s": 11.0},
             {"type": "figure", "command": "uniform over balanced", "ratio": [20 / balanced] * 3, "model": 2.0}):
    print(json.dumps(line))
PY
}
verdicts() { cut -f1 <<<"$out" | paste -sd/; }

try good quiet 10; try bad quiet 20; try noisy disturbed 20; try lucky disturbed 10
figures scatter good
is "what is as expected holds" "$rc $(verdicts)" "0 holds/holds/holds"
figures scatter bad
is "shares that balance nothing are missed" "$(verdicts)" MISSED/MISSED/MISSED
is "the failed figure is printed" "$(head -n 1 <<<"$out" | cut -f2)" "uniform over balanced: 1.000, expected 1.6 to 2.5"
figures scatter bad bad
is "twice as well" "$(verdicts)" MISSED/MISSED/MISSED
is "with both values" "$(head -n 1 <<<"$out" | cut -f2)" "uniform over balanced: 1.000, 1.000, expected 1.6 to 2.5"
figures scatter bad good
is "a second try may hold" "$(verdicts)" holds/holds/holds
figures scatter noisy noisy
is "disturbed tries are not judged" "$(verdicts)" "not judged, disturbed/not judged, disturbed/not judged, disturbed"
figures scatter lucky
is "but where they hold" "$(verdicts)" holds/holds/holds
for tries in "bad noisy" "noisy bad"; do
  # shellcheck disable=SC2086  # words
  figures scatter $tries
  is "nor do they excuse another try: $tries" "$(verdicts)" MISSED/MISSED/MISSED
done
grep -v '"ascending"' good >part
figures scatter part
ok "a figure that is missing fails" test "$rc" != 0
done_testing
