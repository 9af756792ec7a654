# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Pages of plans in a browser, headless Chromium: it has nothing to complain of, and shows what the answer says.
. "$ROOT/scripts/tap.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all "no chromium is installed"

# shellcheck source=scripts/page/fits.sh
. "$ROOT/scripts/page/fits.sh"
echo '<!DOCTYPE html><p>it works</p>' >plain.html
browse plain.html 800
if ! grep -q 'it works' dom; then skip_all "$browser does not start here: $(tail -n 1 log)"; fi

page() { # page NAME ARGUMENT... - of such a plan, looked at on a small screen and a wide one
  local name=$1; shift
  run "$BIN/hetplan" "$@" --html "$name.html"
  is "$name: planned" "$rc" 0
  for width in 400 1600; do
    browse "$name.html" $width
    is "$name, $width px: nothing to complain of" "$(cat console)" ""
  done
}
bars() { grep -o 'aria-label="Who does what.*' dom | sed 's|</svg>.*||' | grep -o "<rect class=\"$1\"" | wc -l | tr -d ' '; }

page scatter scatter -n 90 --compute 1,1,1 --link 0.5,0.5 --names '<img src=x>,b,c' --compare
ok "the title" grep -q '<h1>scatter of 90 items: makespan 58</h1>' dom
ok "shares in the table" grep -q '<td>b</td><td class="number">26</td><td class="number">58</td>' dom
is "bars of computing and receiving" "$(bars k0) $(bars k1)" "3 2"
is "idle: one processor at the end, one before its items come" "$(bars wait)" 2
ok "a line says which page this is" grep -q '<strong>hetplan plan</strong> · scatter · 3 processors</p>' dom
is "at the end of each bar is its value" "$(grep -o 'aria-label="Who does what.*' dom | sed 's|</svg>.*||' | grep -o '>5[78]</text>' | tr -d '\n')" '>57</text>>58</text>>58</text>'
ok "methods" grep -q '<h2>Methods</h2>' dom
ok "a name is text" grep -q '&lt;img src=x&gt;' dom
is "and no element" "$(grep -c '<img' dom)" 0
is "methods without messages have no column for them" "$(grep -c 'class="wide"' dom)" 0
for head in makespan 'lower bound'; do
  ok "the unit of a figure: $head" grep -q "<dt>$head, units of the cost</dt>" dom
done
ok "the units of the plan" grep -q '<th[^>]*>share, items</th><th[^>]*>time, units of the cost</th>' dom
ok "the units of the methods" grep -q '<th[^>]*>first end, units of the cost</th><th[^>]*>makespan, units of the cost</th><th[^>]*>gap, %</th>' dom
ok "the unit of the chart" grep -q 'the last one ends at 58 units of the cost\.' dom
ok "the unit of a bar" grep -q '<title>c: compute from [0-9.]* to [0-9.]* units of the cost</title>' dom
page even share -n 12 --speeds 1,2 --cost linear
ok "the makespan before rounding" grep -q '<dt>makespan before rounding, units of the cost</dt>' dom
ok "shares before rounding" grep -q '<th[^>]*>before rounding, items</th>' dom
is "where no processor is idle the legend does not name it" "$(grep -c '</svg>idle</li>' dom)" 0
page chain chain --w 1,1 --z 0.5 --vcomm 1,1 --vcomp 1,1
ok "a chain has a chart" test "$(bars k0)" -ge 3
page model model --speeds 1,2 -n 100 --observations 10:1,20:2.1,40:4.3
name=MMMM-WWWW-rack-with-a-long-name.cluster.example.org
page long scatter -n 90 --compute 1,1,1,2 --link 0.5,0.5,0.5 --names "$name-1,$name-2,$name-3,$name-4" --compare
fits long
fits chain
page many share -n 10000 --speeds "$(seq -s, 1 200)" --cost linear
fits many
page none share -n 0 --speeds 1,2 --cost linear
done_testing
