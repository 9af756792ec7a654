# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Pages of reports in a browser, headless Chromium: of jobs that went well, that failed and that were simulated, of 1 to 1000
# ranks, on one host and on several, and of two jobs. It has nothing to complain of, and what it shows is what the report says.
. "$ROOT/scripts/tap.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all "no chromium is installed"

# shellcheck source=scripts/page/fits.sh
. "$ROOT/scripts/page/fits.sh"
has() { ok "$1: $2" grep -q -e "$3" dom; }
count() { grep -o -e "$1" dom | wc -l; }

echo '<!DOCTYPE html><p>it works</p><script>nothing.at = all;</script>' >broken.html
browse broken.html 800
if ! grep -q 'it works' dom; then skip_all "$browser does not start here: $(tail -n 1 log)"; fi
ok "a page whose script fails is noticed" test -s console

page() { # page NAME EXIT-CODE ARGUMENT... - of such a job, looked at on a small screen and a wide one
  local name=$1 code=$2; shift 2
  run "$BIN/hetsort" --html "$name.html" "$@"
  is "$name: the job ends with $code" "$rc" "$code"
  for width in 400 1600; do
    browse "$name.html" $width
    is "$name, $width px: nothing to complain of" "$(cat console)" ""
  done
}

"$BIN/gensort" 20000 in
page one 0 -f -o out in
has one "the verdict" '<h1 class="good">Sorted 20,000 records, 2.00 MB, in .* on 1 rank</h1>'
has one "the name of its rank, as a whole" ">0 $(hostname | cut -c1-4)[^…]*<title>"
has one "its timeline" '<h2>Timeline</h2>'
has one "which page this is, of what" "<p class=\"identity\" title=\"[^\"]*\"><strong>hetsort report</strong> · $(hostname) · in → out · [^<]*--html one.html -f -o out in</p>"
has one "the whole command" '<th scope="row">command</th><td class="wide"><span class="code">[^<]*--html one.html -f -o out in</span></td>'
has one "dates of the reader's clock" 'Started <time datetime="20[0-9TZ:-]*">[A-Z][a-z]* [0-9]*, 20'
is "one rank: nothing to compare, and nobody to wait for" "$(count '<h2>\(Plan against reality\|Balance\|Exchange\)</h2>') $(count '</svg>waiting for other ranks')" "0 0"
page four 0 --ranks 4 --speeds 1,1,0.5,0.5 --adapt -f -o out in
for title in 'Plan against reality' Timeline Activity Balance 'Shares before and after --adapt' Exchange Memory Machine; do
  has four "$title" "<h[23]>$title</h[23]>"
done
ok "four: a critical rank" grep -q '▶ [0-3] ' dom
has four "rates over time" '<h3>Written to files, at most [0-9.]* [kM]B/s</h3>'
is "four: who sent how much to whom" "$(count '>to [0-3]</th>')" 4
is "four: a table of each section's pictures" "$(count '<summary>As a table')" 7
has four "without measured rates the plan is compared by ratios" 'relative to the mean of the ranks (1 ×)'
has four "the legend names the plan" '</svg>plan</li>'
ok "four: ratios follow the bars" grep -q '>[01][.][0-9]* ×</text>' dom
fits four
page rates 0 --ranks 2 --speeds auto -f -o out in
has rates "with measured rates the plan is compared in seconds" 'Seconds that each rank worked, and those that the plan predicted'

