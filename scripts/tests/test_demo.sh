# shellcheck shell=bash disable=SC2016,SC2317  # planted scripts; functions called through ok
# SPDX-License-Identifier: GPL-3.0-or-later
# scripts/demo with planted programs: every way to fail must end it, and it leaves no files.
# With the real programs, where they are built: a small demo from start to end.
. "$ROOT/scripts/tap.sh"

stub() { cat >"$1" && chmod +x "$1"; }
mkdir bin work
stub bin/gensort <<<'#!/bin/sh
shift 2; echo "$1" >"$2"; echo "${SUM_IN:-abc123}" >&2; exit "${GEN_RC:-0}"'
# Equal shares take 2 s, others 1.5 s. With VARY, each sort takes a second longer than the one before.
stub bin/hetsort <<<'#!/bin/sh
total=1.5
while [ $# -gt 1 ]; do
  case $1 in --speeds) [ "$2" != 1,1,1,1 ] || total=2.0 ;; --report) report=$2 ;; --html) echo a page >"$2" ;; -o) out=$2 ;; esac
  shift
done
if [ -n "${VARY:-}" ]; then echo >>"$VARY"; total=$(wc -l <"$VARY").5; fi
printf "{\n  \"total_s\": %s,\n  \"phases_s\": {\n    \"read\": 0.75,\n    \"exchange\": 9,\n    \"merge\": 0.5\n  }\n}\n" $total >"$report"
cp "$1" "$out"; echo "the table"; echo "checksum 0123, input = output" >&2; exit "${SORT_RC:-0}"'
stub bin/valsort <<<'#!/bin/sh
echo "Records: ${COUNT_OUT:-$(cat "$2")}
Checksum: ${SUM_OUT:-abc123}
SUCCESS - all records are in order" >&2; exit "${VAL_RC:-0}"'

demo() { run "$ROOT/scripts/demo" --bin bin --dir work --no-mpi "$@"; }
last_line() { printf '%s' "${out##*$'\n'}"; }
fails() { # fails NAME WORDS - status 1, WORDS printed, no closing "ok", no files left
  is "$1" "$rc $(grep -c '^ok:' <<<"$out") $(ls work)" "1 0 "
  ok "$1: says so" grep -q -e "$2" <<<"$err"
}

