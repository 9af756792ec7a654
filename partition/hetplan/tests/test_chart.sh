#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Charts: the text chart of small plans to the letter, pictures that are well-formed XML with the
# bars at the dates of the answer, names that are escaped, no chart without dates.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"

hetplan=$BIN/hetplan
rays=$ROOT/partition/examples/rays.json
chart() { "$hetplan" "$@" --gantt | sed '1,/^$/d'; }

is "shares: bars to their ends, then blanks or waiting" \
  "$(chart emulate --ratings 1,2,4 --processes 4 --names one,two,four --width 48)" \
"$(cat <<'END'
one  |
two  |#########################
four |######################################
     +----------+---------+---------+-------
     0          0.2       0.4       0.6
# compute  . wait
END
)"
is "scatter: the stair" "$(chart scatter -n 90 --compute 1,1,1 --link 0.5,0.5 --width 48)" \
"$(cat <<'END'
P0 |-------------##########################
P1 |.............---------##################
P2 |======================##################
   +-------------+-------------+------------
   0             20            40
- receive  = send  # compute  . wait
END
)"
is "chain: two lines each" \
  "$(chart chain --w 1,1 --z 0.5 --vcomm 1,1 --vcomp 1,1 --method simple --width 48)" \
"$(cat <<'END'
P0 |========|=======
   |################|###############
P1 |--------|-------
   |........|###############|###############
   +---------------+---------------+--------
   0               0.5             1
- receive  = send  # compute  . wait  | next
END
)"
is "chain: speeds of each load, the second one released later" \
  "$(chart chain --w-load 1,1,1,1 --z 0.5 --vcomm 1,1 --vcomp 1,1 --method simple --width 48 --release 0,2)" \
"$(cat <<'END'
P0 |====.........................|===
   |#######......................|######
P1 |----.........................|---
   |...|#######.....................|#######
   +--------------+--------------+----------
   0              1              2
- receive  = send  # compute  . wait  | next
END
)"
is "chain: limits of the planner do not apply to the chart" \
  "$(chart chain --w 1,2 --z 0.5 --vcomm 1 --vcomp 1 --time-limit 1e6 2>&1)" \
  "$(chart chain --w 1,2 --z 0.5 --vcomm 1 --vcomp 1)"
is "no wider than asked" \
  "$(for w in 48 60 80 200; do chart scatter -i "$rays" --width $w | awk -v w=$w 'length > w'; done)" ""
is "COLUMNS counts" "$(COLUMNS=60 chart scatter -i "$rays")" "$(chart scatter -i "$rays" --width 60)"
is "the rays: 16 rows, axis, numbers, legend" "$(chart scatter -i "$rays" | wc -l | tr -d ' ')" 19
is "the manual shows the chart of the rays" \
  "$(sed -n '/^caseb     |/,/wait$/{s/[\\]//g;p;}' "$ROOT/partition/man/hetplan.1")" \
  "$(chart scatter -i "$rays" --width 72)"
is "nothing planned, nothing drawn" "$(chart emulate --ratings 1 --processes 0 --width 48 | head -n 1)" "P0 |"
is "farm: each chunk from its message on, one message at a time" \
  "$(chart scatter -n 12 --compute 1,2,1 --link 0.5,0.5 --chunk 2 --width 48)" \
"$(cat <<'END'
P0 |-------#############|------#############
P1 |......|------###########################
P2 |#############|############|#############
   +-------------+------------+------------+
   0             2            4            6
- receive  # compute  . wait  | next
END
)"
run "$hetplan" scatter -n 200000 --compute 1,1 --link 1 --chunk 1 --gantt
is "a farm of too many chunks has no chart" "$rc $out$err" \
  "1 hetplan: no chart: 200000 chunks, more than 100000"
run "$hetplan" share -n 9 -s 1 --cost linear
is "no chart into a pipe" "$(grep -c '|' <<<"$out")" 0

