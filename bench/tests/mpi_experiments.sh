# shellcheck shell=bash disable=SC2317  # functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# The experiments: their client of libhetpart_mpi, built outside the tree; where this machine can have
# virtual hosts, some of them on a tiny input: samples, figures, plots and tables fit each other, no wrong output
# passes, and nothing remains. HETSORT_LONG=1 runs all, on inputs that show the effects if the machine is quiet.
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
# shellcheck source=partition/tests/install_help.sh
. "$ROOT/partition/tests/install_help.sh"
if [ "${HAVE_MPI:-no}" != yes ] || ! "$ROOT/scripts/mpirun" --here; then skip_all "no MPI here"; fi
command -v python3 >/dev/null || skip_all "python3 is not installed"
experiments=$ROOT/bench/experiments

# ------------------------------------------------------------- the client, in an empty directory
client() { run timeout 120 "$ROOT/scripts/mpirun" "$@"; }
sums() { sed -n 's/.*"sum": "\([0-9a-f]*\)".*/\1/p' <<<"$out" | sort -u | paste -sd' '; }
items() { awk -F'"items": ' '/^{/ {sum += $2} END {print sum + 0}' <<<"$out"; }
if [ -z "${SANITIZER:-}" ]; then
  installation install-lib "$PWD/installed" || echo "# no installation"
  mkdir apart; cp "$ROOT/bench/scatter_client.c" apart/
  export PKG_CONFIG_PATH=$PWD/installed/lib/pkgconfig LD_LIBRARY_PATH=$PWD/installed/lib
  # shellcheck disable=SC2046  # flags are words
  ok "the client builds outside the tree" sh -c "cd apart && OMPI_CC='${CC:-cc}' MPICH_CC='${CC:-cc}' ${MPICC:-mpicc} \
    -std=c11 -Wall -Wextra -Werror scatter_client.c $(pkg-config --cflags --libs hetpart_mpi) -o client"
  numbers=(1 3)
  [ -z "${HETSORT_LONG:-}" ] || numbers=(1 2 5)
  for ranks in "${numbers[@]}"; do
    client "$ranks" apart/client scatterv 1003 24 200
    is "$ranks ranks, as it was" "$rc/$(items)" 0/1003
    before=$(sums)
    for how in speed balanced ascending farm; do
      client "$ranks" apart/client $how 1003 24 200
      is "$ranks ranks, $how: each item once, the same result" "$rc/$(items)/$(sums)" "0/1003/$before"
    done
  done
  printf '0 1e-4 0 1e-6\n0 1e-5 0 1e-6\n' >costs
  client 2 apart/client balanced 1100 24 200 costs
  is "with costs that are given" "$(sed -n 's/.*"items": \([0-9]*\),.*/\1/p' <<<"$out" | paste -sd' ')" "100 1000"
  client 3 apart/client balanced 1100 24 200 costs
  ok "costs of too few ranks are refused" grep -q '^scatter_client: COSTS has fewer' <<<"$err"
  client 2 apart/client slowly 10 8 1
  ok "an unknown way is refused" test "$rc" != 0
  client 2 apart/client farm 10 8 0
  ok "no work is refused" test "$rc" != 0
fi

# ----------------------------------------------------------------------------- what is asked for
for bad in "slow --records 0" "slow --records" "scatter --most 3" "" "balance --rounds 5" "balance --keys text" "slow --on moon" \
  "balance --factor 0"; do
  # shellcheck disable=SC2086  # words
  run "$experiments" $bad
  is "refused: experiments $bad" "$rc" 2
done
run "$experiments" balance --factor x
ok "the message gives the reason" grep -q "argument --factor: 'x' is not a number" <<<"$err"
for e in scatter balance; do
  run "$experiments" $e --help
  ok "$e has a summary in its help" grep -q -- '--quick' <<<"$out"
done

# ----------------------------------------------------------------------------- the hosts of a hostfile
if [[ $("${MPIRUN:-mpirun}" --version 2>/dev/null) == *"Open MPI"* ]]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  echo "localhost slots=2" >hostfile
  printf '%s\n' "1 x speed 1" "1 x speed 1 net 1G" "records 2k" "rounds 2" "equal: --plan equal" "planned: --speeds {speeds}" >two.txt
  mkdir shared
  run timeout 300 "$experiments" two.txt --on hostfile --hostfile hostfile --dir "$PWD/shared" --out real
  is "an experiment on a hostfile" "$rc $(ls shared)" "0 "
  is "its samples" "$(cut -d, -f2,4 real/two.csv | paste -sd' ')" "variant,round equal,1 equal,2 planned,1 planned,2"
  ok "links are what they are" grep -q '^net: not set on the hosts of a hostfile$' <<<"$out"
  echo "at 1s host 1 speed 0.5" >>two.txt
  run "$experiments" two.txt --on hostfile --hostfile hostfile --dir "$PWD/shared" --out real
  is "they do not change" "$rc ${err##*$'\n'}" \
    "1 experiments: 'at' is for --on cluster and --on hetsim, because the hosts of a hostfile do not change"
