# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Pages of reports in a browser, headless Chromium: of jobs that went well and that failed, of 1, 4 and 256 ranks, on
# one host and on several. It has nothing to complain of, and what it shows is what the report says.
. "$ROOT/scripts/tap.sh"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all "no chromium is installed"

# browse FILE WIDTH [OPTION...] - the document as the browser has it in the end goes to dom, what it complains of to console
browse() {
  local file=$1 width=$2; shift 2
  "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$TEST_TMP/profile" --window-size="$width,1000" \
    --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "$@" "file://$PWD/$file" >dom 2>log
  grep CONSOLE log >console
}
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
is "four: a table of each section's pictures, and of files" "$(count '<summary>As a table')" 8
has four "without measured rates the plan is compared by ratios" 'relative to the mean of the ranks (1 ×)'
has four "the legend names the plan" '</svg>plan</li>'
ok "four: ratios follow the bars" grep -q '>[01][.][0-9]* ×</text>' dom
fits four
page rates 0 --ranks 2 --speeds auto -f -o out in
has rates "with measured rates the plan is compared in seconds" 'Seconds that each rank took, and those that the plan predicted'

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
ok "many: pictures of 64 rows at most" test "$(grep -o 'Phases over [^"]*' dom | head -n 1 | sed 's/.*, \([0-9]*\) rows/\1/')" -le 64
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
done_testing
