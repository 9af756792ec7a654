# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# hetsim: sorts on simulated clusters, their times, and faults of the clusters.
# shellcheck disable=SC2154,SC2317  # run sets rc, out, err; functions are called through ok
. "$ROOT/scripts/tap.sh"

case ${SANITIZER:-coverage} in coverage) ;; *) skip_all "sanitizers do not follow coroutines" ;; esac
[ -x "$BIN/hetsim" ] || skip_all "no hetsim here"

sim() { # sim PLATFORM [ARGUMENT...] - sort in.dat to out.dat
  local platform=$1; shift
  printf '%b\n' "$platform" >platform
  rm -f out.dat
  run "$BIN/hetsim" -r report "${scale[@]}" platform "$@" --no-fsync -o out.dat in.dat
}
value() { awk -v name="$1" '$1 == name { print $2 }' report; }
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
is_sorted() { "$BIN/valsort" -o sum out.dat >/dev/null 2>&1; }
nothing_left() { [ ! -e out.dat ] && [ -z "$(find . -name '.hetsort-*')" ]; }

"$BIN/gensort" 10000 in.dat 2>/dev/null
"$BIN/hetsort" -q --no-fsync -o wanted.dat in.dat
scale=()

echo "2 x" >platform
"$BIN/hetsim" platform -q --no-fsync -f -o out.dat in.dat >log 2>&1
is "the report and messages may be in one file" "$? $(head -n 1 log)" "0 hetsim report"
run sh -c '"$1" -r log platform -q --no-fsync -f -o out.dat in.dat 2>log' sh "$BIN/hetsim"
is "but not in a file that --report names" "$rc" 2

# ---------------------------------------------------------------------------- real records
for p in 1 4 16 40; do
  sim "$p x"
  is "$p hosts sort" "$rc" 0
  ok "$p hosts: as hetsort does" cmp -s out.dat wanted.dat
done
ok "valsort finds them in order" is_sorted
sim '7 x speed 1 cores 2\n3 x speed 0.25' --strategy=distribute
is "hosts of unequal speed distribute" "$rc" 0
ok "they sort as hetsort does" cmp -s out.dat wanted.dat
sim '4 x' --emulate=8 --speeds=1,1,1,1
ok "virtual ranks on simulated hosts sort" cmp -s out.dat wanted.dat
sim '4 x' --source=root
ok "one host reads and distributes" cmp -s out.dat wanted.dat
# two slow hosts leave their records to the fast one, whose memory does not hold them all
"$BIN/gensort" 100000 large.dat 2>/dev/null
"$BIN/hetsort" -q --no-fsync -o large.sorted large.dat
printf '4 x speed 1\nat 0 host 2 speed 0.02\nat 0 host 3 speed 0.02\n' >platform
for memory in 10M 12M; do
  run "$BIN/hetsim" platform -q -f --no-fsync --source root --scatter dynamic --memory $memory -o out.dat large.dat
  is "on request, $memory for four ranks: a full rank gets no more" "$rc/$(cmp out.dat large.sorted 2>&1)" 0/
done
rm -f large.dat large.sorted
sim '3 x' --direct=always
ok "--direct works" cmp -s out.dat wanted.dat
for n in 0 1 2; do
  sim '5 x cores 2 disk 1G/s net 10G\n4 x speed 0.5' --exchange-threads=$n --memory=3M
  ok "$n threads that ask for messages miss none" cmp -s out.dat wanted.dat
done
sim '3 x' --memory=3M --threads=2
ok "more than memory holds" cmp -s out.dat wanted.dat
if [ -n "${HETSORT_LONG:-}" ]; then
  sim '96 x speed 1 net 10G\n96 x speed 0.5 net 10G'
  ok "192 hosts sort" cmp -s out.dat wanted.dat
fi

# ------------------------------------------------------------------------- repeatability
same='3 x speed 1 cores 2 disk 200M/s net 10G\n2 x speed 0.6 lat 10us\nswitch 20G\nat 3ms host 1 net 1G'
sim "$same" --speeds=auto && mv report first && mv out.dat first.dat
sim "$same" --speeds=auto
ok "two jobs have equal reports, to the last digit" cmp -s first report
ok "two jobs have equal outputs" cmp -s first.dat out.dat