# The timeline draws the waits of each rank as the report has them, and the cursor is in all pictures of the time.
cat >drawn.html <<'EOF'
<script>
const shown = [], report = JSON.parse(document.getElementById('data').textContent), drawn = {};
for (const bar of document.querySelectorAll('svg[aria-label^="Phases over"] rect:not(.critical)')) {
  const y = bar.getAttribute('y'), width = Number(bar.getAttribute('width'));
  drawn[y] = drawn[y] || { wait: 0, all: 0 };
  drawn[y].all += width;
  if (bar.classList.contains('wait')) drawn[y].wait += width;
}
Object.values(drawn).forEach((row, i) => {
  const { timeline, wait_s } = report.ranks[i], total_s = report.total_s;
  const said = timeline.reduce((s, span) => s + span.wait_s, 0) + total_s - timeline[timeline.length - 1].end_s;
  const near = 0.02 * total_s;
  shown[i] = (row.wait / row.all) * total_s;
  const fits = Math.abs(shown[i] - said) < near && shown[i] > wait_s - near;
  console.error(`rank ${i}: ${fits ? 'as reported' : `${shown[i]} s drawn, ${said} and ${wait_s} reported`}.`);
});
console.error(`rank ${shown.indexOf(Math.max(...shown))} waits longest.`);
const pictures_of_time = document.querySelectorAll('.timed'), box = pictures_of_time[1].getBoundingClientRect();
const move = (x) => pictures_of_time[1].dispatchEvent(new PointerEvent('pointermove', { clientX: x, clientY: box.top + 5 }));
move(box.left + box.width / 2);
const places = new Set([...document.querySelectorAll('.cursor .now')].map((l) => l.getAttribute('x1')));
console.error(`cursors: ${document.querySelectorAll('.cursor').length - pictures_of_time.length} too many at ${places.size} place.`);
move(box.left);
console.error(`cursors left of the axis: ${document.querySelectorAll('.cursor').length}.`);
</script>
EOF
if [ -x "$BIN/failpoints/hetsort" ]; then
  HETSORT_FAIL=delay@read:0=3 run "$BIN/failpoints/hetsort" --ranks 2 --html slow.html -f -o out in
  cat slow.html drawn.html >whole.html
  browse whole.html 1600
  is "the page draws the waits that the report has" "$(grep -o 'rank [0-9][^"]*[.]"' console)" 'rank 0: as reported."
rank 1: as reported."
rank 1 waits longest."'
  is "one cursor in all pictures of the time" "$(grep -o 'cursors[^"]*"' console)" 'cursors: 0 too many at 1 place."
cursors left of the axis: 0."'
fi
sed "s/\"host\":\"[^\"]*\"/\"host\":\"$(printf 'W%.0s' {1..60})\"/g; s|\"command\":\[|&\"/$(printf 'long/%.0s' {1..80})\",|" four.html >wide.html
fits wide
page many 0 --ranks 256 -f -o out in
has many "the verdict" 'on 256 ranks</h1>'
ok "many: pictures of 32 rows at most" test "$(grep -o 'Phases over [^"]*' dom | head -n 1 | sed 's/.*, \([0-9]*\) rows/\1/')" -le 32
is "many: a table of all of them" "$(sed -n '/Ranks and the processors/,$p' dom | grep -o '<tr class="[a-z]*">\|<tr>' | wc -l | awk '{print ($1 >= 257)}')" 1
# The same ranks on eight hosts of 32.
run "$BIN/hetsort" --ranks 256 --report many.json -f -o out in
awk '/^ *"rank": [0-9]+,$/ {host = int($2 / 32)} /^ *"host": / {sub(/"[^"]*",$/, "\"node" host "\",")} {print}' many.json >hosts.json
run "$BIN/hetsort-report" hosts.json -o hosts.html
for width in 400 1600; do
  browse hosts.html $width
  is "hosts, $width px: nothing to complain of" "$(cat console)" ""
done
is "hosts: pictures have a row for each" "$(grep -o 'Phases over [^"]*' dom | head -n 1 | sed 's/.*, \([0-9]*\) rows/\1/')" 8
is "hosts: each with its ranks" "$(grep -o 'node[0-9] (32)<' dom | sort -u | wc -l)" 8
has hosts "which of them is shown" 'The phases of the busiest rank of each host over time'
is "hosts: tables have all ranks" "$(sed -n '/Ranks and the processors/,$p' dom | grep -o '<tr class="[a-z]*">\|<tr>' | wc -l | awk '{print ($1 >= 257)}')" 1
fits many
fits hosts
sed 's/"node\([0-9]\)"/"MMMM-WWWW-rack-with-a-long-name-\1.cluster.example.org"/' hosts.json >long.json
run "$BIN/hetsort-report" long.json -o long.html
fits long
head -c 150 in >'half<img src=x onerror=alert(1)>'
page refused 2 --ranks 4 -o none 'half<img src=x onerror=alert(1)>'
has refused "the verdict" '<h1 class="bad">Not sorted: the job was refused</h1>'
is "refused: a short page" "$(grep -o '<h2>[^<]*' dom)" '<h2>Machine'
has refused "its error, as text" 'half&lt;img src=x onerror=alert(1)&gt;'
is "refused: what all ranks say stands there once" "$(count '<div class="notice error">')" 1
is "refused: no colours of what it did not do, and no checksum" "$(count '</svg>write</li>')$(count '>checksum<')" 00
is "refused: no element of it" "$(count '<img')" 0
if [ -x "$BIN/failpoints/hetsort" ]; then
  HETSORT_FAIL=file:1@inwrite run "$BIN/failpoints/hetsort" --ranks 2 --html failed.html -f -o out in
  browse failed.html 800
  is "a job that fails while it writes: nothing to complain of" "$rc/$(cat console)" 3/
  has failed "the verdict" 'Not sorted: the job failed (io)'
  has failed "how far it was" '<h2>Timeline</h2>'
