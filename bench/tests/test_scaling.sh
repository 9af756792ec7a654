# shellcheck shell=bash
# bench/scaling on small clusters: each experiment says what it should, and no sort beats its bound.
# shellcheck disable=SC2154  # run sets rc, out, err
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BIN/hetsim" ] || skip_all "no hetsim here"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers do not follow coroutines"
mkdir work
run "$ROOT/bench/scaling" --hosts 2,4 --real 100 --dir work --json scaling.json weak strong ranks stragglers
is "a run succeeds" "$rc" 0
is "nothing stays behind" "$(ls work)" ""
ended() { grep -c "\"status\": $1," scaling.json; }
is "all have been sorted but where a host stops" "$(ended 0) $(ended 5)" "34 4"
bounds() { awk '/bit.s, (un)?equal/ { n++; if ($(NF-1) > 100 || $(NF-1) < 20) bad++ } END { print n, bad + 0 }' <<<"$out"; }
is "eight of weak scaling, none better than its bound" "$(bounds)" "8 0"
slow() { awk -v p="$1, a" '$0 ~ "^" p " host at half speed" && /online/ == o { print $(NF-1); exit }' o="$2" <<<"$out"; }
ok "what --plan online learns of a slow host gains" awk -v a="$(slow 4 1)" -v b="$(slow 4 0)" 'BEGIN { exit !(a + 0 < b + 0) }'
run "$ROOT/bench/scaling" none
is "an unknown experiment is refused" "$rc" 2
done_testing
