# shellcheck shell=bash disable=SC2317  # functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/formats on small files: each format whose tools are installed has its rows, and a wrong output is a failure.
. "$ROOT/scripts/tap.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
python_with numpy >/dev/null || skip_all "no python3 with numpy"
formats=$ROOT/bench/formats
mkdir work programs

run "$formats" --mb 0.1 --repeat 1 --dir work --warm
is "a run succeeds" "$rc/$err" 0/
is "no files remain" "$(ls work)" ""
is "three rows or a reason for each format" \
  "$(grep -c -E '^\| [^|]* MB \| [^|]+ \| [0-9.]+ \([0-9.]+ to [0-9.]+\) \| [0-9.]+ \| [0-9]+ \| [0-9]+ \|$' <<<"$out")" \
  $((3 * (9 - $(grep -c ': omitted, because .* is not installed$' <<<"$out"))))
run "$formats" --mb 0.1 --repeat 2 --dir work --warm --format npy --json formats.jsonl
python3 - formats.jsonl <<'PY' >facts
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
s = [x for x in lines if x["type"] == "sample" and x["command"].startswith("npy, ")]
print([(x["command"], x["round"]) for x in s])
print(all(x["records"] == 7692 and x["bytes"] > 13 * 7692 and x["seconds"] > 0 and x["peak_rss_bytes"] > 0 for x in s))
print([x["seconds"]["samples"] for x in lines if x["type"] == "summary" and x["command"].startswith("npy, ")])
PY
is "rounds begin with different commands" "$(cat facts)" "[('npy, hetsort', 0), ('npy, hetsort --memory=64M', 0), ('npy, numpy', 0), \
('npy, hetsort --memory=64M', 1), ('npy, numpy', 1), ('npy, hetsort', 1)]
True
[2, 2, 2]"

run "$formats" --mb 20 --memory 12M --repeat 1 --dir work --warm --format npy
is "more than memory" "$rc/$(grep -c -E '^\| npy.* --memory=12M .* \| 20 \|$' <<<"$out")" 0/1

# A hetsort that does as $STUB says, after sorting.
cat >programs/hetsort <<SH
#!/usr/bin/env bash
"$BIN/hetsort" "\$@" || exit
while [ \$# -gt 1 ] && [ "\$1" != -o ]; do shift; done
case \$STUB in
  changed) printf x | dd of="\$2" bs=1 seek=5000 conv=notrunc status=none ;;
  unsorted) cp "\$3" "\$2" ;;
esac
SH
chmod +x programs/hetsort
for stub in changed unsorted; do
  BIN=$PWD/programs STUB=$stub run "$formats" --mb 0.1 --repeat 1 --dir work --warm --format npy
  is "$stub: a wrong output" "$rc/$err/$(ls work)" "1/formats: npy: 'hetsort' and numpy do not have the same records/"
done
for bad in '--mb 0' '--mb 501' '--repeat 0' '--format other'; do
  # shellcheck disable=SC2086  # words
  run "$formats" $bad
  is "usage: $bad" "$rc" 2
done
done_testing