fi

run "$ROOT/scripts/cluster" doctor
if [ "$rc" != 0 ] || ! grep -q '^ok Open MPI' <<<"$out"; then
  echo "# no virtual hosts here:"; sed -n 's/^missing/# missing/p' <<<"$out"
  run "$experiments" slow
  is "without hosts it says so" "$rc/$(grep -c '^experiments: cannot use virtual hosts: ' <<<"$err")" 1/1
  done_testing
fi

# ----------------------------------------------------------------------------- some tiny, or all small
mkdir disks
tiny() { # tiny NAME OPTIONS... - not judged
  run timeout 600 "$experiments" --dir "$PWD/disks" --out results "$@"
  is "$1 succeeds" "$rc" 0
  [ "$rc" = 0 ] || echo "# ${err//$'\n'/$'\n# '}"
}
if [ -n "${HETSORT_LONG:-}" ]; then
  run timeout 1200 "$experiments" all --quick --dir "$PWD/disks" --out results
  is "all succeed, and show what they are about if nothing disturbs them" "$rc" 0
  [ "$rc" = 0 ] || echo "# ${err//$'\n'/$'\n# '}"
  grep -E ': (holds|FAILS|not judged)' <<<"$out" | sed 's/^/# /'
  output=$out names="slow scatter balance ratios learning adapt" samples="adapt 12 balance 10 learning 24 ratios 8 scatter 5 slow 10"
else
  printf '%s\n' "1 x speed 1" "1 x speed 1/2 net 500M" "records 2k" "rounds 2" "at 50% host 1 speed 1/3" "equal steady: --plan equal" \
    "planned: --speeds {speeds}" "online jobs 2: --plan online" "single hosts 1 rounds 1:" >own.txt
  tiny own.txt
  tiny own.txt --burn --rounds 1 --out burnt
  [ "$(nproc)" -eq 1 ] || tiny balance --records 2000 --most 3 --repeat 1 --keys ascii
  names="own balance" samples="balance 5 own 9"
fi
is "nothing is left of the disks" "$(ls disks)" ""
for e in $names; do
  [ "$(nproc)" -gt 1 ] || [ "$e" != balance ] || continue
  ok "$e: samples are kept" test -s "results/$e.jsonl"
  ! can_draw || ok "$e: a plot" grep -q '</svg>' "results/$e.svg"
done
python3 - results/*.jsonl <<'PY' >facts
import json, statistics, sys
for path in sys.argv[1:]:
    lines = [json.loads(x) for x in open(path)]
    samples = [x for x in lines if x["type"] == "sample"]
    figures = {x["command"]: x for x in lines if x["type"] == "figure" and "median_s" in x}
    good = bool(samples) and bool(figures)
    for command, f in figures.items():
        s = [x["seconds"] for x in samples if x["command"] == command]
        good = good and s and abs(f["median_s"] - statistics.median(s)) < 1e-9 and f["min_s"] == min(s)
        good = good and abs(f["mean_s"] - statistics.mean(s)) < 1e-9 and f["max_s"] == max(s)
    good = good and all(x["seconds"] > 0 and x["disturbed"] in (True, False) for x in samples)
    print(lines[0]["experiment"], len(samples), bool(good))
PY
is "the numbers of samples" "$(sort facts | cut -d' ' -f1,2 | paste -sd' ')" "$samples"
is "and figures that are theirs" "$(cut -d' ' -f3 facts | sort -u)" True
[ -z "${output:-}" ] || ok "scatter: the published end times are next to ours" grep -q '^balanced .* 405 / 430$' <<<"$output"

# ---------------------------------------------------------- a hetsort that does not sort is caught
mkdir -p programs/bench
for p in gensort valsort hetplan hetsort-report cpuburn bench/scatter_client bench/build.json; do ln -s "$BIN/$p" "programs/$p"; done
cat >programs/hetsort <<SH
#!/bin/sh
"$BIN/hetsort" "\$@" || exit
for in; do :; done
dd if="\$in" of=out.\$OMPI_COMM_WORLD_RANK bs=25000 skip=\$OMPI_COMM_WORLD_RANK count=1
SH
chmod +x programs/hetsort
BIN=$PWD/programs run "$experiments" learning --records 1000 --rounds 1 --dir "$PWD/disks" --out bad
is "unsorted output stops it" "$rc/$(grep -c '^experiments: hetsort: not in order' <<<"$err")" 1/1
is "and nothing is left then" "$(ls disks)" ""
run "$ROOT/scripts/cluster" status
is "no cluster is left" "$(grep -c "$PWD" <<<"$out")" 0
done_testing
