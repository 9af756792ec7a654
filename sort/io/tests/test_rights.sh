#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Permissions and environment: a set-user-ID program refuses to run; a dangerous TMPDIR is ignored; limits of processes
# per user, of memory per control group, and of stacks are respected.
# shellcheck disable=SC2016,SC2317  # inner shells expand; other functions call die
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "sanitizers have limits of their own"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
"$BIN/gensort" --no-fsync 20000 in && "$hetsort" -o expected in && "$BIN/gensort" --no-fsync 700000 large || exit 1
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }

# --- TMPDIR
mkdir sticky open && chmod 1777 sticky && chmod 777 open
TMPDIR=$PWD/sticky run "$hetsort" --no-fsync --memory 64M -o out large
is "TMPDIR with the sticky bit" "$rc/$(ls -A sticky)" 0/
rm -f out
TMPDIR=$PWD/open run "$hetsort" --no-fsync --memory 64M -o out large
is "TMPDIR that everybody may write to: exit code, left over" "$rc/$(left_over)" 2/
ok "TMPDIR that everybody may write to: message" grep -q "open' is writable by everybody and has no sticky bit" <<<"$err"
TMPDIR=$PWD/nowhere run "$hetsort" --no-fsync --memory 64M -o out large
is "TMPDIR that does not exist" "$rc/$(left_over)" 2/
for dir in open ''; do
  TMPDIR=$dir run "$hetsort" --no-fsync --memory 64M -o out large
  is "TMPDIR='$dir', not an absolute name: ignored" "$rc/$(ls -A open)" 0/
  rm -f out
done

# --- stacks
for mode in "--ranks 3" "--ranks 3 --strategy distribute" "--threads 4" "--memory 64M"; do
  # shellcheck disable=SC2086  # words
  run sh -c 'ulimit -s 512 && exec "$0" "$@"' "$hetsort" $mode -o out in
  is "a stack of 512 kB, for threads as well, $mode" "$rc/$(cmp out expected)" 0/
  rm -f out
done
run sh -c 'ulimit -s 128 && exec "$0" --ranks 3 -o out in' "$hetsort"
is "a stack of 128 kB: exit code, left over" "$rc/$(left_over)" 4/
ok "a stack of 128 kB: message" grep -q "stack limit is 128 KiB, need at least 512 KiB" <<<"$err"

