# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/scaling on small clusters: each experiment says what it should, and no sort beats its bound.
# shellcheck disable=SC2154,SC2317  # run sets rc, out, err; functions are called through ok
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BIN/hetsim" ] || skip_all "no hetsim here"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers do not follow coroutines"
mkdir work
run "$ROOT/bench/scaling" --hosts 2,4 --real 100 --dir work --json scaling.jsonl weak strong ranks stragglers
is "a run succeeds" "$rc" 0
is "no files remain" "$(ls work)" ""
ended() { grep -c "\"status\": $1," scaling.jsonl; }
is "all have been sorted but where a host stops" "$(ended 0) $(ended 5)" "40 4"
bounds() { awk '/bit.s, (un)?equal/ { n++; if ($(NF-1) > 100 || $(NF-1) < 20) bad++ } END { print n, bad + 0 }' <<<"$out"; }
is "eight of weak scaling, none better than its bound" "$(bounds)" "8 0"
slow() { awk -v p="$1, a" '$0 ~ "^" p " host at half speed" && /online/ == o { print $(NF-1); exit }' o="$2" <<<"$out"; }
ok "what --plan online learns of a slow host gains" awk -v a="$(slow 4 1)" -v b="$(slow 4 0)" 'BEGIN { exit !(a + 0 < b + 0) }'
# keys: of n that stand side by side, each tenth of all keys has about n / 10, wherever a rank begins to read
even() { PYTHONPATH=$ROOT/bench python3 -B - "$@" <<'END'
import collections
import sys
from harness import simulation
hosts, each = int(sys.argv[1]), int(sys.argv[2])
simulation.spread_evenly("even.dat", hosts, each)
with open("even.dat", "rb") as f:
    records = f.read()
keys = [int.from_bytes(records[i:i + 10], "big") for i in range(0, len(records), 100)]
if len(set(keys)) != hosts * each:
    sys.exit(f"{len(keys)} keys, {len(set(keys))} different ones")
for first in range(0, len(keys) - each + 1, each // 2):
    counts = collections.Counter(k * 10 >> 80 for k in keys[first:first + each])
    if any(abs(counts[i] - each / 10) > 3 for i in range(10)):
        sys.exit(f"from {first}: {counts}")
END
}
ok "keys are spread evenly" even 7 1000
shortest() { awk '/^16, 1 Gbit.s, equal/ { print $5 }' <<<"$out"; }
run "$ROOT/bench/scaling" --hosts 16 --real 500 --dir work weak
spread=$(shortest)
run "$ROOT/bench/scaling" --hosts 16 --real 500 --dir work --random weak
ok "streams that are as long as each other take less" awk -v a="$spread" -v b="$(shortest)" 'BEGIN { exit !(a + 0 < b + 0) }'
# a case fails, and the others continue
mkdir -p broken
ln -sf "$BIN"/* broken/
rm broken/hetsim
cat >broken/hetsim <<END
#!/bin/sh
! grep -q '^2 x' "\$5" || { echo 'hetsim: not today' >&2; exit 3; }
exec "$BIN/hetsim" "\$@"
END
chmod +x broken/hetsim
BIN=$PWD/broken run "$ROOT/bench/scaling" --hosts 2,4 --real 100 --dir work strong ranks
is "a case that fails sets the exit status" "$rc" 1
ok "with the reason" grep -q 'strong: 2 hosts, .*: not today' <<<"$err"
is "the others have been sorted" "$(awk '$1 == 4 { n++ } $1 == 2 && $2 == "failed" { f++ } END { print n, f }' <<<"$out")" "2 2"
run "$ROOT/bench/scaling" none
is "an unknown experiment is refused" "$rc" 2
run "$ROOT/bench/scaling" --plot plot ranks
is "a plot of what is not drawn is refused" "$rc/$(tail -n 1 <<<"$err")" "2/scaling: error: --plot draws weak and strong: name one of them"
if can_draw; then
  run "$ROOT/bench/scaling" --hosts 2,4 --real 100 --dir work --plot plot weak strong
  is "weak and strong scaling are drawn, with their bounds" "$rc/$(grep -o -E '>[^<]*(is better|\(ideal\))<' plot.svg | paste -sd' ')" \
    "0/>% of the bound; higher is better< >bound (ideal)< >s; lower is better< >bound (ideal)<"
fi
done_testing
