# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/memory on a small input: what it measures, and that neither a wrong output passes nor one that
# took more memory than was promised.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers want memory beyond all limits"
memory=$ROOT/bench/memory
mkdir -p work programs/bench
for p in gensort valsort bench/build.json; do ln -s "$BIN/$p" "programs/$p"; done

run "$memory" --records 600000 --memory 56M,1G --repeat 2 --dir work --warm --json memory.jsonl
is "a run succeeds" "$rc/$(grep -v '^  round' <<<"$err")" 0/
is "no files remain" "$(ls work)" ""
grouped=$(awk '/^56M /{print $NF}' <<<"$out")
python3 - memory.jsonl "$grouped" <<'PY' >facts
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
s = [x for x in lines if x["type"] == "sample"]
sorts = [x for x in s if x["command"].startswith("--memory")]
print(sorted((x["command"], x["round"]) for x in s) ==
      sorted((f"{c}{m}", r) for c in ("cp + fsync, before ", "--memory ") for m in ("56M", "1G") for r in (0, 1)))
copies = {(x["command"].split()[-1], x["round"]): x["seconds"] for x in s if x not in sorts}
print(all(x["to_cp"] == x["seconds"] / copies[x["command"].split()[-1], x["round"]] for x in sorts))
print([x["command"] for x in sorts])
print(all(x["rss_bytes"] <= x["limit_bytes"] and x["rss_bytes"] == x["rss_to_limit"] * x["limit_bytes"]
          and x["arrays_bytes"] > 0 for x in sorts))
print(all((x["runs"] > 1) == (x["command"] == "--memory 56M") for x in sorts))
print(all((x["group_peak_bytes"] is not None) == (sys.argv[2] == "yes") for x in sorts))
print([x["command"] for x in lines if x["type"] == "summary" and x["seconds"]["samples"] == 2])
PY
is "samples, ratios, order of rounds, memory, runs, groups and summaries are recorded" "$(cat facts)" "True
True
['--memory 56M', '--memory 1G', '--memory 1G', '--memory 56M']
True
True
True
['--memory 56M', '--memory 1G']"

# A hetsort that does as $STUB says, after sorting.
cat >programs/hetsort <<SH
#!/usr/bin/env bash
"$BIN/hetsort" "\$@" || exit
while [ \$# -gt 1 ] && [ "\$1" != -o ]; do shift; done
case \$STUB in
  changed) printf x | dd of="\$2" bs=1 seek=50 conv=notrunc status=none ;;
  greedy) head -c 300M /dev/zero | tail -c 300M >/dev/null ;;
esac
SH
chmod +x programs/hetsort
stub() { # stub WHAT
  BIN=$PWD/programs STUB=$1 run "$memory" --records 2000 --memory 64M --repeat 1 --dir work --warm
}
stub none
is "a good one passes" "$rc" 0
stub changed
is "a wrong output" "$rc/$(grep -c '^memory: --memory 64M: the output has other records' <<<"$err")" 1/1
if [ "$grouped" = yes ]; then
  stub greedy
  is "more memory than promised" "$rc/$(grep -c '^memory: ' <<<"$err")" 1/1
fi
is "those jobs leave no files" "$(ls work)$(ls -d /sys/fs/cgroup{,/memory}/hetsort-bench.* 2>/dev/null)" ""
for bad in '--records 0' '--memory 1X' '--memory G' '--margin-mb -1'; do
  # shellcheck disable=SC2086  # words
  run "$memory" $bad
  is "usage: $bad" "$rc" 2
done
run "$memory" --records 100000000000000 --dir work
is "no room" "$rc/$(grep -c '^memory: no room for three files' <<<"$err")" 1/1
done_testing
