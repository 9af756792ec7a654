# shellcheck shell=bash disable=SC2016,SC2317  # planted scripts; functions called through ok
# scripts/demo with planted programs: every way to fail must end it, and it leaves nothing behind.
# With the real programs, where they are built: a small demo from start to end.
. "$ROOT/scripts/tap.sh"

stub() { cat >"$1" && chmod +x "$1"; }
mkdir bin work
stub bin/gensort <<<'#!/bin/sh
shift 2; echo "$1" >"$2"; echo "${SUM_IN:-abc123}" >&2; exit "${GEN_RC:-0}"'
stub bin/hetsort <<<'#!/bin/sh
for last; do :; done
while [ "$1" != -o ]; do shift; done
cp "$last" "$2"; echo "the table"; exit "${SORT_RC:-0}"'
stub bin/valsort <<<'#!/bin/sh
echo "Records: ${COUNT_OUT:-$(cat "$2")}
Checksum: ${SUM_OUT:-abc123}
SUCCESS - all records are in order" >&2; exit "${VAL_RC:-0}"'

demo() { run "$ROOT/scripts/demo" --bin bin --dir work --no-mpi "$@"; }
last_line() { printf '%s' "${out##*$'\n'}"; }
fails() { # fails NAME WORDS - status 1, WORDS told, no closing "ok", nothing left
  is "$1" "$rc $(grep -c '^ok:' <<<"$out") $(ls work)" "1 0 "
  ok "$1: says so" grep -q -e "$2" <<<"$err"
}

demo --records 50
is "the demo ends well" "$rc" 0
ok "its last line tells it" grep -q '^ok: 50 records sorted on 4 ranks' <<<"$(last_line)"
ok "the sorter's table is shown" grep -q -x 'the table' <<<"$out"
is "nothing is left behind" "$(ls work)" ""

GEN_RC=1 demo --records 50;     fails "the generator fails" "gensort' failed, status 1"
SUM_IN='oops!' demo;            fails "no checksum" "no checksum: oops!"
SORT_RC=3 demo --records 50;    fails "the sorter fails" "hetsort' failed, status 3"
VAL_RC=1 demo --records 50;     fails "the validator fails" "valsort' failed, status 1"
SUM_OUT=abc124 demo --records 5; fails "another checksum" "was abc123 before, is 'abc124' after"
COUNT_OUT=49 demo --records 50; fails "a lost record" "50 records went in, '49' came out"
demo --records 99999999999999;  fails "no room" "records need .* MB, not free"

demo --records 50 --keep
is "--keep keeps" "$(cd work/* && echo i* o*)" "in out"
rm -rf work/*
demo --records 0;      is "0 records are refused" "$rc" 2
demo --records 1e6;    is "1e6 is no number here" "$rc" 2
demo --records;        is "a missing value is refused" "$rc" 2
demo --nonsense;       is "an unknown argument is refused" "$rc" 2
is "then nothing was made" "$(ls work)" ""

if [ -x "$BIN/gensort" ] && [ -x "$BIN/valsort" ] && [ -x "$BIN/hetsort" ]; then
  run "$ROOT/scripts/demo" --bin "$BIN" --dir work --no-mpi --records 20000
  is "the real programs, 20000 records" "$rc ${out:+$(last_line | cut -d' ' -f1-3)}" "0 ok: 20000 records"
  [ "$rc" -eq 0 ] || printf '# %s\n' "$out" "$err"
fi
done_testing
