#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The order of syncs and renames, and resources that are exhausted: checks the exit code, the reason in the message, and
# that no final name and no temporary file exists.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "sanitizers need memory beyond all limits"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 20000 in && "$hetsort" -o expected in || exit 1
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }

limited() { # limited NAME CODE WORDS COMMAND... - under a limit
  local name=$1 code=$2 words=$3; shift 3
  run timeout 60 "$@"
  is "$name: exit code, left over" "$rc/$(left_over)" "$code/"
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}

# --- files are synced before they get names, and parts get names before the manifest
if strace -f -o trace -y -e trace=fsync,renameat,renameat2 "$hetsort" --ranks 1 -o out.%r in 2>/dev/null; then
  order=$(sed -n 's/.* fsync(.*\.tmp>).*= 0$/file/p; s/.* fsync(.*= 0$/dir/p; s/.* rename.*\.commit"\(, [A-Z_]*\)\?) .*= 0$/journal/p; s/.* rename.*"\(out\.[^"]*\)".*= 0$/\1/p' trace)
  is "part and manifest synced, the journal, named, the directory synced each time" "$(paste -sd' ' <<<"$order")" \
    "file file dir journal dir out.0 dir out.manifest dir"
else
  echo "# no strace here, or not allowed"
fi
rm -f out.* trace

# --- limits of the process
limited "descriptors" 4 "Too many open files" sh -c 'ulimit -n 5 && exec "$0" -o out in' "$hetsort"
limited "descriptors, three ranks" 4 "Too many open files" sh -c 'ulimit -n 8 && exec "$0" --ranks 3 -o out.%r in' "$hetsort"
limited "size of files" 4 "File too large" sh -c 'ulimit -f 16 && exec "$0" -o out in' "$hetsort"
limited "size of files, one per rank" 4 "File too large" sh -c 'ulimit -f 16 && exec "$0" --ranks 3 -o out.%r in' "$hetsort"
for kib in 40000 60000 90000 140000; do
  for ranks in 1 3; do
    run timeout 60 sh -c 'ulimit -v "$1" && exec "$0" --memory 1G --ranks "$2" -o out in' "$hetsort" $kib $ranks
    case $rc in
      0) is "address space of $kib kB, $ranks ranks" "$(cmp out expected)" ""; rm -f out ;;
      *) is "address space of $kib kB, $ranks ranks" "$rc/$(left_over)" 4/ ;;
    esac
  done
done

# --- file systems that fill up
own_mounts="unshare -rm"
if [ "$(id -u)" -eq 0 ]; then own_mounts="unshare -m"; fi
mkdir small
in_small='mount -t tmpfs -o size="$1" none small || exit 77; shift; "$@"; rc=$?; ls -A small; exit $rc'
fills() { # fills NAME SIZE CODE WORDS COMMAND... - with a file system of SIZE at small/
  local name=$1 size=$2 code=$3 words=$4; shift 4
  # shellcheck disable=SC2086  # two words
  run timeout 60 $own_mounts sh -c "$in_small" sh "$size" "$@"
  if [ "$rc" -eq 77 ] || [ "$rc" -eq 1 ]; then echo "# cannot mount: $name is not tested"; return; fi
  is "$name: exit code" "$rc" "$code"
  is "$name: no file is left" "$out$(left_over)" ""
  case $err in *"$words"*) ok "$name: message" true ;; *) is "$name: message" "$err" "...$words..." ;; esac
}
fills "output" 1M 4 "No space left on device" "$hetsort" -o small/out in
fills "outputs of ranks" 1M 4 "No space left on device" "$hetsort" --ranks 3 -o small/out.%r in
fills "not a page for the lock" 4k 4 "No space left on device" "$hetsort" -o small/out in
# full to the page, when all parts are written
"$BIN/gensort" --no-fsync -b50000 1000 few || exit 1
# shellcheck disable=SC2086  # two words
run timeout 60 $own_mounts sh -c 'mount -t tmpfs -o size=2M none small || exit 77
  "$0" --ranks 2 -o small/out.%r few && cp -a small before || exit 1
  HETSORT_SHIM=fsync=hang HETSORT_SHIM_FILE=$PWD/hanging LD_PRELOAD=$OBJ/shim.so "$0" --force --ranks 2 --key 10,10 -o small/out.%r few & pid=$!
  until [ -e hanging ] || [ ! -d /proc/$pid ]; do sleep 0.02; done
  cat /dev/zero >small/fill 2>/dev/null
  rm hanging; wait $pid; rc=$?
  rm small/fill; diff -r before small; ls -A small | paste -sd" "; exit $rc' "$hetsort"
if [ "$rc" -eq 77 ] || grep -q '^unshare: ' <<<"$err"; then echo "# cannot mount: not a page for the manifest is not tested"; else
  is "not a page for the manifest: exit code, the old set" "$rc/$out" "4/out.0 out.1 out.manifest"
  ok "not a page for the manifest: message" grep -q "cannot write 'small/out.manifest': No space left on device" <<<"$err"
