# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# bench/minute with small limits: its search, its report, and that a wrong output is a failure.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
minute=$ROOT/bench/minute
mkdir work

run python3 "$ROOT/bench/tests/search_points.py"
is "all points of the search are good" "$rc/$(grep -c '^not ok' <<<"$out")" 0/0
[ "$rc" -eq 0 ] || grep -v '^ok' <<<"$out"

facts() { # facts JSON - of each result: what must hold whatever the speed of this machine
  python3 - "$1" <<'PY'
import json, sys
lines = [json.loads(x) for x in open(sys.argv[1])]
for r in (x for x in lines if x["type"] == "result"):
    runs = [x for x in lines if x["type"] == "sample" and x["command"] == r["category"] + ", result"
            and x["records"] == r["records"]]
    print(r["category"], r["limited"], r["verdict"], r["bytes"] == 100 * r["records"],
          len(runs) == r["seconds"]["samples"], r["seconds"]["median"] <= lines[0]["seconds"],
          sum(n["out"] for n in r["nodes"]) == r["records"], all(x["cache"] for x in runs),
          all(x["bytes"] * 2 <= lines[0]["limit_bytes"] for x in lines if x["type"] == "sample"))
PY
}
all=True\ True\ True\ True\ True\ True
ordered='SUCCESS - all records are in order'
shm=work
[ ! -w /dev/shm ] || shm=/dev/shm
run "$minute" --seconds 600 --limit-bytes 1000000 --first 700 --repeat 2 --dir "$shm" --json limited.jsonl
is "the limit of the disk is the answer where there is time for more" "$rc/$(facts limited.jsonl)" \
  "0/indy True $ordered $all
daytona True $ordered $all"
is "5000 records of both kinds" "$(grep -c ': 5000 records, 0.001 GB' <<<"$out")" 2
sum=$(sed -n 's/^checksum \([0-9a-f]*\), .*/\1/p' <<<"$out" | paste -sd' ')
is "with the checksums that gensort makes of them" "$sum" \
  "$("$BIN/gensort" -c 5000 /dev/null 2>&1) $("$BIN/gensort" -sc 5000 /dev/null 2>&1)"
"$BIN/gensort" -s 5000 data; "$BIN/hetsort" -o sorted data
is "and the duplicate keys that valsort finds" "$(sed -n 's/.*duplicate keys \([0-9]*\),.*/\1/p' <<<"$out" | tail -n 1)" \
  "$("$BIN/valsort" sorted 2>&1 | sed -n 's/^Duplicate keys: //p')"

cat >wrong <<'SH'
#!/usr/bin/env bash
"$BIN/hetsort" "$@" || exit
while [ "$1" != -o ]; do shift; done
truncate -s -100 "$2"
SH
cat >small <<'SH'
#!/usr/bin/env bash
for last in "$@"; do :; done
[ "$(stat -c %s "$last")" -le 100000 ] || exit 4
exec "$BIN/hetsort" "$@"
SH
chmod +x wrong small
run "$minute" --seconds 60 --limit-bytes 100000 --first 100 --dir "$shm" --json wrong.jsonl -- "$PWD/wrong"
is "a wrong output is a failure" "$rc/$(grep -c '^minute: hetsort: the output has 99 records, the input 100' <<<"$err")" 1/1
ok "and leaves no file of results" test ! -e wrong.jsonl
run "$minute" --seconds 600 --limit-bytes 1000000 --first 100 --category indy --repeat 1 --tolerance 0.001 \
  --dir "$shm" --json small.jsonl -- "$PWD/small"
is "memory is the answer where it is short" "$rc/$(grep -c '^indy: 1000 records' <<<"$out")/$(facts small.jsonl)" \
  "0/1/indy False $ordered $all"
run "$minute" --seconds 0.000001 --limit-bytes 100000 --first 2 --category indy --dir "$shm"
is "no time, no result" "$rc/$(grep '^minute' <<<"$err")" "1/minute: indy: not one record in 1e-06 s"
for bad in '--seconds 0' '--category other' '--repeat 0' '--tolerance 1'; do
  # shellcheck disable=SC2086  # words
  run "$minute" $bad
  is "usage: $bad" "$rc" 2
done
done_testing