# ----------------------------------------------------------------------------- times
scale=(-s 1000)
fast='cores 1 net 1000G lat 1us'
sim "4 x speed 1 $fast"; whole=$(value makespan)
sim "4 x speed 0.5 $fast"; half=$(value makespan)
ok "processors of half the speed take nearly twice as long" less "$whole" "$half"
ok "and no longer" less "$half" "$(awk -v a="$whole" 'BEGIN { print 2.01 * a }')"
unequal="2 x speed 1 $fast\n2 x speed 0.25 $fast"
speeds() { awk '$2 ~ /^h[0-3]$/ && NF == 9 { printf "%s ", $3 }' <<<"$err"; }
reads() { awk '$2 ~ /^h[0-9]+$/ && NF == 9 && !($2 in seen) { seen[$2]; print $4 }' <<<"$err"; }
sim "$unequal" --plan=equal -v; equal_shares=$(value makespan)
is "--plan=equal: nothing is measured, and shares are equal" "$(speeds)$(reads | paste -sd' ')" "1 1 1 1 2500000 2500000 2500000 2500000"
sim "$unequal" --speeds=1,1,.25,.25; given=$(value makespan)
ok "shares by speed take less" less "$given" "$(awk -v a="$equal_shares" 'BEGIN { print .8 * a }')"
printf 'h[0,1] 1\n h[2-9],.25\n' >ranges
sim "$unequal" --speeds=ranges
is "ranges of hosts in a file give the same shares" "$(value makespan)" "$given"
scale=(-s 2000)
sim "$unequal" -v; measured=$(value makespan)
is "hosts measure themselves without options" "$(speeds)" "1 1 0.25 0.25 "
ok "measured fast hosts get more" less 2.5 "$(reads | awk '{ n[NR] = $1 } END { print n[1] / n[4] }')"
sim "$unequal" --speeds=auto
is "--speeds=auto does the same" "$(value makespan)" "$measured"
sim "2 x speed 1 $fast\\n2 x speed 0.97 $fast" -v
is "speeds that differ by less than 5 % are equal" "$(speeds)" "1 1 1 1 "
scale=(-s 100)
sim "$unequal" -v
is "a job with little work per rank is not measured" "$(speeds)" "1 1 1 1 "
ok "and says so" grep -q '^shares are equal: the job is too short to measure speeds' <<<"$err"
scale=(-s 1000)
sim "$unequal" --source=root --scatter=equal -v
is "--scatter=equal: nothing is measured" "$(speeds)" "1 1 1 1 "
sim "4 x $fast\nat 1ms host 2 speed 0.1" --plan=equal; kept=$(value makespan)
sim "4 x $fast\nat 1ms host 2 speed 0.1" --plan=equal --adapt
ok "--adapt gives less to a host that turned slow" less "$(value makespan)" "$kept"
# 10000 records that represent 1e9 bytes: read and written by four disks of 100 MB/s
sim "4 x $fast disk 100M/s"
ok "disks take at least their time" less 4.999 "$(value makespan)"
sim "4 x $fast disk 1G/s"
ok "a disk as fast as the processors writes while they work" less "$(value makespan)" "$(awk -v a="$whole" 'BEGIN { print a + .25 }')"
slow_disk="3 x $fast disk 100M/s\n1 x $fast disk 10M/s"
sim "$slow_disk" --plan equal
ok "a slow disk takes its own time" less 49.99 "$(value makespan)"
scale=(-s 2000)
sim "$slow_disk" -v
ok "unless it is measured, and its host gets less" less "$(value makespan)" 30
ok "-v prints the rates of disks" grep -q '^disks in MB/s, measured: ' <<<"$err"
sim "2 x speed 0.5 $fast disk 50M/s\n2 x $fast disk 50M/s" -v
ok "disks that bind all hosts alike leave shares equal" grep -q '^shares are equal: others would gain less' <<<"$err"
scale=(-s 1000)
# three quarters of each quarter leave their host
sim '4 x net 1G'
ok "links take at least their time, with headers of packets" less 1.567 "$(value makespan)"
sim '4 x net 1G\nswitch 1G'
ok "a switch takes the time of all messages" less 6.271 "$(value makespan)"
called_s() { awk '$1 == "describe" { print $4 }' report; }
sim '4 x lat 1us net 1000G'; fast_calls=$(called_s)
sim '4 x speed 0.1 lat 1us net 1000G'
ok "a slow processor takes longer to send and receive in collective calls" \
  less "$(awk -v a="$fast_calls" 'BEGIN { print 5 * a }')" "$(called_s)"
