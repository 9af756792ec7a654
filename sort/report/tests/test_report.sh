# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsort-report: one report in, or two, and a page out; what is refused, and that nothing is left of a page that is not made.
. "$ROOT/scripts/tap.sh"
data_of() { sed -n '/ id="data">$/{n;p;}' "$1"; } # the line that a page has its report in

"$BIN/gensort" 20000 in
"$BIN/hetsort" --ranks 3 --report good.json -o out in
run "$BIN/hetsort-report" -o good.html good.json
is "a page of a good run" "$rc$out$err" 0
ok "it has the report's ranks" grep -q '"format":"hetsort-report".*"rank":0,.*"rank":1,.*"rank":2,' <(data_of good.html)
run "$BIN/hetsort-report" good.json
is "without -o it is standard output's" "$rc$err" 0
is "the same page" "$(printf '%s\n' "$out" | cksum)" "$(cksum <good.html)"
head -c 300 good.html >page.html
run "$BIN/hetsort-report" --output=page.html good.json
ok "an older page is replaced" cmp page.html good.html
echo mine >page.html
run "$BIN/hetsort-report" --output=page.html good.json
is "another file is not" "$rc/$(cat page.html)/${err#*\' }" \
  "2/mine/exists and was not written by hetsort --html or hetsort-report: choose another name, or remove it"

# sums REPORT LIST - print for each rank its count of bytes under that name, and the sum of its list, by time or by rank
sums() {
  awk -v list="$2" '
    $1 == "\"bytes\":" { bytes = 1 }
    bytes && $1 == "\"" (list == "sent_to" ? "sent" : list) "\":" && $2 != "[" { printf "%d ", $2; bytes = 0 }
    inside && /\]/ { inside = 0; printf "%d\n", n }
    inside { n += $1 }
    $1 == "\"" list "\":" && $2 == "[" { inside = 1; n = 0 }' "$1"
}
is "three ranks have sent" "$(sums good.json sent_to | awk '$1 > 0' | wc -l | tr -d ' ')" 3
is "what each sent to the others is what it sent" "$(sums good.json sent_to | awk '$1 != $2')" ""
for kind in read written sent; do # with headers and messages between the ranks
  is "bytes $kind by time are those that were $kind" "$(sums good.json $kind | awk '{ n++ } $2 < $1 || $2 > 1.3 * $1 + 8192; END { if (n != 3) print n }')" ""
done
"$BIN/gensort" 100000 large
run "$BIN/hetsort" --ranks 2 --strategy distribute --memory 16M --report spread.json --no-fsync -o spread large
ok "distributing, with runs on disk" grep -q '"spill_runs": [1-9]' spread.json
is "distributing, what each sent to the others" "$rc $(sums spread.json sent_to | awk '$1 > 0 && $1 == $2' | wc -l | tr -d ' ')" "0 2"

