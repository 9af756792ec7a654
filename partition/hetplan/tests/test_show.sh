#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Plans in files: what --json writes, hetplan show reads, for every operation and method; a plan that does
# not keep to its request, or whose times do not match its costs, is refused with the place.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
hetplan=$BIN/hetplan

round_trip() { # round_trip NAME WORDS... - the plan of these words is shown as it was planned
  local name=$1 verb=$2; shift
  if ! "$hetplan" "$@" --json >plan.json 2>said; then is "$name: planned" "$(cat said)" ""; return; fi
  run "$hetplan" show plan.json --json
  is "$name: comes back as it was" "$rc $err$(keys <<<"$out" | grep -v '^"gap_percent"')" "0 $(keys <plan.json)"
  run "$hetplan" show --csv plan.json
  is "$name: the same rows" "$rc $err$out" "0 $("$hetplan" "$@" --csv)"
  if [ "$verb" != chain ]; then
    run "$hetplan" show - --gantt <plan.json
    is "$name: a chart" "$rc $err" "0 "
  fi
}
keys() { sed 's/[{}]/\n/g' | sed 's/,"request":$//' | head -n 2 | tail -n 1 | tr , '\n' | sort; } # members of the answer, in any order

share=(share -n 1000 -s "1,2.5,4" --cost nlogn)
for m in exact taylor asymptotic proportional; do round_trip "share $m" "${share[@]}" --method $m; done
round_trip "share with bounds" share -n 1000 -s 1,2,4 --cost linear --minimum 300,0,0 --capacity 900,900,400 --quantum 10
for m in auto threshold bitset dp; do round_trip "unrelated $m" share -n 300 --costs linear,nlogn,power:1.5 --method $m; done
round_trip weights share --weights 5,3x1,4 -s 1,1,2
scatter=(scatter -n 500 --compute "1,2,3" --link ".3,.2")
for m in auto dp dp-increasing window multires lp closed allatonce twopass greedy; do
  round_trip "scatter $m" "${scatter[@]}" --method $m
done
round_trip "scatter fill" scatter -n 500 --compute 1,2,3 --link .2,.3 --method fill
round_trip "scatter with bounds" "${scatter[@]}" --minimum 0,40,40 --quantum 7
round_trip "scatter-order" "${scatter[@]}" --op scatter-order --minimum 200,0,0 --names a,b,c
round_trip farm "${scatter[@]}" --chunk 7 --rule factoring
round_trip emulate emulate --ratings 0.46,0.65,1.61,1.61 --processes 11
round_trip "best emulation" emulate --ratings 1,1.5 --best-upto 20
round_trip model model --observations 10:20,100:200,300:700 -s 1,3 -n 100
chain=(chain --w "1,2,1.5" --z ".1,.2" --vcomm "1,2" --vcomp "1,3")
for m in lp simple singleinst multiinst; do round_trip "chain $m" "${chain[@]}" --method $m; done
round_trip "chain of unlike loads" chain --w-load "1,2,1.5,2,1,1" --z ".1,.2" --vcomm "1,2" --vcomp "1,3" \
  --release 0,1 --weight 2,1 --objective flow --names a,b,c
round_trip "chain within limits" "${chain[@]}" --installments 2,3 --time-limit 1e6
echo '{"op":"scatter-root","id":[1],"items":99,"compute":[{"repeat":3,"value":{"type":"nlogn"}}],
  "link":[[null,{"type":"linear"},{"type":"linear","scale":2}],[{"type":"linear","scale":0.5},null,{"type":"linear"}],
  [{"type":"linear"},{"type":"linear"},null]],"minimum":[0,5,9]}' >root.json
round_trip "scatter-root" scatter -i root.json
echo '{"op":"round","items":10,"shares":[3.5,3.25,3.25],"speeds":[1,2,3],"cost":{"type":"nlogn"}}' >round.json
round_trip round share -i round.json
sed -i 's/"speeds".*/"rule":"scatter"}/' round.json
"$hetplan" share -i round.json --json >plan.json
run "$hetplan" show plan.json --csv
is "rounding by rule has no dates" "$rc $(tail -n 1 <<<"$out")" "0 2,3"
"$hetplan" "${chain[@]}" --json | sed 's/.*"fractions":\(.*\]\]\]\),"makespan.*/\1/' >fractions
echo '{"op":"chain-replay","w":[1,2,1.5],"z":[0.1,0.2],"vcomm":[1,2],"vcomp":[1,3],"fractions":'"$(cat fractions)}" >replay.json
round_trip "chain-replay" chain -i replay.json

