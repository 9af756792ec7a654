# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plots (bench/harness/chart.py): names are shown as they are, equal data make equal files, and each plot says what is
# better. A stub of matplotlib's absence: the warning, and what is refused.
# shellcheck disable=SC2016,SC2154,SC2317  # names have dollar signs; run sets rc, out, err; functions are called through ok
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
export PYTHONPATH=$ROOT/bench

# draw BASE - every kind of part and axis, with names that a program might interpret
draw() { run python3 -B - "$1" <<'END'
import sys
from harness import chart
bars = chart.Panel("bars of <b> & $\\frac{1}{2}$", "", "_time", better="lower")
bars.ticks(["A $1$", "_B", "C" * 20], rotate=35)
bars.bars("_measured $x$", [(0, 1, .9, 1.2), (1, .5, .5, .5), (2, float("nan"), 1, 1), (1, None, 1, 1)], at=-.2)
bars.bars("in theory", [(i, 1, 1, 1) for i in range(3)], at=.2, color=5, ideal=True)
lines = chart.Panel("lines", "hosts", "%", better="higher", log="x")
lines.line("50 % of $y$", [(4, 50, 45, 60), (16, 40, 41, 45)])  # a median below the least is accepted
lines.level("bound", 100, ideal=True)
both = chart.Panel("logarithmic", "hosts", "s", better="lower", log="xy")
both.line("took\nlong", [(4, 100), (16, 5)], color=1, dashed=True, marks=False)
both.line("ideal", [(4, 50), (16, 2)], ideal=True)
boxes = chart.Panel("boxes", better=None, y_range=(0, 10))
boxes.floating("computing", [(0, 1, 3), (1, 2, 5)])
empty = chart.Panel("nothing", better=None)
empty.line("none", [])
print(*chart.draw(sys.argv[1], "All $kinds$", [bars, lines, both, boxes, empty]))
END
}
texts() { python3 -c 'import sys, xml.dom.minidom as m; print(*(t.firstChild.data for t in m.parse(sys.argv[1]).getElementsByTagName("text")), sep="\n")' "$1"; }
shows() { texts one.svg | grep -qxF -e "$1"; }
if can_draw; then
  draw one
  is "it names the plot" "$rc/$out/$err" "0/one.svg/"
  for name in 'All $kinds$' 'bars of <b> & $\frac{1}{2}$' '_measured $x$' 'A $1$' _B '50 % of $y$' 'took?long'; do
    ok "shown as it is: $name" shows "$name"
  done
  ok "lower is better" shows '_time; lower is better'
  ok "higher is better" shows '%; higher is better'
  is "what is ideal" "$(texts one.svg | grep ideal | paste -sd,)" "in theory (ideal),bound (ideal),ideal"
  is "hosts at a logarithmic axis are whole numbers" "$(texts one.svg | grep -x -e 4 -e 16 | sort -u | paste -sd,)" "16,4"
  mkdir other
  (cd other && draw ../two.svg)
  ok "equal data make equal files" cmp one.svg two.svg
  ok "which know no date and no program" test "$(grep -c -i -e '<dc:date>' -e 'matplotlib v' one.svg)" -eq 0
  draw nowhere/one
  is "no such directory" "$rc/$(tail -n 1 <<<"$err")" \
    "1/harness.job.Failed: cannot make a directory in '$PWD/nowhere': No such file or directory"
fi
run python3 -B -c 'from harness import chart; chart.Panel("a", "b", "c")'
ok "a panel that does not say what is better is refused" grep -q "required keyword-only argument: 'better'" <<<"$err"

cat >absent.py <<'END'
from harness import chart, job
chart._python = lambda: None
p = chart.Panel("a", better="lower")
p.line("b", [(1, 1)])
print(chart.draw("c", "d", [p]))
try:
    chart.require()
except job.Failed as e:
    print(e)
END
run python3 -B absent.py
is "without matplotlib nothing is drawn, and a warning says so" "$rc/$out/$err" "0/[]
cannot draw: matplotlib is missing, install it with 'scripts/deps plot'/warning: no plot 'c.svg': matplotlib is missing, install it with 'scripts/deps plot'"

# ------------------------------------------------------------------------------------- learning-plot
for batch in 1 2 3; do
  for planner in library 'form known'; do
    echo "{\"bench\":\"learning\",\"noise\":\"uniform\",\"shape\":\"a bend\",\"planner\":\"$planner\",\"batch\":$batch,\"seeds\":12,\"mean_percent\":$batch,\"p90_percent\":9}"
  done
done >learning.jsonl
run "$ROOT/bench/learning-plot" learning.jsonl
if can_draw; then
  is "learning-plot draws next to the figures" "$rc/$out" 0/learning.svg
  is "each shape, with its goal" "$(texts learning.svg | grep -x -e 'a bend' -e goal | paste -sd,)" "a bend,goal"
else
  is "learning-plot needs matplotlib" "$rc/$err" "1/learning-plot: cannot draw: matplotlib is missing, install it with 'scripts/deps plot'"
fi
echo '{"bench":"learning"}' >learning.jsonl
run "$ROOT/bench/learning-plot" learning.jsonl
is "no figures" "$rc/$err" "1/learning-plot: no figures in 'learning.jsonl'"
run "$ROOT/bench/learning-plot" one two
is "usage" "$rc" 2
done_testing
