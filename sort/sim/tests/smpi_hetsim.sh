# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The same sorts by hetsim and by SimGrid's SMPI, on the same hosts: equal outputs, and about equal times. Both charge
# work by the same code, so this compares clocks, threads, messages and collective calls. SMPI requires that only one
# thread of a rank calls it, hence --exchange-threads 0 and processors of one thread.
# shellcheck disable=SC2154  # run sets rc, out, err
. "$ROOT/scripts/tap.sh"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers do not follow coroutines"
command -v smpirun >/dev/null || skip_all "SimGrid is not installed (scripts/deps smpi)"
[ -e "$BIN/smpi/hetsmpi.so" ] || skip_all "smpicc is not installed (scripts/deps smpi)"

# By default SMPI adds time for the test of a request and for real computation. It omits the 3 us of a processor that a
# message takes on each side, hetsim's rate.
like_hetsim=(--cfg=smpi/simulate-computation:no --cfg=smpi/test:0 --cfg=smpi/iprobe:0 --cfg=smpi/init:0
  --cfg=smpi/os:0:3e-6:0 --cfg=smpi/or:0:3e-6:0)
# Links have the rates of the platform. By default SMPI has factors that were measured on one cluster: latencies take 11.6
# times as long, a single message gets 94 % of a link, and each byte sends 0.05 back.
plain=(--cfg=smpi/bw-factor:0:1 --cfg=smpi/lat-factor:0:1 --cfg=network/crosstraffic:0)
sort=(--exchange-threads=0 --threads=1 --io=threads --no-fsync -q -f)

simulated() { # simulated SCALE ARGUMENT... - sort by hetsim on the hosts in `platform`; sets $by_hetsim
  local scale=$1; shift
  run "$BIN/hetsim" -s "$scale" -r report platform "${sort[@]}" "$@" -o out.dat in.dat
  by_hetsim=$(awk '$1 == "makespan" { print $2 }' report)
  is "hetsim sorts" "$rc/$(cmp out.dat wanted.dat 2>&1)" 0/
}

by_grid() { # by_grid SCALE CFG... -- ARGUMENT... - sort by SMPI; sets $by_smpi
  local scale=$1 cfg=("${like_hetsim[@]}"); shift
  while [ "$1" != -- ]; do cfg+=("$1"); shift; done
  shift
  "$BIN/hetsim" --xml platform >platform.xml
  sed -n 's/^<host id="\([^"]*\)".*/\1/p' platform.xml >hosts
  run smpirun -np "$(wc -l <hosts)" -platform platform.xml -hostfile hosts --log=root.thres:critical "${cfg[@]}" \
    "$BIN/smpi/hetsmpi.so" "$scale" platform "${sort[@]}" "$@" -o out.dat in.dat
  by_smpi=$(awk '$1 == "makespan" { print $2 }' <<<"$out")
  is "SMPI sorts" "$rc/$(cmp out.dat wanted.dat 2>&1)" 0/
}

is_near() { # is_near WHAT - hetsim's time is within a tenth of SMPI's
  local ratio
  ratio=$(awk -v a="$by_hetsim" -v b="$by_smpi" 'BEGIN { printf "%.3f", a / b }')
  echo "# sum: $1: hetsim $by_hetsim s, SMPI $by_smpi s, $ratio"
  ok "$1: within 10 %" awk -v r="$ratio" 'BEGIN { exit !(r > .9 && r < 1.1) }'
}

hosts() { # hosts COUNT NET LATENCY equal|unequal
  if [ "$4" = equal ]; then echo "$1 x net $2 lat $3"; return; fi
  printf '%s x net %s lat %s\n' $(($1 / 2)) "$2" "$3" $(($1 - $1 / 2)) "$2" "$3" | sed '2s/x/x speed 0.6667/'
}

records() { # records COUNT
  "$BIN/gensort" --no-fsync "$1" in.dat 2>/dev/null
  "$BIN/hetsort" -q --no-fsync -f -o wanted.dat in.dat
}

compare() { # compare HOSTS SCALE NET equal|unequal
  local shares=()
  if [ "$4" = equal ]; then shares=(--plan=equal); fi
  hosts "$1" "$3" 20us "$4" >platform
  simulated "$2" "${shares[@]}"
  by_grid "$2" "${plain[@]}" -- "${shares[@]}"
  is_near "$1 hosts, ${3}bit/s, $4 speeds"
}

records 160000 # 100 MB a host
for net in 1G 10G; do
  for speeds in equal unequal; do compare 16 100 $net $speeds; done
done

# Among many hosts, SMPI takes minutes to share the links among as many messages as there are.
records 48000
compare 96 2000 10G equal
if [ -n "${HETSORT_LONG:-}" ]; then
  compare 96 2000 10G unequal
  compare 96 2000 1G equal
  compare 96 2000 1G unequal
fi
done_testing