# shellcheck disable=SC2317  # called through run and ok
well_formed() { awk -f "$ROOT/partition/hetplan/tests/xml.awk" "$1"; }
for bad in '<a>' '<a></b>' '<a b=c/>' '<a b="1" b="2"/>' '<a>&x;</a>' '<a/><b/>' '<a b="<"/>' '<!-- a -- b --><a/>'; do
  printf '<?xml version="1.0" encoding="UTF-8"?>\n%s\n' "$bad" >bad.svg
  run well_formed bad.svg
  is "the check finds $bad" "$rc" 1
done
picture() { # picture NAME WORDS... - a picture that is well-formed
  local name=$1; shift
  run "$hetplan" "$@" --svg "$name.svg"
  is "$name: exit 0" "$rc $err" "0 "
  ok "$name: well-formed" well_formed "$name.svg"
}
picture rays scatter -i "$rays"
is "rays: a bar for each message, 15 sends, 16 computations, 3 colours in the legend" \
  "$(grep -c '<rect.*#e69f00.*<title>' rays.svg) $(grep -c '<rect.*#cc79a7.*<title>' rays.svg) $(
    grep -c '<rect.*#0072b2.*<title>' rays.svg) $(grep -c 'height="14" fill=' rays.svg)" "15 15 16 3"
ok "rays: dates of the answer" grep -q '<title>merlin-2: receive from 23.* to 30.*</title>' rays.svg
ok "rays: the unit of the axis" grep -q '>time, in units of the cost</text>' rays.svg
ok "rays: title" grep -q '>scatter of 817101 items: makespan 403.9752</text>' rays.svg
is "rays: no bar leaves the picture" "$(awk '
  match($0, /x="[0-9.]+"/) { x = substr($0, RSTART + 3, RLENGTH - 4) + 0
    w = match($0, / width="[0-9.]+"/) ? substr($0, RSTART + 8, RLENGTH - 9) + 0 : 0
    if ($0 ~ /^<rect x/ && x + w > 20 + 8 * 9 + 800.01) print }' rays.svg)" ""
picture names share -n 9 -s 1,2 --cost linear --names '<&>"'\',$'\xc3\xa9\xe2\x82\xac' --title 'a <b> & "c"'
ok "names: escaped" grep -q '>&lt;&amp;&gt;&quot;&#39;</text>' names.svg
ok "names: letters beyond ASCII as they are" grep -q $'>\xc3\xa9\xe2\x82\xac</text>' names.svg
ok "names: title escaped" grep -q '<title>a &lt;b&gt; &amp; &quot;c&quot;</title>' names.svg
picture control emulate --ratings 1 --processes 1 --title $'a\e\xff'
ok "control: bytes made visible" grep -qF '<title>a\x1b\xff</title>' control.svg
picture chain chain --w 1,2,1 --z 0.5,0.25 --vcomm 1,2 --vcomp 1,1 --installments 2,1
picture farm scatter -n 12 --compute 1,2,1 --link 0.5,0.5 --chunk 2
is "farm: a bar for each message and each chunk" "$(grep -c '<rect.*#e69f00.*<title>' farm.svg) $(
  grep -c '<rect.*#0072b2.*<title>' farm.svg) $(grep -c 'height="14" fill=' farm.svg)" "3 6 2"
ok "farm: title" grep -q '>farm of 12 items: makespan 6</text>' farm.svg
run "$hetplan" share -n 5 --cost linear --speeds "$(yes 1 | head -n 4097 | paste -sd,)" --svg many.svg
is "more rows than a chart has" "$rc $out $err $(ls many.svg 2>/dev/null)" \
  "1  hetplan: no chart: 4097 processors, more than 4096 "
picture empty emulate --ratings 1,1 --processes 0
picture tiny share -n 5 -s 1e300,1 --cost linear
echo '{"op":"scatter-root","items":90,"compute":[{"type":"linear"},{"type":"linear","scale":2}],
"link":[[null,{"type":"linear"}],[{"type":"linear"},null]]}' >root.json
picture root scatter -i root.json
done_testing