# spans REPORT - a line for each span: its rank, its phase, when it began and ended, and how long the rank waited in it
spans() {
  awk '$1 == "\"rank\":" { rank = $2 + 0 }
    $1 == "\"begin_s\":" { begin = $2 + 0 }
    $1 == "\"end_s\":" { end = $2 + 0 }
    $1 == "\"wait_s\":" { wait = $2 + 0 }
    $1 == "\"phase\":" && end >= 0 { gsub(/[",]/, "", $2); print rank, $2, begin, end, wait; end = wait = -1 }
    BEGIN { end = wait = -1; OFMT = "%.9f" }' "$1"
}
check_spans() { # check_spans REPORT - they follow each other, nobody waits longer than they last, and borders are counted
  awk 'FNR == NR { if ($1 == "\"rank\":") rank = $2 + 0; if ($1 == "\"wait_s\":" && !(rank in border)) border[rank] = $2 + 0; next }
    $4 < $3 || $5 < 0 || $5 > $4 - $3 + 1e-6 { print "rank", $1, "waits", $5, "in", $2, "of", $4 - $3 }
    $1 in last && $3 < last[$1] { print "rank", $1, "is in", $2, "before the last phase has ended" }
    { last[$1] = $4; waits[$1] += $5; n++ }
    END { for (r in border) if (waits[r] < border[r] - 1e-6) print "rank", r, "waits", waits[r], "at borders", border[r]; if (n < 8) print n, "spans" }' \
    "$1" <(spans "$1")
}
worked() { spans "$1" | awk -v rank="$2" -v phase="$3" '$1 == rank && $2 == phase { own += $4 - $3 - $5; wait += $5 } END { print (own >= 3 ? "worked" : wait > 0.2 ? "waited" : wait) }'; }
is "spans of a good run" "$(check_spans good.json)" ""
is "spans of a run that distributes" "$(check_spans spread.json)" ""
"$BIN/hetsort" --ranks 3 --source root --scatter dynamic --speeds auto --report root.json -f -o out in
is "spans where rank 0 scatters the input" "$(check_spans root.json)" ""
if [ -x "$BIN/failpoints/hetsort" ]; then
  HETSORT_FAIL=delay@read:0=3 run "$BIN/failpoints/hetsort" --ranks 2 --report slow.json -f -o out in
  is "spans where a rank is slow" "$rc/$(check_spans slow.json)" 0/
  is "what the slow rank works the other one waits" "$(worked slow.json 0 read) $(worked slow.json 1 read)" "worked waited"
fi

head -c 150 in >half
run "$BIN/hetsort" --ranks 2 --report bad.json -o none half
is "a run that is refused" "$rc" 2
run "$BIN/hetsort-report" -o bad.html bad.json
is "has a page" "$rc$err" 0
ok "with its error" grep -q '"status":"refused".*"message":"[^"]*half' <(data_of bad.html)

refused() { # refused NAME MESSAGE ARGUMENT... - exit code 2, such a message, and no page
  local name=$1 message=$2; shift 2
  rm -f no.html
  run "$BIN/hetsort-report" "$@"
  is "$name is refused" "$rc" 2
  ok "$name: why" grep -q -e "$message" <<<"$err"
  ok "$name: no page" test ! -e no.html
}
echo '{"format": "hetsort-manifest", "version": 1}' >other.json
echo '{"format": "hetsort-report", "version": 99, "ranks": []}' >later.json
head -c 300 good.json >cut.json
refused "a file that is not a report" "'other.json' is not a report of hetsort" -o no.html other.json
refused "a later version" "'later.json' is not of version 1" -o no.html later.json
refused "a report that is cut off" "'cut.json' is not a valid report: line" -o no.html cut.json
refused "records" "^hetsort-report: 'in' is not a valid report: line 1, column [0-9]*: " -o no.html in
refused "a missing file" "cannot open report 'nothing'" -o no.html nothing
refused "a directory" "report '.' is not a regular file" -o no.html .
refused "no report" "no report is given" -o no.html
refused "three of them" "more than two reports: a page has one, or compares two" -o no.html good.json bad.json good.json
refused "two, of which one is not a report" "'other.json' is not a report of hetsort" -o no.html good.json other.json
refused "two, of which one is missing" "cannot open report 'nothing'" -o no.html nothing good.json
refused "the second report as the page" "page 'bad.json' is the same file as report 'bad.json'" -o bad.json good.json bad.json
run "$BIN/hetsort-report" -o two.html good.json bad.json
is "a page of two reports" "$rc$err" 0
ok "it has both, with their names" grep -q '^\[{"name":"good.json","report":{"format":.*},{"name":"bad.json","report":{.*}\]$' <(data_of two.html)
run "$BIN/hetsort-report" -o two.html good.json good.json
is "a report and itself" "$rc$err" 0
refused "an option that is nearly one" "unknown option '--ouput' (did you mean --output?)" --ouput no.html good.json
refused "an option without its argument" "option '-o' takes an argument" -o
refused "an option that it does not have" "hetsort-report: unknown option '--what'" --what -o no.html good.json
cp good.json same.json
refused "the report as the page" "page 'same.json' is the same file as report 'same.json'" -o same.json same.json
ok "which stays" cmp good.json same.json
run "$BIN/hetsort-report" -o /dev/full good.json
ok "a device is not a valid page" test "$rc" -ne 0
if [ -w /dev/full ]; then
  "$BIN/hetsort-report" good.json >/dev/full 2>err
  is "a full disk" "$?" 4
  "$BIN/hetsort-report" --version >/dev/full 2>err
  is "a full disk, --version" "$? $(<err)" "3 hetsort-report: cannot write to standard output"
fi

# hetsort --html
undated() { sed 's/"date":"[^"]*"//' "$1"; }
run "$BIN/hetsort" --ranks 2 --report both.json --html both.html -f -o out in
is "hetsort --html" "$rc$out$err" 0
"$BIN/hetsort-report" -o again.html both.json
is "is what hetsort-report makes of the report" "$(undated both.html | cksum)" "$(undated again.html | cksum)"
run "$BIN/hetsort" --html failed.html -o none half
is "a run that is refused, with --html" "$rc" 2
ok "has its page" grep -q '"status":"refused"' <(data_of failed.html)
HETSORT_FAIL=delay@merge:0=600 "$BIN/failpoints/hetsort" --ranks 2 --html stopped.html --progress 1 -f -o out in 2>err &
pid=$!
await grep -q merge err
kill -TERM $pid
wait $pid
ok "interrupted: a page that says so" grep -q '"signal":"SIGTERM"' <(data_of stopped.html)
not_there() { # not_there NAME MESSAGE ARGUMENT... - refused, before anything is sorted
  local name=$1 message=$2; shift 2
  run "$BIN/hetsort" "$@" -o none in
  is "$name is refused" "$rc/$err" "2/hetsort: $message"
}
not_there "the page over the input" "page 'in' is the same file as input 'in'" --html in
not_there "the page over the output" "page 'none' is the same file as output 'none'" --html none
not_there "the page over the report" "page 'x' is the same file as report 'x'" --report x --html x
not_there "the page over the trace" "page 'x' is the same file as trace 'x'" --trace x --html x
not_there "a missing directory for the page" "cannot open the directory of 'nowhere/x': No such file or directory" --html nowhere/x
run "$BIN/hetsort" --html - -o none in
ok "a page on standard output is refused" grep -q -e '--html=-: a page must be a file' <<<"$err"
is "no temporary file is left" "$(find . -name '.hetsort*')" ""
done_testing
