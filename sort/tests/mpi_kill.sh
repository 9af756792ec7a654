#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# One of four ranks dies (SIGKILL), or stands still (SIGSTOP, with --timeout), when it has reached a phase. The job ends
# soon, long before the limit of this test. The file under the final name is the old one, and the next job sorts and
# removes the files that were left. The ranks are on virtual hosts if available, else on this machine. The test takes a
# few phases and ranks. With HETSORT_LONG=1 it takes all, prints the times as a table, and allows at most 5 s after the
# second of --timeout, on an otherwise idle machine.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
cluster=$ROOT/scripts/cluster id=k$$ most_s=90 timeout_s=1
[ -z "${HETSORT_LONG:-}" ] || most_s=5
"$BIN/gensort" --no-fsync 20000 in && "$BIN/hetsort" -o expected in || exit 1
cat >rank <<END
#!/bin/sh
# The fault is in a file, because launchers do not pass the environment to other hosts.
echo \$\$ >pid.\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}
HETSORT_FAIL=\$(cat fail) exec "$BIN/failpoints/hetsort" "\$@"
END
chmod +x rank

if ! mpich && [ "$(id -u)" = 0 ] && "$cluster" doctor >/dev/null 2>&1; then
  trap '"$cluster" down $id >/dev/null 2>&1' EXIT
  "$cluster" up 4 --id $id >/dev/null || exit 1
  where="four virtual hosts"
  launch() { exec timeout -k 2 100 "$cluster" --id $id mpirun -n 4 "$@"; }
else
  where="four ranks of one host"
  launch() { exec timeout -k 2 100 "$ROOT/scripts/mpirun" 4 "$@"; }
fi

since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN {printf "%.2f", b - a}'; }

begin() { # begin PHASE RANK ARGUMENT... - start a job over an old output, and wait until that rank is stopped in the phase
  local phase=$1 rank=$2 i; shift 2
  rm -f pid.*
  echo old >out
  echo "stop@$phase:$rank" >fail
  (launch ./rank "$@" --force -o out in) >messages 2>&1 &
  job=$!
  for ((i = 0; i < 2000; i++)); do
    if [ -s "pid.$rank" ]; then
      pid=$(cat "pid.$rank")
      [ "$(state_of "$pid")" != T ] || break
    fi
    [ -d /proc/$job ] || break
    sleep 0.01
  done
}
over() { # over - wait for the job, and set took, rc and left
  wait $job; rc=$?
  took=$(since "$from")
  left=$(cat out)
}
again() { # again NAME - the next job sorts
  : >fail
  (launch ./rank --force -o out in) >messages 2>&1
  is "$1: the next job" "$?/$(cmp out expected)/$(find . -name '.hetsort-*')" 0//
}
in_time() { # in_time KIND SECONDS
  local most=$most_s
  [ "$1" = kill ] || most=$((most_s + timeout_s))
  awk -v t="$2" -v most=$most 'BEGIN {exit !(t <= most)}'
}

once() { # once kill|stop PHASE RANK ARGUMENT...
  local kind=$1 phase=$2 rank=$3; shift 3
  if [ "$kind" = stop ]; then set -- "$@" --timeout $timeout_s; fi
  begin "$phase" "$rank" "$@"
  reached=$(state_of "$pid") from=$EPOCHREALTIME
  [ "$kind" = stop ] || kill -KILL "$pid"
  over
}
strikes() { # strikes kill|stop PHASE RANK ARGUMENT... - and set took
  local name="$1 of rank $3 in $2"
  once "$@"
  # a busy machine may stand still itself: then the second time counts
  if [ "$reached" != T ] || ! in_time "$1" "$took"; then echo "# $name: $took s, once more"; once "$@"; fi
  is "$name: got there, failed, old output" "$reached/$((rc != 0))/$left" T/1/old
  ok "$name: over after $took s" in_time "$1" "$took"
}