fi
sed 's/"ranks":\[.*\]/"ranks":[]/; s/"signal":null/"signal":"SIGTERM"/; s/"status":"ok"/"status":"interrupted"/' one.html >stopped.html
browse stopped.html 800
is "a job that was interrupted: nothing to complain of" "$(cat console)" ""
has stopped "the verdict" 'Not sorted: interrupted by SIGTERM'
sed 's/^{"format".*/{"format":"hetsort-report","version":1,"ranks":[{"rank":"a","timeline":7,"bytes":null,"phases_s":{"read":"x"},"records":[]},3]}/' one.html >odd.html
browse odd.html 800
is "a report with members of other kinds: nothing to complain of" "$(cat console)" ""
has odd "a verdict" '<h1 class="bad">'

made() { # made NAME REPORT... - the page NAME.html of reports, looked at on a small screen and a wide one
  local name=$1; shift
  run "$BIN/hetsort-report" -o "$name.html" "$@"
  is "$name: made" "$rc$err" 0
  fits "$name"
  browse "$name.html" 1000
}
simulate() { # simulate NAME PLATFORM ARGUMENT... - the report NAME.json of such a job, of which the input is 2 MB for 2 GB
  local name=$1
  printf '%b\n' "$2" >platform; shift 2
  run "$BIN/hetsim" -s 1000 -r sim.txt platform --report "$name.json" "$@" -f -o out in
}

# Many ranks on hosts: a row for a host or for several, which opens by a click and by keys.
cat >open.html <<'EOF'
<script>
const shape = document.querySelector('svg[aria-label^="Phases over"]').closest('.picture'), button = () => shape.querySelector('[role=button]');
const names = () => [...shape.querySelectorAll('svg > text[text-anchor=end]')].filter((t) => t.querySelector('title')).map((t) => t.querySelector('title').textContent);
const say = (what, more) => console.error(`${what}: ${names().length} rows, ${button().getAttribute('aria-expanded')}${more}.`);
say('closed', '');
button().dispatchEvent(new MouseEvent('click', { bubbles: true }));
say('opened', `, ${names()[1]}`);
button().dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
say('closed again', `, ${document.activeElement === button() ? 'with' : 'without'} the focus`);
</script>
EOF
simulate 64 '4 x ranks 8 net 10G\n4 x speed 0.5 ranks 8 net 10G'
simulate 256 '32 x ranks 8 net 10G'
simulate 1000 '125 x ranks 8 net 10G'
for wanted in '64 8 + h0 (8)' '256 32 + h0 (8)' '1000 32 + h0–h3 (32)'; do
  read -r ranks rows first <<<"$wanted"
  made "$ranks" "$ranks.json"
  is "$ranks ranks: rows" "$(grep -o 'Phases over [^"]*' dom | head -n 1 | sed 's/.*, //')" "$rows rows"
  has "$ranks" "the first row" ">$first<"
  has "$ranks" "which ranks are shown" "The phases of the busiest rank of each \(group of hosts\|host\) over time. A click on"
done
cat 64.html open.html >whole.html
browse whole.html 1000
is "a row opens into its ranks" "$(grep -o '\(closed\|opened\)[^"]*[.]' console)" 'closed: 8 rows, false.
opened: 16 rows, true, 0 h0.
closed again: 8 rows, false, with the focus.'