ok "hetsim prints the scaled memory" grep -q 'scaled' report
sim '4 x net 10G mem 8M'
ok "memory that is too small for the scaled records is reported" grep -q 'more than a host has' report

# ------------------------------------------------------------------ several ranks on a host
sim "1 x cores 4 ranks 2" -v
is "two ranks on a host sort" "$rc/$(cmp out.dat wanted.dat 2>&1)" 0/
is "they are on one host and equal" "$(awk '$2 == "h0" && NF == 9 { printf "%s %s %s, ", $1, $3, $4 }' <<<"$err")" "0 1 5000000, 1 1 5000000, "
together=$(value makespan)
sim "2 x $fast cores 2"; apart=$(value makespan)
ok "of four processors they take as long as two hosts of two" awk -v a="$together" -v b="$apart" 'BEGIN { exit !(a > .9 * b && a < 1.1 * b) }'
sim "1 x cores 2 ranks 4\n2 x cores 4 ranks 2\n1 x cores 2" --speeds=auto -v
is "hosts by their slots: each rank has its part of the processors" "$rc/$(awk '$2 ~ /^h/ && NF == 9 { printf "%s %s %s, ", $1, $2, $3 }' <<<"$err")" \
  "0/0 h0 0.25, 1 h0 0.25, 2 h0 0.25, 3 h0 0.25, 4 h1 1, 5 h1 1, 6 h2 1, 7 h2 1, 8 h3 1, "
ok "they sort as hetsort does" cmp -s out.dat wanted.dat
sim "1 x cores 2 ranks 2\\n1 x cores 2" --speeds=auto --threads=2 -v
is "more threads than its part of the processors gain nothing" "$(awk '$2 ~ /^h/ && NF == 9 { printf "%s ", $3 }' <<<"$err")" "0.5 0.5 1 "
is "the report counts hosts and ranks" "$(grep -o '^hosts 2, ranks 3,' report)" "hosts 2, ranks 3,"
sim '1 x cores 4 ranks 4 net 1K'
ok "ranks of one host need no link" less "$(value makespan)" 1
# half of the 500 MB of each host leave it
sim '2 x cores 4 ranks 4 net 1G'
ok "ranks of a host share its link" less 2.089 "$(value makespan)"
ok "which carries only what leaves the host" less "$(value makespan)" 3
sim '2 x cores 4 ranks 4 disk 100M/s net 100G'
ok "and its disk" less 9.999 "$(value makespan)"
sim '2 x ranks 4 net 10G mem 32M'
ok "and its memory: which is too small for the scaled records" grep -q 'more than a host has' report
for n in 0 1 2; do
  sim '2 x cores 2 ranks 3 disk 1G/s net 10G\n2 x speed 0.5' --exchange-threads=$n
  is "ranks that share two hosts, $n threads that ask for messages" "$rc/$(cmp out.dat wanted.dat 2>&1)" 0/