# A rank dies, and the others remove its files, or give the missing names. Launchers kill them soon after, so a busy
# machine may need several tries. MPICH's kills them at once: then it is for --clean to do the same.
leaves() { # leaves NAME WANTED POINT ARGUMENT... - WANTED: the final names that exist then, all or none
  local name=$1 wanted=$2 point=$3 tries names left rc; shift 3
  for ((tries = 0; tries < 8; tries++)); do
    rm -rf out* store .hetsort-*
    echo "$point" >fail
    (launch ./rank "$@" -o out.%r in) >messages 2>&1; rc=$?
    if mpich; then "$BIN/hetsort" --clean --ranks 4 out.%r "${@:2:1}"; fi >>messages 2>&1
    names=part left=$(find . -name '.hetsort-*')
    if "$BIN/hetsort" --check-manifest -q out.manifest 2>/dev/null && cat out.[0-3] | cmp -s - expected; then names=all
    elif [ -z "$(find . -name 'out*')" ]; then names=none; fi
    : >fail
    [ "$((rc != 0))/$names/$left" != "1/$wanted/" ] || break
    # files that are left then are for the next job
    "$BIN/hetsort" -q --clean --ranks 4 out.%r >/dev/null 2>&1
  done
  is "$name: failed, final names, no other files" "$((rc != 0))/$names/$left" "1/$wanted/"
}
leaves "a rank killed, its part and its runs" none kill@merge:2 --workdir store
leaves "two ranks killed" none kill@sync:1,kill@sync:2
leaves "rank 0 killed, the manifest staged" none file:1=kill@rank0@incommit
leaves "a rank killed that has its name" all kill@named:2
leaves "rank 0 killed that has its name" all kill@named:0

if [ -z "${HETSORT_LONG:-}" ]; then
  strikes kill merge 2
  again "kill in merge"
  strikes stop read 0
  again "stop in read"
else
  echo "# sum: seconds from the fault to the end of the job, $where: ranks 0 to 3 killed, ranks 0 to 3 stopped (--timeout $timeout_s)"
  for phase in describe plan read sample split sort merge exchange write sync commit; do
    strategy=merge row=''
    [ $phase != sort ] || strategy=distribute
    for kind in kill stop; do
      for rank in 0 1 2 3; do
        strikes $kind $phase $rank --strategy $strategy
        row+=$(printf '%7s' "$took")
      done
      again "$kind in $phase"
      row+='   '
    done
    printf '# sum: %-9s%s\n' $phase "$row"
  done
fi

# A host loses its network, and a whole host stands still. The other ranks end the job; the launcher waits for its daemon
# on that host until the connection breaks or the host continues.
host_fails() { # host_fails WHAT FAIL... -- REPAIR...
  local name="$1 of a host" fail=() i others; shift
  while [ "$1" != -- ]; do fail+=("$1"); shift; done
  shift
  begin merge 2 --timeout 2
  "$cluster" --id $id "${fail[@]}" || { kill -KILL "$pid"; over; echo "# no $name here"; return; }
  from=$EPOCHREALTIME
  kill -CONT "$pid"
  others="$(cat pid.0 pid.1 pid.3)"
  # shellcheck disable=SC2086  # several
  for ((i = 0; i < 3000; i++)); do gone $others && break; sleep 0.01; done
  echo "# sum: $name: the other ranks are gone after $(since "$from") s"
  # shellcheck disable=SC2086
  ok "$name: the other ranks are gone" gone $others
  [ "${fail[0]}" = link ] || "$cluster" --id $id "$@" # a stopped daemon does not answer
  over
  echo "# sum: $name: the launcher is gone after $took s"
  is "$name: failed, old output" "$((rc != 0))/$left" 1/old
  ok "$name: the message names the rank" grep -q "^hetsort: rank 2 (n2), [a-z]*: no sign of life for" messages
  [ "${fail[0]}" != link ] || "$cluster" --id $id "$@"
  kill -KILL "$pid" 2>/dev/null
  for ((i = 0; i < 1000; i++)); do gone "$pid" && break; sleep 0.02; done
  again "$name"
}
# Messages between two hosts are lost.
apart() {
  local ip1 ip2
  ip1=$("$cluster" --id $id exec n1 hostname -i) ip2=$("$cluster" --id $id exec n2 hostname -i)
  "$cluster" --id $id exec n1 ip neigh replace "$ip2" lladdr 02:00:00:00:00:99 dev eth0 nud permanent || return
  "$cluster" --id $id exec n2 ip neigh replace "$ip1" lladdr 02:00:00:00:00:99 dev eth0 nud permanent
  : >fail
  (launch ./rank --timeout 4 --force -o out in) >messages 2>&1
  is "two hosts that cannot reach each other: exit code" $? 5
  ok "two hosts that cannot reach each other: both are named" grep -qE \
    "^hetsort: rank (1 \(n1\)|2 \(n2\)), joining the other ranks: no connection with rank [12] for" messages
  "$cluster" --id $id exec n1 ip neigh del "$ip2" dev eth0
  "$cluster" --id $id exec n2 ip neigh del "$ip1" dev eth0
}
if [ "$where" = "four virtual hosts" ]; then
  apart
  host_fails "pulled plug" link n2 down -- link n2 up
  host_fails "standstill" freeze n2 -- thaw n2
fi
done_testing
