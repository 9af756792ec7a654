# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/overhead on a small input: what it measures, ratios of the same round, and that a wrong output does not pass.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
overhead=$ROOT/bench/overhead
mkdir -p work programs/bench
for p in gensort valsort bench/build.json; do ln -s "$BIN/$p" "programs/$p"; done

run "$overhead" --records 20000 --repeat 2 --dir work --json samples.jsonl -- --threads 1
is "a run succeeds" "$rc/$err" 0/
is "no files remain" "$(ls work)" ""
is "a row for each" "$(awk '/^(plain|--trace|--progress 1|all, with --report) / { n++ } END { print n }' <<<"$out")" 4
python3 - samples.jsonl <<'PY' >facts
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
samples = [x for x in lines if x["type"] == "sample"]
print([x["command"] for x in samples])
plain = {x["round"]: x for x in samples if x["command"] == "plain"}
for s in (x for x in lines if x["type"] == "summary"):
    mine = [x for x in samples if x["command"] == s["command"]]
    ratios = sorted(x["seconds"] / plain[x["round"]]["seconds"] for x in mine)
    print(s["command"], [s["to_plain"][k] for k in ("min", "max")] == ratios, s["seconds"]["samples"])
PY
is "each round begins with another one; ratios are to the plain sort of the round" "$(cat facts)" \
"['plain', '--trace', '--progress 1', 'all, with --report', '--trace', '--progress 1', 'all, with --report', 'plain']
plain True 2
--trace True 2
--progress 1 True 2
all, with --report True 2"

# A hetsort that loses a record where it writes a trace.
cat >programs/hetsort <<SH
#!/usr/bin/env bash
"$BIN/hetsort" "\$@" || exit
case " \$* " in *" --trace "*) ;; *) exit 0 ;; esac
while [ "\$1" != -o ]; do shift; done
truncate -s -100 "\$2"
SH
chmod +x programs/hetsort
run env BIN="$PWD/programs" "$overhead" --records 1000 --repeat 1 --dir work
is "a wrong output ends it" "$rc" 1
is "it says which" "$(grep -c "^overhead: --trace" <<<"$err")" 1
is "no files remain at the end" "$(ls work)" ""
run "$overhead" --records 0
is "no records are refused" "$rc" 2
done_testing