fi
rm -rf before few
"$BIN/gensort" --no-fsync 700000 large || exit 1
fills "runs" 20M 4 "has 20 MiB free, but runs need" "$hetsort" --memory 64M --tmpdir small -o out large
fills "runs of several ranks" 20M 4 "has 20 MiB free, but runs need" "$hetsort" --memory 64M --ranks 2 --tmpdir small -o out large
fills "runs of standard input" 20M 4 "--tmpdir" sh -c '"$0" --memory 64M --tmpdir small -o out - <large' "$hetsort"
fills "runs of standard input, filled by another" 48M 4 "No space left on device" sh -c '
  { head -c 30000000 large; head -c 43000000 /dev/zero >small/other; tail -c +30000001 large; } |
  "$0" --memory 64M --tmpdir small -o out -; rc=$?; rm small/other; exit $rc' "$hetsort"
# --- a full directory is no longer used if there are several for runs
"$hetsort" -o sorted large || exit 1
# shellcheck disable=SC2016  # the inner shell expands
in_two='mount -t tmpfs none small && mkdir small/a small/b && mount -t tmpfs -o size="$1" none small/a &&
  mount -t tmpfs -o size="$2" none small/b || exit 77
  shift 2; "$@"; rc=$?; ls -A small/a small/b; exit $rc'
two() { # two SIZE SIZE ARGUMENT... - a sort with file systems of these sizes for its runs; sets rc, out, err
  # shellcheck disable=SC2086  # two words
  run timeout 60 $own_mounts sh -c "$in_two" sh "$1" "$2" "$hetsort" --tmpdir small/a --tmpdir small/b --report report -v -o out "${@:3}"
}
two 1M 1M --explain large
if [ "$rc" -eq 77 ] || [ "$rc" -eq 1 ]; then echo "# cannot mount: several directories for runs are not tested"; else
  continues() { # continues NAME DIR AGAIN - the last sort stopped using DIR, and wrote runs again if AGAIN
    is "$1: exit code, output, left over" "$rc/$(cmp out sorted)/$out$(left_over | sed 's/^out$//;s/^.\/out$//')" \
      $'0//small/a:\n\nsmall/b:'
    ok "$1: message" grep -Eq "no more room in '$2'$3\$" <<<"$err"
    ok "$1: in the report" grep -q "\"tmpdirs_left_out\": \"'$2'\"" report # english: allowed, a field of the report
    rm -f out report
  }
  again=': [1-9][0-9]* runs? written again elsewhere'
  two 1M 100M --memory 64M large
  continues "a directory without room for a run" small/a ""
  two 100M 20M --memory 64M large
  continues "a directory that fills up" small/b "$again"
  two 20M 100M --memory 64M - <large
  continues "a directory that fills up, standard input" small/a "$again"
  two 20M 100M --memory 64M --ranks 2 large
  continues "a directory that fills up, several ranks" small/a "$again"
  two 20M 100M --memory 200M --ranks 2 - < <(cat large)
  continues "a directory that fills up, the copy of a stream" small/a ""
  two 50M 50M --memory 64M large
  is "room in both together: exit code, output" "$rc/$(cmp out sorted)" 0/
  ok "room in both together: both are used" grep -q '"tmpdirs_left_out": ""' report # english: allowed, a field of the report
  rm -f out
  two 30M 30M --memory 40M large
  is "no room in both together: exit code, left over" "$rc/$out$(left_over)" $'4/small/a:\n\nsmall/b:'
  ok "no room in both together: message" \
    grep -q "temporary directory 'small/a' and 1 more have 60 MiB free, but runs need 70\.[0-9]* MB, in files of .*; use --tmpdir to choose other directories$" <<<"$err"
  two 20M 20M --memory 200M --ranks 2 - < <(cat large)
  is "both fill up, the copy of a stream: exit code, left over" "$rc/$out$(left_over)" $'4/small/a:\n\nsmall/b:'
  ok "both fill up, the copy of a stream: message" grep -q "'small/[ab]/(spill file)': No space left on device; use --tmpdir to choose another directory" <<<"$err"
fi
rm -f large sorted report
# shellcheck disable=SC2086  # two words
run $own_mounts sh -c 'mount -t tmpfs none /dev || exit 77; exec "$0" -o out in <&-' "$hetsort"
if [ "$rc" -eq 77 ] || [ "$rc" -eq 1 ]; then echo "# cannot mount: a missing /dev/null is not tested"; else
  is "a closed stream, and no /dev/null to replace it: exit code, left over" "$rc/$(left_over)" 4/
  is "a closed stream, and no /dev/null to replace it: message" "$err" "hetsort: standard stream 0 is closed"
fi
for what in report trace html; do
  # shellcheck disable=SC2016  # the inner shell expands
  fills "$what" 4k 3 "'small/it': No space left on device; the output is complete" sh -c 'head -c 4096 /dev/zero >small/full
    "$0" --no-fsync -f --$1 small/it -o other in; rc=$?; rm small/full; exit $rc' "$hetsort" "$what"
  is "a full disk for the $what: the output stays" "$(cmp other expected)" ""
done
done_testing
