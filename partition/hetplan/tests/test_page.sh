# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetplan --html: a page that holds the plan, whatever is in its names, and loads nothing.
. "$ROOT/scripts/tap.sh"
hetplan=$BIN/hetplan
data_of() { sed -n '/ id="data">$/{n;p;}' "$1"; }
has() { ok "$1" grep -q -F -e "$2" <(data_of "$3"); }

run "$hetplan" scatter -n 90 --compute 1,1,1 --link 0.5,0.5 --names '</script><img src=x>,b,c' --html plan.html --csv
is "a plan" "$rc/$err" 0/
ok "the table comes as well" grep -q '^processor,' <<<"$out"
has "the shares" '"shares":[38,26,26]' plan.html
has "a name is data" '"names":["\u003c/script>\u003cimg src=x>","b","c"]' plan.html
has "bars" '"bars":[[0,0,0.0,19.0],' plan.html
has "the title" '"title":"scatter of 90 items: makespan 58"' plan.html
is "two scripts begin, and two end" "$(grep -o '<script' plan.html | wc -l | tr -d ' ') $(grep -o '</script' plan.html | wc -l | tr -d ' ')" "2 2"
is "no other element" "$(grep -c '<img' plan.html)" 0
is "nothing is loaded" "$(grep -E -c 'https?:|<link|@import| src=[^x]|fetch\(' plan.html)" 0

run "$hetplan" share -n 1000 --speeds 1,2,4 --cost nlogn --compare --html compared.html --title Methods
is "a comparison" "$rc/$err" 0/
has "its methods" '"methods":[{"method":"exact"' compared.html
has "and the plan" '"shares":[165,297,538]' compared.html
has "a title" '"title":"Methods"' compared.html
run "$hetplan" model --speeds 1,2 -n 100 --observations 10:1,20:2.1,40:4.3 --html model.html
is "a model" "$rc/$err" 0/
"$hetplan" share -n 10 --speeds 1,2 --cost linear --json >saved.json
run "$hetplan" show --html shown.html saved.json
ok "the table says what the shares were" grep -q -x 'processor  share  before rounding  *time' <<<"$out"
has "a plan that is shown" '"shares":[3,7]' shown.html
run "$hetplan" share -n 10 --speeds 1,2 --cost linear --html nowhere/page.html
is "no directory for it" "$rc/$out/$err" "1//hetplan: cannot create 'nowhere/page.html': No such file or directory"
if [ -w /dev/full ]; then
  run "$hetplan" share -n 10 --speeds 1,2 --cost linear --html /dev/full
  is "a full disk" "$rc/$out/$err" "1//hetplan: cannot write '/dev/full': No space left on device"
fi
done_testing