demo --records 50
is "the demo ends well" "$rc" 0
ok "its last line says so" grep -q '^ok: 50 records sorted on 4 ranks' <<<"$(last_line)"
ok "the sorter's table is shown" grep -q -x 'the table' <<<"$out"
ok "equally fast threads are reported" grep -q 'Shares are unequal, speeds are not' <<<"$out"
is "one kind of checksum is shown, and whose it is" "$(grep -o -i "[a-z']* *checksum.* .*[0-9].*" <<<"${out%ok:*}" | sed 's/^ *//')" "\
gensort's checksum is abc123
Checksum: abc123
valsort's checksum is gensort's: abc123"
ok "nothing is compared then" grep -q 'omitted: the ranks are equally fast' <<<"$out"
page=$(sed -n 's/^how the sort went.*: //p' <<<"$out")
is "it says where the page is" "$(cat "$page")" "a page"
is "no other file is left" "$(ls work)" "${page##*/}"
rm "$page"

GEN_RC=1 demo --records 50;     fails "the generator fails" "gensort' failed, status 1"
SUM_IN='oops!' demo;            fails "no checksum" "no checksum: oops!"
SORT_RC=3 demo --records 50;    fails "the sorter fails" "hetsort' failed, status 3"
VAL_RC=1 demo --records 50;     fails "the validator fails" "valsort' failed, status 1"
SUM_OUT=abc124 demo --records 5; fails "another checksum" "was abc123 before, is 'abc124' after"
COUNT_OUT=49 demo --records 50; fails "a lost record" "50 records went in, '49' came out"
demo --records 99999999999999;  fails "no room" "records need .* MB, not free"

demo --records 50 --keep
is "--keep keeps" "$(cd work/* && echo i* o* p*)" "in out page.html"
rm -rf work/*
demo --records 0;      is "0 records are refused" "$rc" 2
demo --records 1e6;    is "1e6 is not a number here" "$rc" 2
demo --records;        is "a missing value is refused" "$rc" 2
demo --nonsense;       is "an unknown argument is refused" "$rc" 2
is "then nothing was made" "$(ls work)" ""

# In a tree of its own: what is installed and built, and ranks that a launcher starts. The launcher is
# a stub that starts the last of them.
mkdir -p tree/scripts stubs
cp "$ROOT"/scripts/{demo,mpirun,at-speed} tree/scripts/
cp -R bin tree/
stub tree/scripts/deps <<<'#!/bin/sh
echo "$*" >deps.log'
stub stubs/make <<'SH'
#!/bin/sh
case $1 in
  -n) printf '%s\n' 'mkdir -p x' "printf '  %-6s %s\n' CC a.c" "printf '  %-6s %s\n' LINK b" ;;
  *) printf '%s\n' '  CC     a.c' 'warning: words' '  LINK   b'; exit "${MAKE_RC:-0}" ;;
esac
SH
stub stubs/launcher <<<'#!/bin/sh
[ "$1" != --version ] || exit 0
shift 2
PMI_RANK=3 exec "$@"'
stub stubs/mpicc </dev/null
planted() { run env PATH="$PWD/stubs:$PATH" MPIRUN=launcher tree/scripts/demo --dir work --records 50 "$@"; }

planted
is "in a tree of its own it ends well" "$rc $(find work -mindepth 1 ! -name '*.html')" "0 "
is "it installs what building takes, nothing for tests" "$(cat tree/deps.log)" "build wanted"
is "how far the build is" "$(grep files <<<"$out" | head -n 1)" "    1 of 2 files"
if "$ROOT/scripts/at-speed" --how 1,0.5 >/dev/null; then
  ok "slowed ranks are named" grep -q '^ *rank 3: processor [0-9,]*, [0-9]* % of the time$' <<<"$out"
  ok "slowed ranks measure their speeds" grep -q '^    [$] .*/hetsort \(--threads 1 \)*--speeds auto --report' <<<"$out"
  shared=$("$ROOT/scripts/at-speed" --how 1,1,0.5,0.5 | grep -c 'processor [0-9]*, ')
  is "and have one thread, so that hetsort does not ask why they share a processor" \
    "$(grep -c 'hetsort --threads 1 ' <<<"$out")" "$((shared > 0))"
  ok "equal shares, up to five times" grep -qE '^    equal shares    ( 2.00){1,5} s; in the last round the ranks worked 1.25 s$' <<<"$out"
  ok "and planned ones" grep -qE '^    planned shares  ( 1.50){1,5} s;' <<<"$out"
  ok "and what they gain" grep -q 'planned shares take 75 % of the time of equal ones' <<<"$out"
  is "even times need no hint" "$(grep 'differ by more than a third' <<<"$out")" ""
  VARY=$PWD/vary planted
  ok "uneven times do" grep -q 'equal sorts differ by more than a third: other programs' <<<"$out"
  planted --speeds 1,1,1,1
  ok "a lack of gain is reported as well" grep -q 'planned shares gained nothing here (100 %' <<<"$out"
else
  ok "where ranks cannot be slowed it says so" grep -q 'the ranks cannot be slowed here' <<<"$out"
fi
rm -f work/*.html
MAKE_RC=2 planted
is "a build that fails ends it" "$rc $(grep -c "^demo: 'make' failed" <<<"$err") $(ls work)" "1 1 "

if [ -x "$BIN/gensort" ] && [ -x "$BIN/valsort" ] && [ -x "$BIN/hetsort" ]; then
  run "$ROOT/scripts/demo" --bin "$BIN" --dir work --no-mpi --records 20000
  is "the real programs, 20000 records" "$rc ${out:+$(last_line | cut -d' ' -f1-3)}" "0 ok: 20000 records"
  [ "$rc" -eq 0 ] || printf '# %s\n' "$out" "$err"
fi
done_testing