refused() { # refused MESSAGE SED [FILE] - the plan, changed by sed, is not taken over
  sed "$2" "${3:-plan.json}" >changed.json
  ok "$1: it is changed" test "$(cmp -s "${3:-plan.json}" changed.json; echo $?)" -eq 1
  run "$hetplan" show changed.json
  is "$1" "$rc $out$err" "1 hetplan: 'changed.json': $1"
}
"$hetplan" "${scatter[@]}" --minimum 0,40,40 --quantum 5 --json >plan.json
shares=$(sed 's/.*"shares":\[\([^]]*\).*/\1/' plan.json)
IFS=, read -r a b c <<<"$shares"
refused "'shares': they sum to 495, not to 500" "s/\"shares\":\[$a,/\"shares\":[$((a - 5)),/"
refused "'shares': they sum to more than 500" "s/\"shares\":\[$a,/\"shares\":[501,/"
refused "'shares[1]': below the minimum" "s/\"shares\":\[$shares/\"shares\":[$((a + b - 35)),35,$c/"
refused "'shares[1]': must be a multiple of the quantum" "s/\"shares\":\[$shares/\"shares\":[$((a + 1)),$((b - 1)),$c/"
run sed "s/\"shares\":\[$shares/\"shares\":[$((a + 5)),$((b - 5)),$c/" plan.json
echo "$out" >moved.json
run "$hetplan" show moved.json
is "dates of other shares" "$rc ${err//[0-9.]/}" "1 hetplan: 'movedjson': 'times[]': '', but the costs give ''"
run "$hetplan" show <(sed 's/"makespan":/&1/' plan.json)
is "another makespan" "$rc ${err##*: }" "1 ${err##*: }"
ok "another makespan: says which" grep -q "'makespan': .* but the costs give" <<<"$err"
refused "'lower_bound': above the makespan" 's/"lower_bound":/&1/'
refused "'lower_bound': must be a number or null" 's/"lower_bound":[^,]*/"lower_bound":"low"/'
refused "no shares" "s/\"shares\":\[$shares/\"shares\":[/"
refused "not a plan with its request: write one with '--json'" 's/"request"/"Request"/'
refused "'status': must be 'ok'" 's/"status":"ok"/"status":"error"/'
refused "'items' is missing" 's/"items":500,//'
refused "'times': 2 entries, must be 3" 's/"times":\[[^,]*,/"times":[/'
refused "'processors': 3 entries, must be 2" "s/\"shares\":\[$shares/\"shares\":[0,500/; s/\"quantum\":5/\"quantum\":1/; s/\"minimum\":[^]]*\],//"
"$hetplan" "${scatter[@]}" --op scatter-order --json >plan.json
refused "'order': lists '1' twice" 's/"order":\[[0-9]*,[0-9]*/"order":[1,1/'
"$hetplan" "${scatter[@]}" --chunk 7 --json >plan.json
IFS=, read -r a b c <<<"$(sed 's/.*"shares":\[\([^]]*\).*/\1/' plan.json)"
refused "'shares[0]': the share that the farm hands out is different" "s/\"shares\":\[$a,$b/\"shares\":[$((a + 7)),$((b - 7))/"
refused "'shares': 2 entries, must be 3" "s/\"shares\":\[$a,$b,/\"shares\":[$((a + b)),/"
"$hetplan" share -n 1000 -s 1,2,4 --cost linear --capacity 900,900,400 --json >plan.json
refused "'shares[2]': above the capacity" 's/"capacity":\[900,900,400/"capacity":[900,900,1/'
refused "'speeds[0]': must be a number above 0" 's/"speeds":\[1[.0]*,/"speeds":[0,/'
printf '{"op":\n' >broken.json
run "$hetplan" show broken.json
is "no JSON" "$rc ${err%%: end*}" "1 hetplan: 'broken.json': line 2, column 0: unexpected token near end of file"
run "$hetplan" show none.json
is "no file" "$rc $err" "1 hetplan: 'none.json': No such file or directory"
for words in "" "plan.json --op share" "plan.json --compare" "plan.json -n 5" "plan.json other"; do
  # shellcheck disable=SC2086  # words are words
  run "$hetplan" show $words
  is "usage: show $words" "$rc $out" "2 "
done
done_testing