done
sim '2 x ranks 2' --ranks=4
is "--ranks with the number of ranks" "$rc/$(cmp out.dat wanted.dat 2>&1)" 0/
sim '2 x ranks 2' --ranks=2
is "--ranks with the number of hosts is refused" "$rc ${err%%$'\n'*}" "2 hetsort: --ranks is 2, but the platform has 4 ranks"
sim '2 x ranks 2 net 1G disk 100M/s\nat 2s host 1 stop' --timeout=5
is "a host that stops takes its ranks with it" "$rc" 5
ok "one of them is named" grep -q '^hetsort: rank [23] (h1), .*: no sign of life for ' <<<"$err"
sim "2 x ranks 2 cores 2 net 1G" --emulate=8 --speeds=1,1,1,1
is "virtual ranks of ranks that share a host" "$rc/$(cmp out.dat wanted.dat 2>&1)" 0/

# lanes: one for two processors of a rank, if there is enough to do and nothing else is slower
lanes() { grep -E '^rank [0-9]+: [0-9]+ lanes? ' <<<"$1"; }
scale=(--scale 1000)
sim '4 x cores 8 net 100G' -v --report=json
is "lanes" "$(lanes "$err")" "rank 0: 4 lanes (one for two threads)"
is "lanes, in the report" "$(sed -n 's/.*"lanes": \([0-9]*\).*/\1/p' json | paste -sd" ")" "4 4 4 4"
sim '2 x cores 16 net 100G' --explain
is "lanes, by --explain" "$(lanes "$out")" "rank 0: 8 lanes (one for two threads)"
sim '2 x cores 64 net 100G' --plan equal -v && is "no more than 15 lanes" "$(lanes "$err")" "rank 0: 15 lanes (no more are useful)"
sim '2 x cores 16 net 1G' --links=125,125 -v
is "few lanes if links are slow" "$(lanes "$err")" "rank 0: 2 lanes (links, disks or other ranks are slower)"
scale=(--scale 20000) # 20 GB
sim '8 x cores 16 net 100G' && many=$(value makespan)
sim '8 x net 100G'
ok "hosts with sixteen processors are more than ten times as fast" less "$(awk -v s="${many%,}" 'BEGIN { print 10 * s }')" "$(value makespan)"
scale=()

# blocks and transfers of disks have the size of the represented records
hosts='4 x net 1G disk 500M/s\n4 x speed 0.5 cores 2'
blocks() { grep '^blocks of' report; }
mv in.dat few.dat
scale=(-s 500); "$BIN/gensort" 20000 in.dat 2>/dev/null
sim "$hosts" --plan=equal; few=$(value makespan); few_blocks=$(blocks)
scale=(-s 50); "$BIN/gensort" 200000 in.dat 2>/dev/null
sim "$hosts" --plan=equal; many=$(value makespan)
is "a tenth of the records, ten times the scale: equal blocks" "$few_blocks" "$(blocks)"
ok "a tenth of the records, ten times the scale: a makespan within 7 %" less "$few" "$(awk -v a="$many" 'BEGIN { print 1.07 * a }')"
mv few.dat in.dat

# also with runs in memory: the disk reads for 2.5 s, while records are sorted for 1.5 s and summed for 0.9 s
scale=(-s 1000)
sim '4 x speed 0.1 cores 1 disk 100M/s net 1000G'
ok "runs are sorted while the disk reads" less "$(awk '$1 == "read" || $1 == "sort" { s += $2 } END { print s }' report)" 3
scale=(-s 20000)
sim '2 x net 1000G'
ok "a record that represents more than a block is reported" grep -q 'a smaller --scale' <<<"$(blocks)"
scale=(-s 1000)

# measuring takes a small part of the job that it speeds up: 2 GB, and 8 GB
links='net 10G lat 20us'
uneven="2 x speed 1 $links\\n2 x speed 0.667 $links"
for scale in "-s 2000" "-s 8000"; do
  read -r -a scale <<<"$scale"
  sim "$uneven" --speeds=1,1,.667,.667; given=$(value makespan)
  most=$(awk -v s="$given" -v part="$([ "${scale[1]}" = 2000 ] && echo 1.05 || echo 1.01)" 'BEGIN { print part * s }')
  for measured in --plan=nlogn "--speeds=1,1,.667,.667 --links=auto"; do
    read -r -a measured <<<"$measured"
    sim "$uneven" "${measured[@]}"
    ok "scale ${scale[1]}, ${measured[*]}: as fast as with given speeds" less "$(value makespan)" "$most"
  done
  sim "4 x $links" --plan equal; equal_shares=$(value makespan)
  sim "4 x $links"
  ok "scale ${scale[1]}: equal hosts that are measured lose 2 % at most" \
    less "$(value makespan)" "$(awk -v s="$equal_shares" 'BEGIN { print 1.02 * s }')"
