#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks of a host that may use the same processors divide them, whether these are all processors of the machine or only some. Each is
# bound to NUMA nodes of its own, which a file describes to hwloc.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
"$BIN/gensort" --no-fsync 800000 in || exit 1

# a launcher that binds
cat >bound <<'EOF'
#!/bin/sh
rank=${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}
exec taskset -c "$(echo "$CPUS" | cut -d' ' -f$((rank + 1)))" "$@"
EOF
chmod +x bound
on() { # on RANKS CPUS ARGUMENT... - start hetsort over MPI, the first rank on the first word of CPUS
  local ranks=$1 cpus=$2; shift 2
  CPUS=$cpus run timeout 120 "$ROOT/scripts/mpirun" "$ranks" ./bound "$@"
}
member() { grep -E "\"($1)\": " <<<"$out" | tr -d ' ,\n'; }

if taskset -c 0,1 true 2>/dev/null; then
  on 2 "0,1 0,1" "$BIN/hetsort" --report - --no-fsync -f -o out in
  is "both on both: half of them each" "$rc $(member threads)" '0 "threads":1"threads":1'
  on 2 "0 1" "$BIN/hetsort" --report - --no-fsync -f -o out in
  is "each on one of its own" "$rc $(member 'threads|processors')" '0 "threads":1"processors":"0""threads":1"processors":"1"'
  if "$BIN/hetsort" --version -v | grep -q 'hwloc yes'; then
    export HWLOC_SYNTHETIC="numa:2 core:1 pu:1" HWLOC_THISSYSTEM=1
    on 2 "0,1 0,1" "$BIN/hetsort" --report - --no-fsync -f -o out in
    is "each is bound to a node" "$rc $(member 'processors|numa_nodes|binding')" \
      '0 "processors":"0""numa_nodes":"0""binding":"rank""processors":"1""numa_nodes":"1""binding":"rank"'
    on 2 "1 0" "$BIN/hetsort" --report - --no-fsync -f -o out in
    is "one that is bound stays where it is" "$rc $(member 'processors|numa_nodes|binding')" \
      '0 "processors":"1""numa_nodes":"1""binding":"none""processors":"0""numa_nodes":"0""binding":"none"'
  fi
else echo "# skipped: this machine does not have processors 0 and 1"; fi
unset HWLOC_SYNTHETIC HWLOC_THISSYSTEM
if [ -z "${SANITIZER:-}" ]; then
  # A job has some of the machine's processors, whatever these are.
  cpus=$(($(getconf _NPROCESSORS_ONLN) + 6))
  run timeout 120 "$ROOT/scripts/mpirun" 2 env HETSORT_SHIM=cpus=$cpus LD_PRELOAD="$OBJ/shim.so" "$BIN/hetsort" --report - --no-fsync -f -o out in
  is "processors of the job are divided" "$rc $(member threads)" "0 \"threads\":$((cpus / 2))\"threads\":$((cpus / 2))"
fi
done_testing
