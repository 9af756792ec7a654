# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Links between simulated hosts: they are measured exactly, in any order of hosts. Planned shares respect them, so they are
# as good as equal shares if links bind, and as good as shares by speed if not.
. "$ROOT/scripts/tap.sh"
case ${SANITIZER:-coverage} in coverage) ;; *) skip_all "sanitizers do not follow coroutines" ;; esac
run "$BIN/gensort" 16000 in.dat
scale=5000

# sim HOSTS [OPTION...] - sort; the report goes to report, the messages of hetsort to $err
sim() {
  printf '%b\n' "$1" >platform
  shift
  run "$BIN/hetsim" -s $scale -r report platform -f --no-fsync -v -o out "$@" in.dat
  is "${*: -2} on $(head -1 platform), ...: exit code" "$rc" 0
}
makespan() { awk '$1 == "makespan" { print $2 }' report; }
# shellcheck disable=SC2317 # called by ok
less() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }
# links - print the measured links: slow within a tenth of 1 Gbit/s, fast of 10 Gbit/s
links() {
  sed -n 's/^links in MB\/s, measured: //p' <<<"$err" | tr ' ' '\n' |
    awk '{ mb = $1; print (mb > 1125 && mb < 1375 ? "fast" : mb > 112 && mb < 138 ? "slow" : mb) }' | paste -sd' '
}

fast='1 x net 10G lat 20us\n' slow='1 x net 1G lat 20us\n'
sim '6 x net 10G lat 20us' --links auto
is "equal links are alike" "$(links)" "fast fast fast fast fast fast"
sim "${fast}${slow}${fast}${fast}${fast}${fast}" --links auto
is "a slow link is not its neighbours'" "$(links)" "fast slow fast fast fast fast"
sim "${fast}${slow}${fast}${slow}${fast}${slow}${fast}${slow}" --links auto
is "nor are fast links between slow ones slow" "$(links)" "fast slow fast slow fast slow fast slow"
# the first two meet each other; h4, the seventh by name, meets only slow ones, until it meets one of these
sim "${fast}${fast}${slow}${slow}${fast}${slow}${slow}${slow}${slow}${slow}${slow}${slow}" --links auto
is "nor is one that meets only slow ones at first" "$(links)" \
  "fast fast slow slow fast slow slow slow slow slow slow slow"

# --------------------------------------------------------------------------------------- shares
for net in 1 2 4 10; do
  hosts="4 x net ${net}G lat 20us\n4 x speed 0.667 net ${net}G lat 20us"
  sim "$hosts" --plan equal
  equal=$(makespan)
  sim "$hosts" --speeds 1,1,1,1,0.667,0.667,0.667,0.667
  by_speed=$(makespan)
  mb=$((net * 125))
  sim "$hosts" --links "$mb,$mb,$mb,$mb,$mb,$mb,$mb,$mb" --speeds 1,1,1,1,0.667,0.667,0.667,0.667
  weighed=$(makespan)
  ok "$net Gbit/s: weighed $weighed s, equal $equal s" less "$weighed" "$(awk -v s="$equal" 'BEGIN { print 1.02 * s }')"
  ok "$net Gbit/s: given links $weighed s, measured ones $by_speed s" less "$weighed" "$(awk -v s="$by_speed" 'BEGIN { print 1.02 * s }')"
done

# ------------------------------------------------------- slow processors are not slow links
sim '2 x net 10G lat 20us\n4 x speed 0.002 net 10G lat 20us' --links auto
is "a link that its processor cannot fill is not known" "$(links)" "fast fast - - - -"

# ------------------------------------------------------- 100 MB: a few messages are more than a little of it
scale=62.5
sim '2 x net 1G lat 20us\n2 x speed 0.667 net 1G lat 20us' --plan equal
equal=$(makespan)
sim '2 x net 1G lat 20us\n2 x speed 0.667 net 1G lat 20us' --plan nlogn
ok "100 MB: measured $(makespan) s, equal $equal s" less "$(makespan)" "$(awk -v s="$equal" 'BEGIN { print 1.05 * s }')"
scale=5000

# ------------------------------------------------------------------------------- a slow link
hosts="${slow}7 x net 10G lat 20us"
sim "$hosts" --plan equal
equal=$(makespan)
sim "$hosts" --links auto
ok "a slow link that is measured" less "$(makespan)" "$(awk -v s="$equal" 'BEGIN { print 0.6 * s }')"
for _ in 1 2 3; do sim "$hosts" --wisdom wisdom --plan online; done
ok "and whose host's work is learnt" less "$(makespan)" "$(awk -v s="$equal" 'BEGIN { print 0.6 * s }')"

done_testing
