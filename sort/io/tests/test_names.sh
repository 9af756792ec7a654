#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Names that would do harm if they were treated as more than data: control bytes, formats, directories, planted links.
# The modes that files get.
# shellcheck disable=SC2016,SC2317  # these names must not expand; ok calls functions
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 500 in && "$hetsort" -o expected in || exit 1

plain() { ! LC_ALL=C grep -q $'[\x01-\x09\x0b-\x1f\x7f]' <<<"$1" && [ "$(wc -l <<<"$1")" -le 2 ]; }
names=($'new\nline' $'esc\e[31mred' $'tab\tbell\a' '%s%n%p' '%%' "quo'te\"" 'back\slash' '-dash' ' ' $'\xff\xfe' '$(id)`id`;' "$(printf 'x%.0s' {1..255})")
for name in "${names[@]}"; do
  shown=$(printf %q "$name"); shown=${shown:0:30}
  run "$hetsort" --report "r.json" -o "./$name" -- in
  is "$shown: output" "$rc/$(cmp "./$name" expected)" 0/
  ok "$shown: the report is JSON of one name" grep -q '"status": "ok"' r.json
  run "$hetsort" -o "./$name" -- in
  is "$shown: refused, because it exists" "$rc" 2
  ok "$shown: printed without control bytes" plain "$err"
  mv -- "./$name" good; head -c 150 in >"./$name"
  run "$hetsort" --report r.json -o out -- "./$name"
  is "$shown: as an input" "$rc" 2
  ok "$shown: as an input, printed without control bytes" plain "$err"
  if command -v python3 >/dev/null; then
    ok "$shown: the report parses" python3 -m json.tool r.json /dev/null
  fi
  rm -f -- "./$name" good
done
run "$hetsort" --report r.json -o $'./\xc3\xa9' -- in
ok "UTF-8 is unchanged in reports" grep -q $'^ *"./\xc3\xa9",$' r.json
run "$hetsort" --report r.json -o $'./\xff\xfe' -- in
ok "other bytes are escaped in reports" grep -q -F '"./\\377\\376"' r.json
mkdir parts
run "$hetsort" --ranks 2 -o $'parts/\xff.%r' in
is "a name that no manifest can contain is refused" "$rc/$(ls parts)" 2/
ok "a name that no manifest can contain: message" grep -q 'not valid UTF-8' <<<"$err"
rmdir parts; rm -f $'\xc3\xa9' $'\xff\xfe'
run "$hetsort" -o "$(printf 'x%.0s' {1..256})" in
is "a name too long: exit code" "$rc" 2
run "$hetsort" --ranks 2 -o 'p%%q.%r' in
is "a percent sign next to %r" "$rc/$(cat p%q.0 p%q.1 | cmp - expected)" 0/
mkdir -p sub/deep
run "$hetsort" -o sub/deep/../../up in
is "through .." "$rc/$(cmp up expected)" 0/

# planted links: neither followed nor replaced
mkdir victim && echo precious >victim/file
ln -s "$PWD/victim/file" link
for force in "" --force; do
  # shellcheck disable=SC2086
  run "$hetsort" $force -o link in
  is "link at the output, '$force'" "$rc/$(cat victim/file)" 2/precious
  # shellcheck disable=SC2086
  run "$hetsort" $force --report link -o out in
  is "link at the report, '$force'" "$rc/$(cat victim/file)$(ls out 2>/dev/null)" 2/precious
done
ln -s "$PWD/victim/file" out.manifest
run "$hetsort" --ranks 2 --force -o out.%r in
is "link at the manifest" "$rc/$(cat victim/file)" 2/precious
# the name of a lock is known in advance: a killed job leaves it
HETSORT_FAIL=kill@read:0 run "$BIN/failpoints/hetsort" -o probe in
lock=$(echo .hetsort-*.lock)
ok "a lock names its own job" grep -q "^hetsort lock: process [0-9]* on" "$lock"
rm "$lock"
for plant in "ln -s victim/file" "ln -s nowhere" "ln victim/file" mkfifo mkdir; do
  $plant "$lock"
  run timeout 20 "$hetsort" -o probe in
  is "planted under the name of the lock, $plant" "$rc/$(cat victim/file)$([ -e nowhere ] && echo made)" 2/precious
  ok "planted under the name of the lock, $plant: message" grep -q "cannot lock output 'probe'" <<<"$err"
  rm -rf "$lock" probe
done
for text in "hetsort lock: process 1 on nowhere\n" ""; do
  # shellcheck disable=SC2059  # it has a newline or is empty
  printf "$text" >"$lock"
  run "$hetsort" -o probe in
  is "a lock that was left is ignored: '$text'" "$rc/$(find . -name '.hetsort-*')" 0/
  rm -f probe
