# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/platforms: each kind of mix and each two of them occur, a seed repeats, and the ratios are of the times reported.
# shellcheck disable=SC2154,SC2317  # run sets rc, out, err; functions are called through ok
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BIN/hetsim" ] || skip_all "no hetsim here"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers do not follow coroutines"
mkdir work
platforms() { run "$ROOT/bench/platforms" --dir work "$@"; }
platforms --count 2 --real 50 --ways equal,default,given,online --kinds speeds,cores -j real.jsonl
is "a run succeeds" "$rc" 0
is "no files remain" "$(ls work)" ""
keys() { python3 -c 'import json, sys; print(*(" ".join(x["seconds"]) for x in map(json.loads, open(sys.argv[1])) if x["type"] == "sample"), sep="\n")' "$1"; }
is "all ways have a time, and two a prediction" "$(keys real.jsonl | sort | uniq -c | tr -s ' ')" " 6 equal default default predicted given given predicted online"

# A hetsim that takes 10 s for equal shares, 5 s with given rates, and by default 9 s, or 20 s with a disk of 666 MB/s. By
# default it fails on hosts with 7 cores.
mkdir -p fake
ln -sf "$BIN"/* fake/
rm fake/hetsim
cat >fake/hetsim <<'END'
#!/bin/sh
for platform; do case $platform in */platform) break ;; esac; done
case "$*" in
  *--plan\ equal*) s=10 ;;
  *--speeds*) s=5; echo "$*" | tr ' ' '\n' | grep -E '^--(speeds|links|disks)=' >>"$OPTIONS" ;;
  *) s=9; ! grep -q ' 666M/s' "$platform" || s=20; ! grep -q 'cores 7 ' "$platform" || { echo 'hetsim: not today' >&2; exit 3; } ;;
esac
for report; do case $report in */default.json | */given.json | */equal.json | */online.json) break ;; esac; done
echo "{\"total_s\": $s, \"shares\": {\"planned_s\": 4}, \"ranks\": [{\"predicted_s\": 2}, {\"predicted_s\": 3}]}" >"$report"
echo "{\"makespan_s\": $s, \"status\": 0}"
END
chmod +x fake/hetsim
export OPTIONS=$PWD/options
BIN=$PWD/fake
platforms --count 15 -j one.jsonl
is "simulated by another program" "$rc" 0
mixes() {
  python3 - "$1" "$2" <<'END'
import itertools, json, sys
mixed = [set(x["mixed"]) for x in map(json.loads, open(sys.argv[1])) if x["type"] == "sample" and x["name"].isdigit()]
kinds = ("cores", "disks", "links", "speeds")
first = mixed[:int(sys.argv[2])]
print(all(any(m == set(c) for m in first) for n in (1, 2) for c in itertools.combinations(kinds, n)), all(mixed), len(mixed))
END
}
is "each kind and each two are mixed in the first 11" "$(mixes one.jsonl 11)" "True True 15"
platforms_of() { sed -n 's/.*"name": "'"$2"'", "platform": "\([^"]*\)".*/\1/p' "$1"; }
platforms --only 13,named-links -j again.jsonl
is "one is repeated" "$(platforms_of again.jsonl 13)" "$(platforms_of one.jsonl 13)"
ok "it is a platform" test -n "$(platforms_of again.jsonl 13)"
is "a named one is repeated" "$(platforms_of again.jsonl named-links)" "$(platforms_of one.jsonl named-links)"
platforms --seed 2 --only 13 -j other.jsonl
ok "another seed makes another platform" test "$(platforms_of other.jsonl 13)" != "$(platforms_of one.jsonl 13)"
platforms --count 6 --kinds none -j none.jsonl
is "no kind is mixed" "$(grep -c '"mixed": \[\]' none.jsonl)" 6
platforms --count 3 --kinds links,disks -j two.jsonl
is "two kinds: both, then each" "$(sed -n 's/.*"name": "[0-9]*".*"mixed": \[\([^]]*\)\].*/\1/p' two.jsonl)" '"disks", "links"
"links"
"disks"'

: >"$OPTIONS"
platforms -j given.jsonl "1 GB: 1 x speed 1 cores 6 net 10G disk 666M/s; 2 x speed 0.5 cores 3 net 1G" "2 GB: 2 x speed 0.5" "0.5 GB: 2 x"
is "options of given rates" "$(sort "$OPTIONS" | head -n 3)" "--disks=1e+06,1e+06
--disks=1e+06,1e+06
--disks=666,1e+06,1e+06"
ok "with the speed of all cores" grep -qx -e '--speeds=1.5,0.375,0.375' "$OPTIONS"
ok "and links in MB/s" grep -qx -e '--links=1250,125,125' "$OPTIONS"
row() { tr -s ' ' <<<"$out" | grep "^$1 "; }
is "default/equal: mean, quantiles, number above, the worst" "$(row default/equal)" \
  "default/equal 1.174 0.900 0.900 0.900 0.900 1.450 1.890 2.000 1 given-0"
is "default/best" "$(row default/best)" "default/best 2.349 1.800 1.800 1.800 1.800 2.900 3.780 4.000 3 given-0"
is "given predicted: 4 s of 5 s" "$(row 'given predicted')" "given predicted 0.800 0.800 0.800 0.800 0.800 0.800 0.800 0.800 0 given-0"
is "rows of platforms" "$(tr -s ' ' <<<"$out" | grep -c '10.00 9.00 5.00 0.90 1.80$')" 2
measured=$out
platforms --from given.jsonl
is "the same tables from the samples" "$rc/$out" "0/$measured"
if can_draw; then
  platforms --from one.jsonl --plot drawn
  is "a plot from the samples" "$rc/$(grep -o -E '>[^<]*(random|is better|\(ideal\))[^<]*<' drawn.svg | paste -sd' ')" \
    "0/>times as long; lower is better< >times as long; lower is better< >as long as with the best way (ideal)< >15 random simulated clusters<"
fi
platforms --from nowhere
is "no such samples" "$rc/$err" "1/platforms: cannot read 'nowhere': No such file or directory"
sed 's/"seconds"/"other"/' given.jsonl >without.jsonl
platforms --from without.jsonl
is "other samples" "$rc/$err" "1/platforms: not written by platforms: 'without.jsonl'"
platforms "1 GB: 2 x cores 7 disk 1G/s" "1 GB: 2 x cores 8"
is "a failure sets the exit status" "$rc" 1
ok "with the reason" grep -q '1 GB: 2 x cores 7 disk 1G/s: .*: not today' <<<"$err"
ok "the others are sorted" grep -q '1 GB: 2 x cores 8  *10.00' <<<"$out"
platforms "1 GB: 0 x speed 1"
ok "no hosts" grep -q "not a platform: '1 GB: 0 x speed 1'" <<<"$err"
platforms "2 x speed 1"
is "no platform: status" "$rc" 1
ok "with an example" grep -q "not a platform: '2 x speed 1'" <<<"$err"
platforms --kinds colours
is "an unknown kind is refused" "$rc" 2
done_testing
