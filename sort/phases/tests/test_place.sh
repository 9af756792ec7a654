# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Where ranks and their threads run: the output of --explain for machines that are described to hwloc, and a sort on this
# machine, whose first two processors are described to hwloc as a NUMA node each.
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 1000 small
"$BIN/gensort" --no-fsync 800000 large

if [ -z "${SANITIZER:-}" ]; then
  HWLOC_SYNTHETIC="numa:1 core:2000 pu:1" HETSORT_SHIM=cpus=2000 LD_PRELOAD=$OBJ/shim.so run "$hetsort" --explain small
  ok "more processors than a usual set has" grep -q '^rank 0: 2000 threads, ' <<<"$out"
  HETSORT_SHIM=cpus=64 LD_PRELOAD=$OBJ/shim.so run "$hetsort" --explain --ranks 4 small
  ok "ranks of a process share them" grep -q '^rank 0: 16 threads, ' <<<"$out"
fi

if [ "$(cat /sys/devices/system/node/has_cpu 2>/dev/null)" = 0 ]; then
  run "$hetsort" --explain --threads 3 small
  ok "a machine of one node, with hwloc and without" grep -q '^rank 0: 3 threads, processors .*, NUMA node 0$' <<<"$out"
  run "$hetsort" --report - -f -o out large
  is "is in the report, too" "$(grep -E '"(numa_nodes|binding)"' <<<"$out" | tr -d ' \n')" '"numa_nodes":"0","binding":"none",'
fi

# The machine's own processors only determine the number of threads that fill them.
one="taskset -c $(taskset -cp $$ 2>/dev/null | sed 's/.*: //; s/[,-].*//')"
$one true 2>/dev/null || one=""
# explains NAME MACHINE LINES ARGUMENT... - the lines about nodes on a machine that is described to hwloc
explains() {
  local name=$1 machine=$2 lines=$3; shift 3
  # shellcheck disable=SC2086  # words, or none
  HWLOC_SYNTHETIC=$machine HWLOC_THISSYSTEM=0 run $one "$hetsort" --explain "$@" small
  is "$name" "$rc: $(sed -n 's/^\(rank [0-9]*\): [0-9]* threads*, processors [^ ]*, \(.*NUMA.*\)/\1 \2/p' <<<"$out" | paste -sd';')" "0: $lines"
}
placed() { grep -E '"(processors|numa_nodes|binding)": "' <<<"$out" | tr -d ' \n'; }

if "$hetsort" --version -v | grep -q 'hwloc yes'; then
  cat >says.c <<'C'
#include <stdio.h>
#include <stdlib.h>
int hwloc_topology_init(void **t)
{
	const char *hide = getenv("HWLOC_HIDE_ERRORS");
	*t = NULL;
	fprintf(stderr, "hide %s\n", hide ? hide : "nothing");
	return -1;
}
C
  if [ -z "${SANITIZER:-}" ] && "${CC:-cc}" -shared -fPIC -o says.so says.c; then
    HWLOC_SYNTHETIC="numa:2 pu:1" LD_PRELOAD=$PWD/says.so run "$hetsort" --explain small
    is "hwloc may not print" "$rc $err" "0 hide 2"
    HWLOC_HIDE_ERRORS=0 HWLOC_SYNTHETIC="numa:2 pu:1" LD_PRELOAD=$PWD/says.so run "$hetsort" --explain small
    is "unless the user wishes so" "$rc $err" "0 hide 0"
  fi
  mkdir none && echo "not a library" >none/libhwloc.so.15
  LD_LIBRARY_PATH=$PWD/none explains "no hwloc at run time" "numa:4 core:4 pu:1" "" --threads 16
  explains "a rank on all nodes" "numa:4 core:4 pu:1" "rank 0 each bound to one of NUMA nodes 0-3" --threads 16
  explains "a rank for each node" "numa:2 core:4 pu:1" "rank 0 bound to NUMA node 0;rank 1 bound to NUMA node 1" --ranks 2 --threads 4
  explains "ranks on one node are said once" "numa:2 core:4 pu:1" "rank 0 bound to NUMA node 0;rank 2 bound to NUMA node 1" --ranks 4 --threads 2
  explains "a rank that has parts of two nodes" "numa:2 core:6 pu:1" \
    "rank 0 bound to NUMA node 0;rank 1 each bound to one of NUMA nodes 0-1;rank 2 bound to NUMA node 1" --ranks 3 --threads 4
  explains "--bind=none" "numa:4 core:4 pu:1" "rank 0 NUMA nodes 0-3" --threads 16 --bind none
  explains "one node" "numa:1 core:4 pu:1" "rank 0 NUMA node 0" --threads 4
  [ "$(nproc)" -eq 1 ] || one="" explains "fewer threads than processors" "numa:2 core:4 pu:1" "rank 0 NUMA nodes 0-1" --threads 1
  HWLOC_SYNTHETIC="numa:4 core:4 pu:1" HWLOC_THISSYSTEM=0 run "$hetsort" --report - -f -o out large
  is "a machine that is not this one binds nothing" "$rc: $(grep -E '"(numa_nodes|binding)"' <<<"$out" | tr -d ' \n')" '0: "numa_nodes":"","binding":"none",'

  # on this machine
  if [ "$(taskset -cp $$ 2>/dev/null | sed 's/.*: //')" = 0,1 ] || taskset -c 0,1 true 2>/dev/null; then
    export HWLOC_SYNTHETIC="numa:2 core:1 pu:1" HWLOC_THISSYSTEM=1
    run taskset -c 0,1 "$hetsort" --report - --no-fsync -f -o out large
    is "workers of a rank" "$rc: $(placed)" '0: "processors":"0-1","numa_nodes":"0-1","binding":"threads",'
    run taskset -c 0,1 "$hetsort" --report - --no-fsync -f --ranks 2 -o out large
    is "two ranks" "$rc: $(placed)" \
      '0: "processors":"0","numa_nodes":"0","binding":"rank","processors":"1","numa_nodes":"1","binding":"rank",'
    run "$BIN/valsort" -q out
    is "they sort" "$rc" 0
    run taskset -c 0,1 "$hetsort" --report - --no-fsync -f --bind none --ranks 2 -o out large
    is "two ranks, --bind=none" "$rc: $(placed | sed 's/"processors":"0-1","numa_nodes":"0-1","binding":"none",//g')" "0: "
    run taskset -c 1 "$hetsort" --report - --no-fsync -f --threads 2 -o out large
    is "a launcher that has bound it" "$rc: $(placed)" '0: "processors":"1","numa_nodes":"1","binding":"none",'
    run taskset -c 0,1 "$hetsort" --report - --no-fsync -f -o out small
    is "too little data to look" "$rc: $(placed)" '0: "processors":"0-1","numa_nodes":"","binding":"none",'
  else echo "# skipped: this machine does not have processors 0 and 1"; fi
else echo "# skipped: built without hwloc"; fi
done_testing
