#!/usr/bin/env bash
# Names that would do harm if they were taken for anything else: control bytes, formats, folders,
# links that somebody has planted; and the modes that files get.
# shellcheck disable=SC2016,SC2317  # nothing in these names is to expand; functions go through ok
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
  is "$shown: refused, as it exists" "$rc" 2
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
ok "UTF-8 comes as it is in reports" grep -q $'^ *"./\xc3\xa9",$' r.json
run "$hetsort" --report r.json -o $'./\xff\xfe' -- in
ok "other bytes with escapes" grep -q -F '"./\\377\\376"' r.json
mkdir parts
run "$hetsort" --ranks 2 -o $'parts/\xff.%r' in
is "a name that no manifest can tell is refused" "$rc/$(ls parts)" 2/
ok "and why" grep -q 'no UTF-8' <<<"$err"
rmdir parts; rm -f $'\xc3\xa9' $'\xff\xfe'
run "$hetsort" -o "$(printf 'x%.0s' {1..256})" in
is "a name too long: exit code" "$rc" 2
run "$hetsort" --ranks 2 -o 'p%%q.%r' in
is "a percent sign beside %r" "$rc/$(cat p%q.0 p%q.1 | cmp - expected)" 0/
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
# a lock's name can be known before: a job that was killed leaves it
HETSORT_FAIL=kill@read:0 run "$BIN/failpoints/hetsort" -o probe in
lock=$(echo .hetsort-*.lock)
ok "what a lock says is of its own job" grep -q "^process [0-9]* on" "$lock"
rm "$lock"
for plant in "ln -s victim/file" "ln -s nowhere" "ln victim/file" mkfifo mkdir; do
  $plant "$lock"
  run timeout 20 "$hetsort" -o probe in
  is "planted where the lock goes, $plant" "$rc/$(cat victim/file)$([ -e nowhere ] && echo made)" 2/precious
  ok "planted where the lock goes, $plant: refused as such" grep -q "cannot lock output 'probe'" <<<"$err"
  rm -rf "$lock" probe
done
echo "process 1 on nowhere" >"$lock"
run "$hetsort" -o probe in
is "a lock that was left is no lock" "$rc/$(find . -name '.hetsort-*')" 0/
rm probe
if [ "${SANITIZER:-coverage}" = coverage ]; then
  "${CC:-cc}" -D_GNU_SOURCE -O1 -shared -fPIC -o shim.so "$ROOT/scripts/shim.c" -ldl || exit 1
  for errnum in 5 116; do
    SHIM=flock=$errnum LD_PRELOAD=$PWD/shim.so run "$hetsort" -o probe in
    is "a lock that fails, errno $errnum: exit code, left over" "$rc/$(find . -name '.hetsort-*' -o -name probe)" 2/
    ok "a lock that fails, errno $errnum: the reason" \
      grep -q "cannot lock output 'probe': \(Input/output error\|Stale file handle\)" <<<"$err"
  done
  SHIM=flock=95 LD_PRELOAD=$PWD/shim.so run "$hetsort" -o probe in
  is "a file system without locks" "$rc/$(cmp probe expected)/$(find . -name '.hetsort-*')" 0//
  rm -f probe shim.so
fi

for mask in 022 027 077 000; do
  (umask $mask && "$hetsort" --ranks 2 --report mode.json -o mode.%r in)
  wanted=$(printf %o $((0666 & ~0$mask)))
  is "umask $mask" "$(stat -c %a mode.0 mode.manifest mode.json | sort -u)" "$wanted"
  rm -f mode.*
done
is "nothing temporary" "$(find . -name '.hetsort-*')" ""
done_testing