rank() { # rank NUMBER END - the report of a rank that ended its last phase at END
  printf '{"rank":%d,"host":"h%d","threads":2,"phases_s":{"read":2.5,"exchange":1,"merge":%s},"records":{"in":500,"out":400},' "$1" "$1" "$2"
  printf '"timeline":[{"begin_s":0,"end_s":3,"wait_s":0.5,"phase":"read"},{"begin_s":3,"end_s":%s,"wait_s":1,"phase":"merge"}],' "$2"
  printf '"bytes":{"sent":2000000,"received":1000000,"arrays_peak":3000000},"memory":{"planned_bytes":3100000,"limit_bytes":null},"sent_to":[0,1000,0,0]}'
}

# Simulated jobs
printf '{"format":"hetsort-report","version":1,"status":"ok","exit_code":0,"simulated":{"scale":1000.0},"records":20000000,"total_s":8.0,' >simulated.json
printf '"config":{"record_bytes":100},"versions":{"kernel":"6.1"},"use":null,"ranks":[%s,%s]}\n' "$(rank 0 7)" "$(rank 1 8)" >>simulated.json
made simulated simulated.json
has simulated "it is simulated" '<h1 class="good">Simulated (scale 1,000): sorted 20,000,000 records, 2.00 GB, in 8.00 s on 2 ranks of 2 hosts</h1>'
is "simulated: no figures of this machine" "$(count '>core-seconds\|>processors used\|>processors<\|>kernel<\|>pid<\|>process<\|>model<')" 0

# Two jobs
unequal='2 x net 10G\n2 x speed 0.5 net 10G'
simulate equal "$unequal" --plan=equal
simulate planned "$unequal"
made compared equal.json planned.json
has compared "the result" '<h1>planned took [0-9.]* m*s, 0[.][0-9]* of equal.*s [0-9.]* m*s</h1>'
has compared "what both sorted" 'Simulated (scale 1,000): both sorted 20,000,000 records, 2.00 GB, on 4 ranks of 4 hosts'
has compared "waits and shares" 'Ranks waited [0-9.]* % of the time, instead of [0-9.]* %. Rank [23] wrote 1[67][0-9.]* % of the records, instead of 25 %.'
has compared "the option that differs" '<td>plan</td><td class="wide">equal</td><td class="wide">nlogn</td>'
has compared "the command" '<td>in the command</td><td class="wide">--plan=equal</td><td class="wide">–</td>'
is "compared: sections" "$(grep -o '<h2>[^<]*' dom | paste -sd' ')" '<h2>Timelines <h2>Shares <h2>Waits <h2>Machine of equal <h2>Machine of planned'
cat >axis.html <<'EOF'
<script>
const reports = JSON.parse(document.getElementById('data').textContent).map((one) => one.report), drawn = document.querySelectorAll('svg[aria-label^="Phases over"]');
const second = Number([...drawn[0].querySelectorAll('text')].find((t) => t.firstChild.data.startsWith('planned: ')).getAttribute('y'));
const left = Number(drawn[0].querySelector('.axis').getAttribute('x1')), ends = [0, 0];
for (const bar of drawn[0].querySelectorAll('rect')) {
  const [x, y, width] = ['x', 'y', 'width'].map((name) => Number(bar.getAttribute(name)));
  ends[Number(y > second)] = Math.max(ends[Number(y > second)], x + width - left);
}
const scale = ends.map((px, i) => px / reports[i].total_s);
console.error(`${drawn.length} picture, ${Math.abs(scale[0] / scale[1] - 1) < 0.01 && ends[1] < ends[0] ? 'one axis' : `scales ${scale}`}.`);
</script>
EOF
cat compared.html axis.html >whole.html
browse whole.html 1000
is "compared: timelines over one axis" "$(grep -o '[0-9]* picture, [^"]*' console)" "1 picture, one axis."
mkdir other; cp planned.json other/equal.json
made paths equal.json other/equal.json
has paths "files of one name have their directories" '<strong>hetsort report</strong> · equal.json and other/equal.json'
cp planned.json 'a<img src=x onerror=alert(1)>.json'
made hostile planned.json 'a<img src=x onerror=alert(1)>.json'
is "hostile: a name is text" "$(count '<img')/$(count '<h1>a&lt;img src=x onerror=alert(1)&gt; took')" "0/1"
has hostile "nothing differs" 'Their options do not differ'
made counts 64.json 256.json
has counts "other numbers of ranks" '64 has 64 ranks, 256 has 256, so the shares and waits of their ranks are not compared'
is "counts: no shares" "$(count '<h2>\(Shares\|Waits\)')" 0
sed 's/"checksum": "[0-9a-f]*"/"checksum": "00000000000000000000000000000001"/' equal.json >sums.json
made unlike sums.json planned.json
has unlike "other records" '<h1 class="bad">Not the same records: their checksums differ</h1>'
sed 's/^  "records": 20000/  "records": 10000/' equal.json >half.json
made halves half.json planned.json
has halves "another number of records" '<h1 class="bad">Not the same job: half sorted 10,000,000 records, 1.00 GB, planned 20,000,000 records, 2.00 GB</h1>'