# --- only root can try the rest
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then echo "# no root or no setpriv"; done_testing; fi
[ -z "${SANITIZER:-}" ] || { chmod -R a+rwX "$OBJ" && chmod -R go-w "$BIN"; } # every user writes counts, but not the plug-in
as_nobody() { run setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"; }

# another user puts a file under the temporary name of a part whose renaming was interrupted
mkdir -m 1777 shared
"$BIN/gensort" --no-fsync 600 some && "$hetsort" -q -o some.sorted some && "$BIN/gensort" --no-fsync -b7000 600 others &&
  "$hetsort" -q --no-fsync --ranks 2 -o shared/out.%r others || exit 1
HETSORT_FAIL=kill@named:1 "$BIN/failpoints/hetsort" -f -q --no-fsync --ranks 2 -o shared/out.%r some 2>/dev/null
id=$(find shared -name '*.replace' | cut -d- -f3)
named=0
for r in 0 1; do
  [ -z "$(find shared -name "*-out.$r.tmp")" ] || continue
  named=$((named + 1))
  mark=$(find shared -name ".hetsort-*-out.$r.lock" | cut -d- -f2)
  head -c "$(wc -c <shared/out.$r)" /dev/urandom >"shared/.hetsort-$mark-$id-out.$r.tmp"
  chown 65534 "shared/.hetsort-$mark-$id-out.$r.tmp"
done
ok "a hidden part of another user: $named parts had their names when the job was killed" test $named -gt 0 -a -n "$id"
run "$hetsort" --clean -q shared/out.manifest
is "a hidden part of another user: it does not replace the part of the job" "$rc/$(cat shared/out.[01] | cmp - some.sorted)" 0/
rm -rf shared some some.sorted others
# Other users may not be able to read the tree or the parents of this directory: use a copy by a relative name.
chmod 711 . && mkdir plain && chmod 777 plain && install -m 755 "$hetsort" hetsort
as_nobody prlimit --nofile=100 ./hetsort --ranks 1 -o plain/out in
if [ "$rc" -ne 0 ]; then
  echo "# others cannot start the program here: $err"
else
  rm -f plain/out
  install -m 600 in secret
  as_nobody ./hetsort -o plain/out secret
  is "an input that this user may not read: exit code, left over" "$rc/$(ls -A plain)" 2/
  ok "an input that this user may not read: message" grep -q "cannot open input 'secret': Permission denied" <<<"$err"
  mkdir -m 755 closed && mkdir -m 700 hidden
  as_nobody ./hetsort --memory 64M --tmpdir closed -o plain/out large
  is "a directory for runs that this user may not write to: exit code, left over" "$rc/$(ls -A plain closed)" "2/$(ls -A plain closed)"
  ok "a directory for runs that this user may not write to: message" \
    grep -q "cannot write in temporary directory 'closed': Permission denied" <<<"$err"
  # --- the end of a job that cannot succeed is found at its start, by --explain as well
  foreseen() { # foreseen NAME WORDS ARGUMENT... - refused by a job and by its plan, as nobody, in work/, which stays as it is
    local name=$1 words=$2 mode was; shift 2
    was=$(find work -printf '%p %m %u %s %i\n' | sort)
    for mode in "" --explain; do
      # shellcheck disable=SC2086  # one word, or none
      as_nobody ./hetsort --no-fsync $mode "$@"
      is "foreseen: $name $mode: exit code, files" "$rc/$(find work -printf '%p %m %u %s %i\n' | sort)" "2/$was"
      case $err in *"$words"*) ok "foreseen: $name $mode: message" true ;; *) is "foreseen: $name $mode: message" "$err" "...$words..." ;; esac
    done
  }
  mkdir -m 1777 work && mkdir -m 755 work/closed && mkdir -m 733 work/unreadable && mkdir -m 766 work/unsearchable
  "$hetsort" -q --no-fsync --report work/report -o work/out in && chmod 666 work/out work/report && cp work/report work/html
  "$hetsort" -q --no-fsync --html work/page -o work/other in && chmod 666 work/page
  "$hetsort" -q --no-fsync --trace work/trace -o work/other2 in && chmod 666 work/trace
  "$hetsort" -q --no-fsync --ranks 3 -o work/set.%r in && chown 65534 work/set.0 work/set.1 work/set.manifest
  chmod 666 work/set.*
  other="the file of another user, in a directory with the sticky bit"
  foreseen "an output of another user, sticky" "cannot replace 'work/out': it is $other" -f -o work/out in
  foreseen "a part of another user, sticky" "cannot replace 'work/set.2': it is $other" -f --ranks 3 -o work/set.%r in
  foreseen "an old part of another user, sticky" "cannot replace 'work/set.2': it is $other" -f --ranks 2 -o work/set.%r in
  chown root work/set.manifest && chown 65534 work/other
  foreseen "a manifest of another user, sticky" "cannot replace 'work/set.manifest': it is $other" -f --ranks 2 -o work/set.%r in
  foreseen "a manifest that is another file" "was not written by hetsort as a manifest" -f --manifest work/other -o work/new in
  for what in report page trace; do
    foreseen "a $what of another user, sticky" "cannot replace 'work/$what': it is $other" "--${what/page/html}" work/$what -o work/new in
  done
  foreseen "an output in a closed directory" "cannot create output 'work/closed/out': Permission denied" -o work/closed/out in
  foreseen "a manifest in a closed directory" "cannot create output 'work/closed/m': Permission denied" --manifest work/closed/m -o work/new in
  foreseen "a report in a closed directory" "cannot make report 'work/closed/r': Permission denied" --report work/closed/r -o work/new in
  foreseen "an output in an unreadable directory" "'work/unreadable/out': Permission denied" -o work/unreadable/out in
  foreseen "an output in an unsearchable directory" "'work/unsearchable/out': Permission denied" -o work/unsearchable/out in
  foreseen "a workdir in a closed directory" "'work/closed/w': Permission denied" --workdir work/closed/w -o work/new in
  foreseen "a workdir of another user" "workdir 'work/closed' must belong to you" --workdir work/closed -o work/new in
  mkdir -m 500 work/mine && chown 65534 work/mine
  foreseen "a workdir that is read-only" "'work/mine/hetsort-rank0.json': Permission denied" --workdir work/mine -o work/new in
  run "$hetsort" -f --no-fsync --ranks 2 -o work/set.%r in
  is "foreseen: root may replace and remove them" "$rc/$(cat work/set.[01] | cmp - expected)/$(ls work/set.2 2>/dev/null)" 0//
  if chattr +i work/set.0 2>/dev/null; then
    as_nobody() { run "$@"; } # even root
    foreseen "an immutable part" "cannot replace 'work/set.0': it is immutable or append-only" -f --ranks 2 -o work/set.%r in
    chattr -i work/set.0 && chattr +a work/set.1
    foreseen "an old part that is append-only" "cannot replace 'work/set.1': it is immutable or append-only" -f --ranks 1 -o work/set.%r in
    chattr -a work/set.1 && chattr +a work
    foreseen "an append-only directory" "cannot create output 'work/new': its directory is append-only" -o work/new in
    foreseen "a report in an append-only directory" "cannot make report 'work/r': its directory is append-only" --report work/r -o plain/new in
    chattr -a work && chattr +i work
    foreseen "an immutable directory" "cannot create output 'work/new': Operation not permitted" -o work/new in
    chattr -i work
  else
    echo "# no chattr here"
  fi
  rm -rf work
  as_nobody() { run setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"; }
  as_nobody ./hetsort --clean hidden
  is "--clean of a directory that this user may not read" "$rc/$err" \
    "2/hetsort: cannot read directory 'hidden': Permission denied"
  as_nobody prlimit --nproc=1 ./hetsort --threads 4 -o plain/out in
  is "no more processes for this user: it sorts without threads" "$rc/$(cmp plain/out expected)" 0/
  rm -f plain/out
  as_nobody prlimit --nproc=1 ./hetsort --ranks 3 -o plain/out in
  is "no more processes for this user: exit code, left over" "$rc/$(ls -A plain)" 4/
  ok "no more processes for this user: message" grep -q "cannot start thread 1 of 3" <<<"$err"
  install -m 4755 -o 65534 "$hetsort" lent 2>/dev/null && as_lent=("$PWD/lent" --version)
  # shellcheck disable=SC2154  # set above
  run "${as_lent[@]}"
  if [ "$rc/${out%% *}" = 0/hetsort ]; then
    echo "# set-user-ID has no meaning on this file system"
  else
    is "set-user-ID: exit code" "$rc" 2
    ok "set-user-ID: message" grep -q "refused to run with more rights than its caller's" <<<"$err"
    run ./lent -o out in
    is "set-user-ID: no file is written" "$rc/$(left_over)" 2/
  fi
  rm -f lent
fi

# --- a control group
die() { echo "# $*"; }
# shellcheck source=scripts/cluster-host.sh
. "$ROOT/scripts/cluster-host.sh"
group_in() { # group_in BYTES COMMAND... - in a control group with this memory limit
  local bytes=$1; shift
  case $version in
    1) echo "$bytes" >"$group/memory.limit_in_bytes" ;;
    2) echo "$bytes" >"$group/memory.max"; echo 0 2>/dev/null >"$group/memory.swap.max" ;;
  esac
  run sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}
