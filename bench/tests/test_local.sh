# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# local-plot on samples of local_bench: the best other sort, and the ratios to it and to the floor.
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"

line() { # line BYTES KIND SORT THREADS SECONDS
  echo "{\"bench\":\"local\",\"kind\":\"$2\",\"record_bytes\":$1,\"sort\":\"$3\",\"threads\":$4,\"median_s\":$5}"
}
{
  line 100 uniform hetsort 1 4.0; line 100 uniform floor 1 2.0; line 100 uniform slow 1 9.0
  line 100 uniform hetsort 2 2.0; line 100 uniform floor 2 1.6; line 100 uniform "hetsort, bound" 2 1.9
  line 100 uniform slow 2 5.0; line 100 uniform fast 2 2.5; line 100 uniform "one, 1 thread" 1 4.0
  line 8 sorted hetsort 2 1.0; line 8 sorted floor 2 0.5
} >samples
run "$ROOT/bench/local-plot" samples plot
row() { grep -F "| $1 |" <<<"$out"; }
is "sorts with one thread are next to two threads" "$(row '100 B | 2 | uniform')" \
  "| 100 B | 2 | uniform | 2.000 | 0.80x | fast | 1.25x |"
is "each number of threads has its others" "$(row '100 B | 1 | uniform')" \
  "| 100 B | 1 | uniform | 4.000 | 0.44x | slow | 2.00x |"
is "without others the floor is left" "$(row '8 B | 2 | sorted')" "| 8 B | 2 | sorted | 1.000 | - | - | 2.00x |"
if can_draw; then
  ok "the plot is there" grep -q '</svg>' plot.svg
else
  is "without matplotlib it says so" "$rc $err" "1 local-plot: cannot draw: matplotlib is missing, install it with 'scripts/deps plot'"
fi
run "$ROOT/bench/local-plot" nowhere plot
is "no samples" "$rc/$err" "1/local-plot: cannot read 'nowhere': No such file or directory"
: >empty
run "$ROOT/bench/local-plot" empty plot
is "an empty file" "$rc/$err" "1/local-plot: no samples: 'empty'"
run "$ROOT/bench/local-plot" samples
is "a missing name is refused" "$rc" 2
done_testing