done
scale=(-s 1000)

# ---------------------------------------------------------------------------------- reports
sim '4 x net 1G'
is "the first line is the result, after the mark of a report" "$(sed -n 2p report)" \
  "Sorted 10000000 records on 4 hosts in $(value makespan) simulated seconds."
text_s=$(value makespan)
rm report out.dat && run "$BIN/hetsim" -r report "${scale[@]}" --json --hosts platform --no-fsync -o out.dat in.dat
out=$(cat report)
is "--json: status" "$rc" 0
json() { sed -n "s/^ *\"$1\": \([^,]*\),\{0,1\}\$/\1/p" <<<"$out"; }
is "--json: the same result" "$(json status) $(json records) $(printf %.6f "$(json makespan_s)")" "0 10000 $text_s"
is "--json: a member for each phase and each host" \
  "$(json message_bytes | wc -l) $(json link_out_percent | wc -l)" "11 4"
run "$BIN/hetsim" platform --no-fsync -o out.dat in.dat
is "a job that is refused has a sentence and no tables" "$rc ${out#*$'\n'}" "2 Refused: nothing was sorted (status 2)."
run "$BIN/hetsim" --json platform --no-fsync -o out.dat in.dat
is "--json: status and no phases" "$rc $(json status) $(json message_bytes | wc -l)" "2 2 0"
# took is not waiting: the hosts of speed 1 wait for the host of speed 0.1, which waits for none of them
took() { # took MEMBER - its seconds for each rank of the report
  awk -v name="\"$1\":" '$1 == "\"rank\":" { r = $2 + 0 } $1 == "\"timeline\":" { begun = 0 }
    $1 == "\"phases_s\":" { on = "phases_s" } $1 == "\"timeline\":" { on = "timeline" } $1 == "\"stages\":" { on = "stages" }
    on == "phases_s" && $1 != "\"exchange\":" { s["phases_s", r] += $2 }
    $1 == "\"begin_s\":" { s["timeline", r] -= $2 } $1 == "\"end_s\":" { s["timeline", r] += $2 }
    on == "timeline" && $1 == "\"wait_s\":" { s["timeline", r] -= $2 }
    on == "stages" && $1 == "\"taken_s\":" { s["stages", r] += $2 }
    END { for (i = 0; i <= r; i++) printf "%.6f%s", s[substr(name, 2, length(name) - 3), i], i < r ? " " : "" }' r.json
}
no_more() { # no_more LIST LIST - is each number of the first list at most its number in the second one?
  awk -v a="$1" -v b="$2" 'BEGIN { n = split(a, x); bad = n < 2 || n != split(b, y); for (i in x) bad += x[i] > y[i] + 2e-6; exit bad }'
}
for strategy in merge distribute; do
  sim "3 x speed 1 $fast\\n1 x speed 0.1 $fast" --plan=equal --strategy=$strategy --report=r.json
  ok "$strategy: what the phases took is in the timeline, without waiting" no_more "$(took phases_s)" "$(took timeline)"
  ok "$strategy: so is what the stages took" no_more "$(took stages)" "$(took timeline)"
  ok "$strategy: a rank that waits most of the time took little" less "$(took phases_s | cut -d' ' -f1)" "$(took phases_s | awk '{ print $4 / 8 }')"
done
"$BIN/hetsort" -q -f --ranks=3 --report=r.json -o out.dat in.dat
ok "a real job: what the phases took is in the timeline, without waiting" no_more "$(took phases_s)" "$(took timeline)"