if ! group_parent memory || ! mkdir "${group:=$parent/hetsort-memory-$$}" 2>/dev/null; then
  echo "# no control groups with memory here"; done_testing
fi
trap 'rmdir "$group" 2>/dev/null' EXIT
"$hetsort" --no-fsync -o sorted large
group_in 64M "$hetsort" --no-fsync --report report -o out large
is "a group's bound is found, and kept by spilling to disk" "$rc/$err/$(cmp out sorted)" 0//
ok "a group's bound: in runs" grep -q '"spill_runs": [1-9]' report
rm -f out
group_in 7M "$hetsort" -o out large
is "a group's bound that is too small: exit code, left over" "$rc/$(left_over)" 4/
used=$(sed -n "s/.*: 7 MiB less \([0-9]*\) KiB in use.*/\1/p" <<<"$err") # --memory=6M works only if the group has that memory
advice=$([ "${used:-0}" -le 1024 ] && echo 'use --memory=6M or more' || echo 'they need 6M')
ok "a group's bound that is too small: message" grep -q "^hetsort: not enough memory for .* of it); $advice$" <<<"$err"
group_in 64M "$hetsort" --no-fsync --memory 1G --report report -o out large
is "a group's bound overrides --memory" "$rc/$(cmp out sorted)" 0/
ok "a group's bound overrides --memory: in runs" grep -q '"spill_runs": [1-9]' report
rm -f out