done
echo precious >"$lock"
run "$hetsort" -o probe in
is "a file with the name of a lock stays" "$rc/$(cat "$lock")/$(ls probe 2>/dev/null)" 2/precious/
ok "a file with the name of a lock: message" \
  grep -q "cannot lock output 'probe': '$lock' next to it is not a lock of this version of hetsort: give it another name" <<<"$err"
rm "$lock"
if [ "${SANITIZER:-coverage}" = coverage ]; then
  for errnum in EIO ESTALE; do
    HETSORT_SHIM=flock:1+=$errnum LD_PRELOAD=$OBJ/shim.so run "$hetsort" -o probe in
    is "a lock that fails, $errnum: exit code, left over" "$rc/$(find . -name '.hetsort-*' -o -name probe)" 2/
    ok "a lock that fails, $errnum: the reason" \
      grep -q "cannot lock output 'probe': \(Input/output error\|Stale file handle\)" <<<"$err"
  done
  HETSORT_SHIM=flock:1+=EOPNOTSUPP LD_PRELOAD=$OBJ/shim.so run "$hetsort" -o probe in
  is "a file system without locks" "$rc/$(cmp probe expected)/$(find . -name '.hetsort-*')" 0//
  rm -f probe
fi

chmod 666 in
for mask in 022 027 077 000; do
  (umask $mask && "$hetsort" --ranks 2 --report mode.json -o mode.%r in)
  wanted=$(printf %o $((0666 & ~0$mask)))
  is "umask $mask" "$(stat -c %a mode.0 mode.manifest mode.json | sort -u)" "$wanted"
  rm -f mode.*
done

# permissions: of the replaced file, otherwise those that all inputs have, otherwise by the umask
mode_of() { stat -c %a "$@" | paste -sd' '; }
rm -f out.manifest
chmod 644 in
(umask 022; cp in private; cp in shared; cp in fixed; "$BIN/gensort" --no-fsync -b900 500 more)
chmod 600 private; chmod 640 shared; chmod 444 fixed; chmod 604 more
umask 022
for ranks in 1 3; do
  for case in "600 private" "640 shared" "644 in" "644 fixed" "600 shared more"; do
    # shellcheck disable=SC2086  # mode and inputs
    set -- $case
    wanted=$1; shift
    run "$hetsort" --no-fsync --ranks $ranks -o out "$@"
    is "inputs $*, $ranks ranks" "$rc/$(mode_of out)" "0/$wanted"
    rm -f out
  done
done
run "$hetsort" --no-fsync --ranks 3 -o out.%r private
is "parts and manifest of a private input" "$rc/$(mode_of out.0 out.1 out.2 out.manifest)" "0/600 600 600 600"
rm out.*
cp private own.0; cp in own.1; chmod 644 own.1
run "$hetsort" --no-fsync --ranks 2 -o out own.%r
is "inputs of ranks: the fewest permissions" "$rc/$(mode_of out)" 0/600
rm out
run "$hetsort" --no-fsync -o out - <private
is "standard input: by the umask" "$rc/$(mode_of out)" 0/644
for mode in 600 666 444 700; do
  chmod $mode out
  run "$hetsort" --no-fsync -f --ranks 2 -o out in
  is "-f over mode $mode" "$rc/$(mode_of out)" "0/$mode"
  : >report; chmod $mode report
  run "$hetsort" --no-fsync -f --report report -o out in
  is "a report over mode $mode" "$rc/$(mode_of report)" "0/$mode"
done
rm -f out
run "$hetsort" --no-fsync --ranks 2 -o out.%r in
chmod 640 out.1 out.manifest
run "$hetsort" --no-fsync -f --ranks 2 -o out.%r private
is "-f over parts and manifest" "$rc/$(mode_of out.0 out.1 out.manifest)" "0/644 640 640"
# Root of a user namespace has only the groups that are mapped.
if [ "$(id -u)" -eq 0 ] && chgrp 12345 out.0 2>/dev/null; then
  chmod 660 out.0
  run "$hetsort" --no-fsync -f --ranks 2 -o out.%r in
  is "-f over a file of another group: it is kept" "$rc/$(stat -c '%a %g' out.0)" "0/660 12345"
  chmod 644 out.manifest && chmod 777 . && install -m 755 "$hetsort" hetsort # a file that cannot be read is not replaced
  if command -v setpriv >/dev/null; then
    run setpriv --reuid=65534 --regid=65534 --clear-groups ./hetsort --no-fsync -f --ranks 2 -o out.%r in
    is "-f over a file of another user's group: other groups get no permissions" "$rc/$(stat -c '%a %g' out.0)" "0/600 65534"
  fi
fi
is "no temporary file is left" "$(find . -name '.hetsort-*')" ""
done_testing
