# shellcheck shell=bash disable=SC2016,SC2317  # hosts expand; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# mpirun over ssh and a hostfile, as between real nodes: four virtual hosts of two speeds, each with an sshd of its own.
# Files that all share, files on the disk of each host, and a launcher that is killed.
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
cluster=$ROOT/scripts/cluster
id="ssh$$"
sshd=$(PATH=$PATH:/usr/sbin command -v sshd) || skip_all "sshd is not installed (openssh-server)"
command -v ssh-keygen >/dev/null || skip_all "ssh is not installed (openssh-client)"
[ "${HAVE_MPI:-no}" = yes ] || skip_all "hetsort is built without MPI"
"$cluster" doctor >doctor.out || skip_all "no virtual hosts: $(sed -n 's/^missing //p' doctor.out | head -n 1)"

on() { "$cluster" --id "$id" exec "$@"; }
finish() {
  "$cluster" down "$id" >/dev/null 2>&1
  [ -z "${made:-}" ] || rmdir /run/sshd
}
trap finish EXIT

keys() { # the keys of the hosts, which are all the same, and the key of the user
  ssh-keygen -q -t ed25519 -N '' -f host_key && ssh-keygen -q -t ed25519 -N '' -f user_key || return 1
  cat >sshd_config <<CONF
HostKey $PWD/host_key
AuthorizedKeysFile $PWD/user_key.pub
PidFile none
StrictModes no
UsePAM no
PermitRootLogin prohibit-password
CONF
  echo "n0,n1,n2,n3 $(cut -d' ' -f1,2 host_key.pub)" >known_hosts
  cat >ssh_config <<CONF
Host n?
  IdentityFile $PWD/user_key
  UserKnownHostsFile $PWD/known_hosts
  BatchMode yes
CONF
}
hosts_up() {
  local k
  keys && "$cluster" up 4 --id "$id" --slow 2:1.5 --cpu 0.3 >/dev/null || return 1
  if mkdir /run/sshd 2>/dev/null; then made=1; fi
  for k in 0 1 2 3; do on "n$k" "$sshd" -f "$PWD/sshd_config" -E "$PWD/sshd.n$k" || return 1; done
}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_orte_tmpdir_base=$PWD OMPI_MCA_plm_rsh_agent="ssh -F $PWD/ssh_config"
hetsort() { run on n0 "$cluster" run --hostfile hosts -- "$BIN/hetsort" --speeds speeds "$@"; }
sum_of() { valsort "$1" 2>&1 | sed -n 's/^Checksum: //p'; }

ok "four hosts with an sshd come up" hosts_up
is "one reaches another by ssh" "$(on n0 ssh -F ssh_config n3 hostname)" n3
for k in 0 1 2 3; do echo "n$k slots=1"; done >hosts
printf 'n[0-1] 1\nn[2-3] 0.667\n' >speeds
export PATH="$BIN:$PATH"

sum=$(gensort -c 300000 in.dat 2>&1)
hetsort -v -o out.dat in.dat
is "a shared file is sorted" "$rc $(valsort -q out.dat && echo in order)" '0 in order'
is "it has the records of the input" "$(sum_of out.dat)" "$sum"
is "each host has a rank, with its speed" "$(awk '$2 ~ /^n[0-3]$/ {print $1, $2, $3}' <<<"$err" | head -n 4 | paste -sd,)" \
  '0 n0 1,1 n1 1,2 n2 0.667,3 n3 0.667'
is "and writes a share of that size" "$(awk '$2 ~ /^n[03]$/ && NF == 9 {w[$1] = $5} END {print int(10 * w[3] / w[0] + .5)}' <<<"$err")" 7

# No other host sees the files on a host's own disk.
for k in 0 1 2 3; do on "n$k" sh -c 'exec gensort -b"$1" 50000 "$LOCAL/in.$2"' sh $((k * 50000)) $k; done
disk=$(on n0 sh -c 'echo "$LOCAL"')
hetsort -o "$disk/out.%r" "$disk/in.%r"
is "disks of hosts: sorted" "$rc" 0
for k in 0 1 2 3; do on "n$k" cat "$disk/out.$k"; done >gathered
ok "disks of hosts: the parts are in order" valsort -q gathered
is "disks of hosts: they have all records" "$(sum_of gathered)" "$(gensort -c 200000 all.dat 2>&1)"
on n2 ls "$disk" >names
is "disks of hosts: each has only its own part" "$(paste -sd' ' names)" 'in.2 out.2'

# The launcher is killed while ranks work: only their daemons can still report it to the others.
on n0 env HETSORT_FAIL=delay@merge:2=600 mpirun --hostfile hosts -x HETSORT_FAIL -n 4 \
  "$BIN/failpoints/hetsort" --progress 1 -o killed.dat in.dat 2>killed.err &
processes() { grep -l -s -z -x 'HETSORT_FAIL=delay@merge:2=600' /proc/[0-9]*/environ | cut -d/ -f3; }
launcher() { for pid in $(processes); do [ "$(cat "/proc/$pid/comm")" != mpirun ] || echo "$pid"; done; }
ok "the job merges" await grep -q -s 'merge' killed.err
kill -9 "$(launcher)"
nobody() { [ -z "$(processes)" ]; }
ok "its launcher is killed: all ranks end" await nobody
wait
is "and leave nothing" "$(find . -name '.hetsort-*'; ls killed.dat 2>/dev/null)" ''
done_testing