# A tmpfs takes memory of the group: 70 MB of runs or of output.
if [ "$(stat -f -c %T /dev/shm 2>/dev/null)" = tmpfs ] && shm=$(mktemp -d /dev/shm/hetsort-rights.XXXXXX 2>/dev/null); then
  trap 'rmdir "$group" 2>/dev/null; rm -rf "$shm"' EXIT
  group_in 64M "$hetsort" --no-fsync -T "$shm" -o out large
  is "a group's bound, runs in memory: exit code, left over" "$rc/$(left_over)" 4/
  ok "a group's bound, runs in memory: message" grep -q "runs in '$shm' take 70.0 MB, because this directory is in memory; use a --tmpdir on a disk" <<<"$err"
  group_in 64M "$hetsort" --no-fsync -T . -o "$shm/out" large
  is "a group's bound, an output in memory: exit code, left over" "$rc/$(ls -A "$shm")" 4/
  group_in 64M "$hetsort" --no-fsync --ranks 2 -T "$shm" -o out - <large
  is "a group's bound, a copy in memory: exit code, left over" "$rc/$(left_over)" 4/
  for mb in 80 96; do # the sort needs 5 MB more
    group_in ${mb}M "$hetsort" --no-fsync -T . -o "$shm/out" large
    is "a group of $mb MB, an output in memory, runs on a disk" "$rc/$err/$(cmp "$shm/out" sorted)" 0//
    rm -f "$shm/out"
  done
  rm -rf "$shm"
fi

# Another process takes the memory after the plan: the kernel kills the job.
cat >crowded <<'END'
echo $$ >"$1/cgroup.procs"; shift
HETSORT_SHIM=read=hang HETSORT_SHIM_FILE=hanging LD_PRELOAD="$OBJ/shim.so" "$@" & pid=$!
echo 1000 >/proc/$pid/oom_score_adj
while [ ! -e hanging ] && [ -d /proc/$pid ]; do sleep 0.01; done
{ head -c 200000000 /dev/zero; echo x; until [ -e over ]; do sleep 0.1; done; } | { tail -c 200000000 >/dev/null & echo $! >hog; wait; } &
echo -1000 >/proc/$$/oom_score_adj
for i in $(seq 500); do [ -s hog ] && [ "$(awk '/^VmRSS/ {print $2}' "/proc/$(cat hog)/status")" -gt 190000 ] && break; sleep 0.02; done
rm hanging
wait $pid; rc=$?
touch over
exit $rc
END
group_in 256M true
head -c 35000000 large >large.0; tail -c +35000001 large >large.1 # a single file in memory would be mapped, not read
run timeout 100 bash crowded "$group" "$hetsort" --direct never -o out large.0 large.1
is "memory that others take after the plan: killed, no output" "$rc/$(ls out 2>/dev/null)" 137/
run "$hetsort" --no-fsync -o out large
is "the next job, outside" "$rc/$(cmp out sorted)/$(find . -name '.hetsort-*')" 0//
done_testing