# the reports of hetsort: of the represented records, and of no figure of this machine
moved() { # moved KIND - ranks of the report, and how many of them did not move their bytes in the steps of time
  awk -v name="\"$1\":" '$1 == name && $2 ~ /^[0-9]/ { want = $2 + 0 }
    on { s += $1 }
    $1 == name && $2 ~ /^\[/ { on = 1; s = 0 }
    on && /\]/ { on = 0; n++; bad += s < want || s > 1.02 * want + 1e6 }
    END { print n + 0, bad + 0 }' r.json
}
for again in first second; do
  sim '2 x net 1G disk 500M/s\n2 x speed 0.5' -v --report=r.json --html=p.html
  printf '%s\n' "$err" >"$again.err"
  grep -v -E '"(date|started)":' r.json >"$again.json"
done
ok "two jobs have equal reports of hetsort" cmp -s first.json second.json
ok "and equal tables" cmp -s first.err second.err
is "-v says that the job is simulated, and its scale" "$(sed -n 1,2p first.err)" "10000000 records of 100 bytes (1.00 GB), key 0,10
simulated, scale 1000: each record that was sorted stands for 1000"
is "so does the report" "$(sed -n '/"simulated"/,/}/p' r.json | tr -d ' \n')" '"simulated":{"scale":1000.0},'
is "records and rates of the represented records" \
  "$(sed -n 's/^  "records": \(.*\),/\1/p' r.json) $(awk '/"in":/ { n += $2 } END { print n }' r.json) $(awk '/"copy_s_per_byte"/ { printf "%.2g", 1e9 * $2; exit }' r.json)" \
  "10000000 10000000 0.35"
for kind in read written sent; do is "each rank has its own activity: bytes $kind" "$(moved $kind)" "4 0"; done
is "no processors, page faults or memory of this machine" \
  "$(grep -o -E '"(cpu_model|processors|core_s|minor_faults|user_s|joules|process_peak|huge_pages|pid)"' r.json | sort -u)$(grep core-seconds first.err)" ""
is "memory is known only if each record stands for itself" "$(grep -o '"arrays_peak": [n0-9]' r.json | sort -u)" '"arrays_peak": n'
scale=() && sim '2 x' -v --report=r.json && scale=(-s 1000)
is "then it is" "$(grep -o '"arrays_peak": .' r.json | sort -u | grep -c '[1-9]$')" 1
ok "a page is written" grep -q '"simulated"' p.html
sim '2 x' --trace=trace.json
for rank in 0 1; do
  ok "rank $rank has its own spans in a trace" less 9 "$(grep -c "\"ph\":\"X\",\"pid\":$rank," trace.json)"
done
is "and the bytes of the represented records" "$(grep -o '"bytes written","args":{"bytes":[0-9]*' trace.json | tail -n 1)" '"bytes written","args":{"bytes":500000000'
"$BIN/hetsort" -q -f --report=r.json -o out.dat in.dat
ok "a real job is not simulated" test -z "$(grep simulated r.json)"
echo '4 x net 1G' >platform
run "$BIN/hetsim" -s 2000 platform --explain in.dat
ok "--explain: nothing was sorted" grep -q '^Planned a sort of 20000000 records on 4 hosts' <<<"$out"
ok "--explain: the hosts are measured" grep -q '^predicted makespan .* at measured rates' <<<"$out"

# --------------------------------------------------------------- wisdom about hosts
online=(--plan=online --wisdom=learnt -v)
for _ in 1 2 3; do sim "1 x $fast\n1 x speed 0.25 $fast\n2 x $fast" "${online[@]}"; done
sim "1 x $fast\n1 x speed 0.25 $fast\n4 x $fast" "${online[@]}"
is "more hosts than before sort" "$rc" 0
ok "known hosts get shares by their speed" less "$(reads | sed -n 2p)" "$(reads | awk 'NR == 1 { print .35 * $1 }')"
ok "new hosts get the mean of all speeds: 3.25 quarters" awk -v a="$(reads | paste -sd' ')" \
  'BEGIN { split(a, n); exit !(n[5] == n[6] && n[5] > .75 * n[1] && n[5] < .88 * n[1]) }'
