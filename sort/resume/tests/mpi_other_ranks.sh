#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# --resume with another number of ranks that are processes, with one directory for all and with one for each host:
# a host is lost, another one joins, or hosts have another order. Only the records of the lost host are read
# again; equal keys keep the order of the input.
# shellcheck disable=SC2086  # several words
set -u
. "$ROOT/scripts/tap.sh"
. "$ROOT/sort/phases/tests/checkpoints.sh"
records=120000
bytes=$((records * 100))
hetsort=$BIN/failpoints/hetsort
begin_with $records

# Rank r runs in the directory of the r-th host of $hosts, as on the local disk of that host, under its name.
cat >on_host <<'END'
#!/bin/bash
read -ra hosts <<<"$HOSTS"
host=${hosts[${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}]}
mkdir -p "$host" && cd "$host" && HETSORT_HOST=$host exec "$@"
END
chmod +x on_host
here=$PWD
job() { # job PLAN HOSTS ARGUMENT... - one rank for each host named
  local plan=$1 hosts=$2; shift 2
  # shellcheck disable=SC2086
  set -- "$(wc -w <<<"$hosts")" "$@"
  local ranks=$1; shift
  HOSTS=$hosts HETSORT_FAIL=$plan run timeout -s KILL 40 "$ROOT/scripts/mpirun" $ranks "$here/on_host" "$hetsort" -s --key 0,1 \
    --no-fsync --report "$here/report" "$@" -o "$here/out" "$here/in"
}
fresh() { rm -rf a b c d e shared out .hetsort-*; }
not_read() { sed -n 's/^ *"bytes_not_read": \([0-9]*\).*/\1/p' report | awk '{ n += $1 } END { print n + 0 }'; }
left() { find . -name '.hetsort-*' -o -path '*/store/*' -o -path './shared/*' | sort | paste -sd' '; }
continues() { # continues NAME HOSTS BYTES-NOT-READ ARGUMENT... - resume on these hosts
  local name=$1 hosts=$2 wanted=$3; shift 3
  job '' "$hosts" --resume "$@"
  is "$name: continues" "$rc/$(cmp out expected 2>&1)/$(left)" "0//"
  is "$name: bytes not read again" "$(not_read)" "$wanted"
}

# one directory for all
for is in "a" "a b" "a b c d e"; do
  fresh
  job kill@merge:1 "a b c" --workdir "$here/shared"
  continues "shared, 3 ranks, then $(wc -w <<<"$is")" "$is" $bytes --workdir "$here/shared"
done
fresh
job kill@commit:1 "a b c" --workdir "$here/shared"
continues "shared, complete output, 3 ranks, then 2" "a b" $bytes --workdir "$here/shared"
is "shared, complete output: merged before" "$(merged)" "done"
fresh
job kill@checkpoint:1 "a b c" --workdir "$here/shared"
job kill@write:0 "a b" --resume --workdir "$here/shared"
continues "shared, 3 ranks, 2, then 4" "a b c d" $bytes --workdir "$here/shared"

# disks of hosts
fresh
job kill@merge:1 "a b c d" --workdir store
continues "disks, the same hosts in another order" "c a d b" $bytes --workdir store
fresh
job kill@merge:1 "a b c d" --workdir store
rm -r c
continues "disks, a host is missing" "a b d" $((bytes * 3 / 4)) --workdir store
fresh
job kill@merge:1 "a b c d" --workdir store
rm -r b
continues "disks, another host" "a c d e" $((bytes * 3 / 4)) --workdir store
fresh
job kill@merge:1 "a b c d" --workdir store
rm -r a
job kill@merge:1 "b c d" --resume --workdir store
continues "disks, a host is missing, killed, in another order" "d b c" $bytes --workdir store
fresh
job kill@merge:1 "a b" --workdir store
continues "disks, more hosts" "a b c d" $bytes --workdir store
fresh
job kill@merge:1 "a b a b" --workdir store
continues "disks, the two ranks of each host in another order" "a a b b" $bytes --workdir store
# the runs of a host are in two places of the input: its only rank drops some, and its state must not note them any more
fresh
job kill@merge:1 "a b a b" --speeds 1,2,2,1 --workdir store
there=$(find a b -name '*.run*' | wc -l)
job kill@merge:0 "a b" --resume --workdir store
is "disks, fewer ranks than places: killed" "$rc/$there" "$(mpich && echo 9 || echo 137)/4"
continues "disks, fewer ranks than places, killed again" "a b" $bytes --workdir store
fresh
job kill@merge:1 "a b c d" --workdir store
job '' "a b" --resume --workdir store
is "disks, two hosts are missing, and keep their runs" "$rc/$(cmp out expected)/$(not_read)/$(find a/store b/store -type f | wc -l)/$(find c/store -name "*.json" | wc -l)" \
  "0//$((bytes / 2))/0/1"
done_testing