# Jobs that failed: one rank was lost, another has only its error; or nothing is known but that no rank made progress.
failed() { # failed STATUS RANK... - the report of a job that failed after 9.5 s
  printf '{"format":"hetsort-report","version":1,"status":"%s","exit_code":5,"total_s":9.5,"records":null,"use":null,"balance":null,"checksum":null,' "$1"; shift
  printf '"command":["hetsort","-o","out","in"],"notes":["a note","a note"],"ranks":[%s]}\n' "$(IFS=,; echo "$*")"
}
failed peer "$(rank 0 7)" "$(rank 1 8)" '{"rank":2,"host":"h2","lost":true}' \
  '{"rank":3,"host":"h3","phase":"merge","error":{"code":5,"phase":"merge","message":"rank 2 (h2), merging: no sign of life for 6.0 s"}}' >lost.json
made lost lost.json
has lost "the verdict" '<h1 class="bad">Not sorted: the job failed (peer) after 9.50 s on 4 ranks of 4 hosts</h1><div class="notice error">'
has lost "the lost rank" '<strong>rank 2 (h2): </strong>was lost, and sent no report'
has lost "the error" '<strong>rank 3 (h3): </strong>rank 2 (h2), merging: no sign of life for 6.0 s'
has lost "of which ranks nothing is known" '2 ranks, the first is rank 2 (h2): </strong>nothing is known of the work of these ranks, except for the last phase'
is "lost: in its row of the timeline, and no zeros of it" "$(count '>lost<\|>last in merge<')/$(count '>waits 100 %\|>0 B<')" 2/0
is "lost: waits in both phases of two ranks and in the legend, and none after a rank's end" "$(count '<rect class="wait"')" 5
is "lost: a note once" "$(count 'a note</div>')" 1
failed timeout '{"rank":0,"host":"h0","error":{"code":5,"message":"no rank made progress for 5 s"}}' '{"rank":1,"host":"h1"}' '{"rank":2,"host":"h1","lost":true}' >timeout.json
run "$BIN/hetsort-report" -o timeout.html timeout.json
cat timeout.html fit.html >whole.html
browse whole.html 1000
is "timeout: nothing to complain of" "$(grep -o '"[^"]*"' console)" '"looked at 0 at 1000"'
has timeout "the verdict" '<h1 class="bad">Not sorted: the job failed (timeout) after 9.50 s on 3 ranks of 2 hosts</h1>'
has timeout "the sentence" '<strong>rank 0 (h0): </strong>no rank made progress for 5 s'
has timeout "why there are no pictures" 'The report has no times of the work of the ranks'
is "timeout: no pictures" "$(count 'role="img"')" 0
made failing planned.json lost.json
has failing "the verdict" '<h1 class="bad">lost did not sort</h1>'
has failing "whose error" '<strong>lost, rank 3 (h3): </strong>'
is "failing: timelines, but no shares of a job that did not sort" "$(grep -o '<h2>[^<]*' dom | paste -sd' ')" '<h2>Timelines <h2>Machine of planned <h2>Machine of lost'
sed -n '/ id="data">$/{n;p;}' odd.html >odd.json
made strange odd.json planned.json
has strange "the verdict of a report with members of other kinds" '<h1 class="bad">odd did not sort</h1>'
mapfile -t others < <(printf '{"rank":%d}\n' {1..99})
failed peer "$(rank 0 7)" "${others[@]}" >hostless.json
made hostless hostless.json
has hostless "ranks of unknown hosts count for none" 'on 100 ranks</h1>'
has hostless "and are in groups" '>+ 96–99 (4)<'
made nothing timeout.json planned.json
has nothing "the verdict" '<h1 class="bad">timeout did not sort</h1>'
done_testing