ok "no message mentions the file" test -z "$(grep wisdom <<<"$err")"

# ------------------------------------------------------------------------------------- for SimGrid
printf '2 x speed 0.5 cores 3 net 1G lat 30us\n1 x ranks 2\nswitch 10G\n' >platform
run "$BIN/hetsim" --xml platform
is "--xml: status, hosts, links" "$rc $(grep -c '<host id="h[0-2]"' <<<"$out") $(grep -c '<host_link ' <<<"$out")" "0 3 3"
ok "a host's speed and processors" grep -q '<host id="h1" speed="500000000f" core="3"/>' <<<"$out"
ok "the ranks of a host that has several" \
  grep -q '<host id="h2" speed="1000000000f" core="1"><prop id="ranks" value="2"/></host>' <<<"$out"
ok "its link, for each direction, half of the latency" \
  grep -q '<link id="l1" bandwidth="119550858.653Bps" latency="1.5e-05s" sharing_policy="SPLITDUPLEX"/>' <<<"$out"
ok "the switch" grep -q '<backbone id="switch" bandwidth="1195508586.53Bps"' <<<"$out"
echo 'at 1s host 0 stop' >>platform
run "$BIN/hetsim" --xml platform
is "--xml: changes are refused" "$rc/$out" "2/"
run "$BIN/hetsim" --xml nowhere
is "--xml: a missing platform is refused" "$rc/$out" "2/"
if [ -e /dev/full ]; then
  printf '1 x\n' >platform
  "$BIN/hetsim" --xml platform >/dev/full 2>/dev/null && rc=0 || rc=$?
  is "a full disk is reported" $rc 3
  run sh -c '"$0" --version >/dev/full' "$BIN/hetsim"
  is "a full disk, --version" "$rc $err" "3 hetsim: cannot write to standard output"
fi

# ------------------------------------------------------------------------------ faults
sim '4 x net 1G disk 100M/s\nat 2s host 2 stop' --timeout=5
is "a host that stops ends the job like a lost rank" "$rc" 5
lost() { sed -n '/^  "total_s"/p; /"error"/,/}/p; /^      "rank":/p' r.json | grep -c -E "$1"; }
rm -f r.json; sim '4 x net 1G disk 100M/s\nat 2s host 2 stop' --timeout=5 --report=r.json --html=p.html
is "a host that stops is in the report, after the simulated time" \
  "$(lost '"message": "no sign of life for') $(lost '"rank": ') $(lost 'total_s": [78][.]')" "1 4 1"
ok "and in the page" grep -q '"message":"no sign of life' p.html
ok "a host that stops is named as a rank" grep -q '^hetsort: rank 2 (h2), .*: no sign of life for ' <<<"$err"
ok "a host that stops: no files remain" nothing_left
is "the report contains the status" "$(grep -c 'status 5,' report)" 1
rm -f r.json; sim '4 x net 1G disk 100M/s\nat 2s host 2 stop' --report=r.json
is "without --timeout the report says so" "$(lost '"message": "after .* all ranks wait') $(lost '"rank": ')" "1 4"
sim '4 x net 1G disk 100M/s\nat 2s host 2 stop'
is "without --timeout all ranks wait, and hetsim ends the job" "$rc" 5
ok "without --timeout: the message" grep -q 'all ranks wait, and nothing can happen any more' <<<"$err"
ok "without --timeout: no files remain" nothing_left
scale=(-s 200)
sim '4 x net 1G disk 100M/s\nat 200ms host 1 net 50M' --timeout=1
is "a slow link does not end the job" "$rc" 0
scale=(-s 1000)
for cut in '0 host 0' '1ms host 2' '5ms host 0' '1500ms host 0' '1600ms host 3'; do
  sim "4 x net 1G\nat $cut net 0"
  is "a link that is cut at $cut ends the simulation without --timeout" "$rc" 5
  ok "$cut: the message" grep -q 'all ranks wait, and nothing can happen any more' <<<"$err"
  ok "$cut: no files remain" nothing_left
  is "$cut: the report is a sentence and the totals" "$(sed -n '2s/ after .* simulated/ after/p' report) $(wc -l <report)" \
    "Failed after seconds (status 5). 5"
  sim "4 x net 1G\nat $cut net 0\nat 900s ${cut#* } net 1G"
  is "a link that comes back after the cut at $cut does not end it" "$rc" 0
  ok "$cut: all is sorted" cmp -s out.dat wanted.dat
