# shellcheck shell=bash disable=SC2154  # scripts/cluster sets id, state, disks and hosts
# SPDX-License-Identifier: GPL-3.0-or-later
# The mechanics of scripts/cluster, which sources this: control groups, namespaces and links of one
# virtual host. A host K has the directory $state/nK with files that say what was made for it; nothing
# else is ever ended or removed.

# ---------------------------------------------------------------------------- control groups
# The mounts, as lines of "device directory type options". A test plants others.
mounts=${CLUSTER_MOUNTS:-/proc/self/mounts} own_groups=${CLUSTER_GROUPS:-/proc/self/cgroup}

has_word() { case ,${1// /,}, in *",$2,"*) return 0 ;; *) return 1 ;; esac; }

group_parent() { # group_parent CONTROLLER - sets $version and $parent, the directory to make groups in
  local at type options line own=''
  version='' parent=''
  while read -r _ at type options _; do
    if [ "$type" = cgroup ] && has_word "$options" "$1"; then version=1 parent=$at; break; fi
    if [ "$type" = cgroup2 ] && [ -z "$version" ]; then version=2 parent=$at; fi
  done <"$mounts"
  [ -n "$version" ] || return 1
  while IFS= read -r line; do # HIERARCHY:CONTROLLERS:PATH
    local path=${line#*:}
    if { [ "$version" = 2 ] && [ "${path%%:*}" = '' ]; } || has_word "${path%%:*}" "$1"; then own=${path#*:}; fi
  done <"$own_groups"
  own=${own%/}
  if [ "$version" = 1 ]; then parent=$parent$own; return; fi
  # Version 2 has no groups below one with processes in it: go up to where there may be some.
  while [ -n "$own" ] && ! hands_on "$parent$own" "$1"; do own=${own%/*}; done
  parent=$parent$own
  hands_on "$parent" "$1"
}

hands_on() { # hands_on DIRECTORY CONTROLLER - groups below this directory have the controller
  local list=''
  { read -r list <"$1/cgroup.subtree_control"; } 2>/dev/null || true
  has_word "$list" "$2"
}

# A controller's groups: one for the cluster, in it one for each host. Made when first needed, so that
# other controllers are not touched. With version 2 all controllers share one directory.
group_of() { # group_of CONTROLLER HOST - sets $group and $version; makes it, with all that is in the host
  local controller=$1 host=$2 pid
  { [ "$controller" = freezer ] && group_parent cpu && [ "$version" = 2 ]; } || group_parent "$controller" ||
    die "this machine has no '$controller' controller of control groups to use (scripts/cluster doctor)"
  group=$parent/hetsort-$id/$host
  [ -d "$group" ] || {
    mkdir -p "$group"
    echo "$group" >>"$state/$host/groups"
    if [ "$controller" != cpu ] && [ "$version" = 1 ]; then
      while read -r pid; do move "$pid" "$group"; done <"$(cpu_group "$host")/cgroup.procs"
    fi
  }
  [ "$version" = 1 ] || [ "$controller" = freezer ] || hands_on "$parent/hetsort-$id" "$controller" ||
    echo "+$controller" >"$parent/hetsort-$id/cgroup.subtree_control"
}

cpu_group() { head -n 1 "$state/$1/groups"; }
move() { echo "$1" 2>/dev/null >"$2/cgroup.procs" || [ ! -d "/proc/$1" ]; } # the process may be gone

join() { # join GROUP - this process; a real-time one may not where the kernel groups these too
  echo $BASHPID 2>/dev/null >"$1/cgroup.procs" ||
    die "cannot enter $1$(case $(chrt -p $BASHPID 2>/dev/null) in *_FIFO* | *_RR*) echo ' with real-time priority' ;; esac)"
}

group_empty() { # group_empty GROUP - end all that runs in it; it may be frozen
  local try pid procs
  for ((try = 0; try < 200; try++)); do
    procs=$(cat "$1/cgroup.procs" 2>/dev/null) || return 0
    [ -n "$procs" ] || return 0
    for pid in $procs; do kill -9 "$pid" 2>/dev/null || true; done
    sleep 0.02
  done
  echo "cluster: processes in $1 do not end" >&2
  return 1
}

group_remove() { # group_remove GROUP - also the group of its cluster, if it was the last
  local try
  for ((try = 0; try < 100; try++)); do
    if [ ! -d "$1" ] || rmdir "$1" 2>/dev/null; then break; fi
    sleep 0.02
  done
  rmdir "${1%/*}" 2>/dev/null || true
  [ ! -d "$1" ]
}

limit_cpu() { # limit_cpu GROUP VERSION SHARE|max - of one CPU; in periods of 10 ms, or it comes in bursts
  local quota=-1
  [ "$3" = max ] || quota=$(awk -v s="$3" 'BEGIN {q = int(s * 10000 + .5); print (q < 1000 ? 1000 : q)}')
  if [ "$2" = 1 ]; then
    echo 10000 >"$1/cpu.cfs_period_us"
    echo "$quota" >"$1/cpu.cfs_quota_us"
  else
    echo "${quota/#-1/max} 10000" >"$1/cpu.max"
  fi
}

set_cpu() { # set_cpu HOST SHARE|max
  local group version
  group_of cpu "$1"
  limit_cpu "$group" "$version" "$2"
  echo "$2" >"$state/$1/cpu"
}

# A group of its own, which nothing enters that starts in the host: single threads are moved there.
set_second() { # set_second HOST SHARE|max - prints the files of the first and the second CPU's threads
  local group version
  group_of cpu "$1"
  [ "$version" = 1 ] || die "a second CPU needs control groups of version 1, whose groups take single threads"
  mkdir -p "$group.second"
  echo "$group.second" >"$state/$1/second"
  limit_cpu "$group.second" 1 "$2"
  printf '%s\n' "$group/tasks" "$group.second/tasks"
}

set_mem() { # set_mem HOST BYTES|max
  local group version bytes=$2
  group_of memory "$1"
  if [ "$version" = 1 ]; then
    echo "${bytes/#max/-1}" >"$group/memory.limit_in_bytes"
  else
    echo "$bytes" >"$group/memory.max"
  fi
  echo "$bytes" >"$state/$1/mem"
}

set_frozen() { # set_frozen HOST yes|no
  local group version
  group_of freezer "$1"
  if [ "$version" = 1 ]; then
    if [ "$2" = yes ]; then echo FROZEN; else echo THAWED; fi >"$group/freezer.state"
  else
    if [ "$2" = yes ]; then echo 1; else echo 0; fi >"$group/cgroup.freeze"
  fi
  echo "$2" >"$state/$1/frozen"
}

# ------------------------------------------------------------------------------- namespaces
started() { # started PID - sets $since, when it was started: with its number, this names a process for ever
  local stat
  { read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 1
  # shellcheck disable=SC2086  # fields; the name, which may hold blanks, is cut off before
  set -- ${stat##*) }
  [ "$1" != Z ] && since=${20}
}

same() { local since=''; started "$1" && [ "$since" = "$2" ]; } # same PID START - it still runs

holder() { # holder HOST - sets $pid to the process that keeps its namespaces
  local start
  read -r pid start 2>/dev/null <"$state/$1/holder" && same "$pid" "$start"
}

hold() { # hold HOST NAMESPACE... - start its holder, wait until it has them
  local host=$1 try pid since kinds=(); shift
  local kind; for kind in "$@"; do kinds+=("--$kind"); done
  (
    if [ "$host" != switch ]; then join "$(cpu_group "$host")"; fi
    exec setsid unshare "${kinds[@]}" sleep infinity
  ) </dev/null >/dev/null 2>"$state/$host/error" &
  pid=$!
  disown $pid # bash must not report its end
  started $pid || die "cannot start host $host"
  echo "$pid $since" >"$state/$host/holder"
  for ((try = 0; try < 500; try++)); do
    [ "$(cat /proc/$pid/comm 2>/dev/null)" = sleep ] && return
    kill -0 $pid 2>/dev/null || break
    sleep 0.01
  done
  die "cannot start host $host: $(cat "$state/$host/error")"
}

in_net() { # in_net HOST COMMAND... - in the network of the host, with our directories
  local pid host=$1; shift
  holder "$host" || die "host $host is not up"
  nsenter --target "$pid" --net "$@"
}

enter() { # enter HOST COMMAND... - becomes COMMAND inside the host, in this directory
  local pid group host=$1; shift
  holder "$host" || die "host $host is not up"
  while read -r group; do join "$group"; done <"$state/$host/groups"
  exec nsenter --target "$pid" --net --uts --ipc --mount --wdns="$PWD" \
    env LOCAL="$state/local" CLUSTER_ID="$id" CLUSTER_HOST="$host" "$@"
}

# The address of host K; the switch needs none.
address() { echo "10.77.0.$((10 + ${1#n}))"; }

# Cubic, because the machine's own choice may be one that paces, and a namespace may set its own only
# by route. A kernel without it keeps its default.
connect() { # connect HOST - a cable between it and the switch
  local pid net=10.77.0.0/24 ip; ip=$(address "$1")
  holder "$1" || die "host $1 is not up"
  in_net switch ip link add "$1" type veth peer name eth0 netns "$pid"
  in_net switch ip link set "$1" master bridge up
  # shellcheck disable=SC2016  # the inner shell expands it
  nsenter --target "$pid" --net --uts --mount bash -eu -c '
    hostname "$1"
    mount --bind "$3/$1" "$2/local"
    mount -t tmpfs -o mode=1777 tmpfs /dev/shm
    mount --bind "$2/$1/hosts" /etc/hosts
    ip link set lo up
    ip addr add "$4/24" dev eth0
    ip link set eth0 up
    # Give up after seconds on data sent to a dead host, as keepalive does if nothing is sent: the
    # launcher waits for a quarter of an hour otherwise.
    echo 4 >/proc/sys/net/ipv4/tcp_retries2
    ip route replace "$5" dev eth0 proto kernel scope link src "$4" congctl cubic 2>/dev/null || true
  ' bash "$1" "$state" "$disks" "$ip" "$net"
}

set_rate() { # set_rate HOST RATE|max - of its link, both ways; a burst below 128 kB would throttle 1 Gbit/s
  local pid host=$1 end burst=131072 bits
  holder "$host" || die "host $host is not up"
  for end in "nsenter --target $pid --net tc qdisc DO dev eth0" "in_net switch tc qdisc DO dev $host"; do
    ${end/DO/del} root 2>/dev/null || true
    if [ "$2" = max ]; then continue; fi
    bits=$(rate_bits "$2")
    # The data of one millisecond must fit, however fast the link is.
    [ $((bits / 8000)) -le $burst ] || burst=$((bits / 8000))
    ${end/DO/add} root tbf rate "${bits}bit" burst $burst latency 50ms
  done
  echo "$2" >"$state/$host/rate"
}

rate_bits() { # rate_bits 100mbit - in bits per second
  local number=${1%%[a-z]*} factor
  case ${1#"$number"} in
    bit) factor=1 ;; kbit) factor=1000 ;; mbit) factor=1000000 ;; gbit) factor=1000000000 ;;
    *) refuse "a rate is a number with bit, kbit, mbit or gbit, or max: not '$1'" ;;
  esac
  whole "$number" || refuse "a rate is a number with bit, kbit, mbit or gbit, or max: not '$1'"
  echo $((number * factor))
}

set_link() { # set_link HOST up|down - pull its plug
  in_net switch ip link set "$1" "$2"
  echo "$2" >"$state/$1/link"
}

set_disk() { # set_disk HOST MB - replace its directory by a file system of this size; empty
  local pid image=$disks/$1.ext4
  case $disks in /dev/shm/*) die "disks in /dev/shm are not seen by hosts: choose another TMPDIR" ;; esac
  holder "$1" || die "host $1 is not up"
  ! [ -e "$image" ] || die "host $1 has a disk of its own already"
  truncate -s "${2}M" "$image"
  mkfs.ext4 -q -F -m 0 "$image"
  nsenter --target "$pid" --mount mount -o loop "$image" "$state/local"
  echo "$2" >"$state/$1/disk"
}

# ----------------------------------------------------------------------------- up and down
make_host() { # make_host HOST - all but its limits
  local host=$1 k group version
  mkdir -p "$state/$host" "$disks/$host"
  : >"$state/$host/groups"
  group_of cpu "$host"
  hold "$host" net uts mount ipc
  {
    echo "127.0.0.1 localhost"
    for ((k = 0; k < hosts; k++)); do echo "$(address n$k) n$k"; done
  } >"$state/$host/hosts"
  connect "$host"
}

make_switch() {
  mkdir "$state/switch"
  : >"$state/switch/groups"
  hold switch net
  in_net switch ip link add bridge type bridge
  in_net switch ip link set bridge up
}

end_holder() { local pid; if holder "$1"; then kill -9 "$pid" 2>/dev/null || true; fi; }

remove_host() { # remove_host HOST - its processes, groups, namespaces; never fails half-way
  local group groups good=0
  mapfile -t groups < <(cat "$state/$1/groups" "$state/$1/second" 2>/dev/null)
  for group in "${groups[@]}"; do # what is frozen does not even die
    echo THAWED 2>/dev/null >"$group/freezer.state" || true
    echo 0 2>/dev/null >"$group/cgroup.freeze" || true
  done
  for group in "${groups[@]}"; do group_empty "$group" || good=1; done
  end_holder "$1"
  for group in "${groups[@]}"; do group_remove "$group" || good=1; done
  return $good
}