done
scale=()
for slow in '2 x lat 10000s' '2 x disk 0.000001K/s' '2 x net 1G\nrates message 1s' '2 x net 1G\nat 0s host 0 net 1K'; do
  sim "$slow"
  is "a long wait is not an endless one: $slow" "$rc/$err" 0/
  ok "$slow: all is sorted" cmp -s out.dat wanted.dat
done
scale=(-s 1000)
sim '4 x net 1G disk 100M/s\nat 4s host 1 net 0' --timeout=5
is "a link that is cut ends the job" "$rc" 5
sim '4 x net 1G disk 100M/s\nat 4s host 1 net 0\nat 7s host 1 net 1G' --timeout=5
is "a link that comes back in time does not end the job" "$rc" 0
ok "a link that comes back in time: all is sorted" cmp -s out.dat wanted.dat
rm -f out.dat; printf '4 x disk 1M/s\nat 3600s host 1 stop\n' >platform # heartbeats never end then
"$BIN/hetsim" -s 100000 platform --progress 10 --no-fsync -o out.dat in.dat 2>said &
await grep -q -s '^hetsort: read ' said
kill -TERM $!
wait $!
is "SIGTERM ends hetsim as it ends hetsort" "$?" 143
ok "SIGTERM: no files remain" nothing_left
sim '2 x net 1G' --ranks=3
is "another number of ranks than hosts is refused" "$rc" 2

# ------------------------------------------------------------------------------------- usage
run "$BIN/hetsim" none in.dat -o out.dat
is "no platform: refused" "$rc" 2
is "no platform: the message" "$err" "hetsim: cannot open 'none': No such file or directory"
echo '4 x speed' >platform
run "$BIN/hetsim" platform in.dat -o out.dat
is "a platform without a value is refused with its line" "$err" "hetsim: 'platform', line 1: 'speed' needs a number, not ''"
refused() { # refused NAME MESSAGE ARGUMENT...
  local name=$1 message=$2; shift 2
  run "$BIN/hetsim" "$@"
  is "$name: refused" "$rc ${err##*$'\n'}" "2 hetsim: $message"
}
refused "no argument" "PLATFORM is missing: see 'hetsim --help'"
refused "an option that is nearly one" "unknown option '--scal3' (did you mean --scale?); see 'hetsim --help'" \
  --scal3 2 platform in.dat -o out.dat
refused "an option without its argument" "option '--scale' takes an argument; see 'hetsim --help'" --scale
refused "an unknown option" "unknown option '--fast'; see 'hetsim --help'" --fast platform in.dat -o out.dat
printf '4 x\0' >binary
refused "a binary file for a platform" "'binary' is not a platform file" binary in.dat -o out.dat
run "$BIN/hetsim" . in.dat -o out.dat
is "a directory for a platform" "$rc $err" "3 hetsim: cannot read '.': Is a directory"
run "$BIN/hetsim" -s 0 platform in.dat -o out.dat
is "a scale of 0 is refused" "$rc" 2
run "$BIN/hetsim" --calibrate
ok "--calibrate prints a line of a platform" grep -q -E '^rates sort [0-9.]+ns merge [0-9.]+ns copy [0-9.]+ns file [0-9.]+ns$' <<<"$out"
scale=() && sim "4 x\n$out"
is "which a platform takes" "$rc" 0
run nm "$BIN/hetsort"
ok "hetsort has nothing of it" test -z "$(grep -v -E ' __wrap_(_exit|raise|kill|MPI_Abort)$' <<<"$out" | grep -E '__wrap_|engine_run|comm_sim')"
done_testing
