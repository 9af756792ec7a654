#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Real disks that fail, instead of simulated calls: a full device whose file system still has room, so that the sync
# fails first; a device with unreadable sectors; a file system for runs that another process fills. Checks the exit
# code, the message, and that no final name and no temporary file exists.
# shellcheck disable=SC2016  # inner shells expand
set -u
. "$ROOT/scripts/tap.sh"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers replace the same calls"
[ "$(id -u)" -eq 0 ] || skip_all "needs root, to mount"
cd "$TEST_TMP" || exit 1
hetsort=$BIN/hetsort
mkdir back disk small
"$BIN/gensort" --no-fsync 200000 in || exit 1
unshare -m sh -c 'mount -t tmpfs none small' 2>refused || skip_all "cannot mount here: $(paste -sd' ' refused)"
left_over() { find . -name '.hetsort-*' -o -name 'out*' | sort | paste -sd' '; }

# --- devices: a file in a file system in memory, as a disk
cat >on_device <<'END'
# on_device MB COMMAND... - with an ext4 of 64 MB at disk/ on a device that has room for MB only
size=$1; shift
mount -t tmpfs -o size="${size}M" none back && truncate -s 64M back/image &&
  mkfs.ext4 -q -F -m 0 -O ^has_journal -E lazy_itable_init=1,nodiscard back/image &&
  mount -o loop back/image disk || exit 77
"$@"; rc=$?
find disk -name '.hetsort-*' -o -name 'out*'
umount disk || umount -l disk
exit $rc
END
on_device() { run timeout 100 unshare -m bash on_device "$@"; }
on_device 16 true
if [ "$rc" -ne 0 ]; then
  echo "# no loop devices with ext4 here: devices are not tested: $err"
else
  for ranks in 1 3; do
    on_device 12 "$hetsort" --direct never --ranks $ranks -o disk/out in
    is "a full device under a file system with room, $ranks ranks: exit code, left over" \
      "$((rc == 3 || rc == 4))/$out" 1/
    ok "a full device, $ranks ranks: the sync fails" \
      grep -q "cannot sync 'disk/out': \(No space left on device\|Input/output error\)" <<<"$err"
  done
  on_device 12 "$hetsort" --no-fsync --direct never -o disk/out in
  is "a full device: without a sync no error is reported" "$rc/$out" 0/disk/out
  for direct in never always; do
    # The inode stays in memory, the data does not; its pages are read again from a device that was cut short.
    on_device 100 sh -c 'cp in disk/in && sync disk/in && dd of=disk/in oflag=nocache conv=notrunc,fdatasync count=0 \
      status=none && truncate -s 20M back/image && exec "$@"' sh "$hetsort" --direct $direct -o out disk/in
    is "sectors that cannot be read, --direct $direct: exit code, left over" "$rc/$out$(left_over)" 3/
    ok "sectors that cannot be read, --direct $direct: message" \
      grep -q "cannot read 'disk/in' at byte [0-9]*: Input/output error" <<<"$err"
  done
fi

# --- power failure: the contents of the device at that moment, as the next boot finds them
"$BIN/gensort" --no-fsync 20000 few && "$BIN/gensort" --no-fsync -b20000 20000 other || exit 1
"$hetsort" -o new few && "$hetsort" -o old other || exit 1
cat >on_power_cut <<'END'
# on_power_cut STATE SHIM COMMAND... - the power fails while the command is in the call that SHIM names, or after its
# end. STATE is the output before: none, an old output or an old set. The files on the disk are then copied to boot/,
# after --clean of an old set. The file system writes nothing by itself.
state=$1 plan=$2; shift 2
. "$ROOT/scripts/tap.sh"
mount -t tmpfs -o size=80M none back && truncate -s 32M back/image &&
  mkfs.ext4 -q -F -m 0 -E lazy_itable_init=0,lazy_journal_init=0 back/image && mount -o loop,commit=300 back/image disk || exit 77
case $state in
  old) cp old disk/out && sync -f disk ;;
  set) cp -a set/. disk/ && sync -f disk ;;
esac
HETSORT_SHIM=$plan HETSORT_SHIM_FILE=$PWD/hanging LD_PRELOAD="$OBJ/shim.so" "$@" & pid=$!
until [ -e hanging ] || gone $pid; do sleep 0.01; done
cp --sparse=always back/image back/cut
[ -e hanging ] && rm hanging && echo met
wait $pid; rc=$?
umount disk && mount -o loop back/cut disk || exit 78
if [ "$state" = set ]; then "$BIN/hetsort" --clean -q --ranks 3 'disk/out.%r' || exit 79; fi # a copy has other inodes
rm -rf boot && mkdir boot && find disk -maxdepth 1 -type f -exec cp -t boot {} +
umount disk
exit $rc
END
cut() { run timeout 100 unshare -m bash on_power_cut "$@"; } # cut STATE SHIM COMMAND... - sets rc, out, and what is in boot/
there() { # there - print which output exists
  if [ ! -e boot/out ]; then echo none; elif cmp -s boot/out old; then echo old; elif cmp -s boot/out new; then echo new; else echo bad; fi
}
cut none '' "$hetsort" -o disk/out few
if [ "$rc" -eq 77 ] || [ "$rc" -eq 78 ]; then echo "# no loop devices with ext4 here: power cuts are not tested: $err"; else
  is "power cut after the end: the output exists" "$rc/$(there)" 0/new
  cut none '' "$hetsort" --no-fsync -o disk/out few
  is "power cut after the end, --no-fsync: the output is lost, so this test can fail" "$rc/$(there)" 0/none
  cut old '' "$hetsort" --force -o disk/out few
  is "power cut after the end, an old output: the new one" "$rc/$(there)" 0/new
  for ranks in 1 3; do
    for call in fsync:1 fsync:2 rename fsync:3; do
      cut none $call=hang "$hetsort" --ranks $ranks -o disk/out few
      is "power cut in $call, $ranks ranks: no output, or all of it" "$rc/$out/$(there | sed 's/none/whole/; s/new/whole/')" 0/met/whole
      cut old $call=hang "$hetsort" --ranks $ranks --force -o disk/out few
      is "power cut in $call, $ranks ranks, an old output: the old one, or the new" \
        "$rc/$out/$(there | sed 's/old/whole/; s/new/whole/')" 0/met/whole
    done
  done
  for call in rename:1 rename:2 rename:3 fsync:8; do
    cut none $call=hang "$hetsort" --ranks 2 -o disk/out.%r few
    [ ! -e boot/out.manifest ] || "$hetsort" --check-manifest boot/out.manifest >/dev/null || touch boot/bad
    is "power cut in $call, parts: no manifest, or all parts in it" "$rc/$out/$(ls boot/bad 2>/dev/null)" 0/met/
  done
  mkdir set && "$hetsort" --ranks 3 -o set/out.%r other || exit 1
  calls="fsync:6 rename:2 rename:4 rename:5"
  if [ -n "${HETSORT_LONG:-}" ]; then
    calls="rename:1 rename:2 rename:3 rename:4 rename:5 fsync:3 fsync:4 fsync:5 fsync:6 fsync:7 fsync:8 fsync:9 fsync:10"
  fi
  for call in $calls; do
    cut set "$call=hang" "$hetsort" --force --ranks 2 -o disk/out.%r few
    met=$rc/$out
    case $met/$("$hetsort" --check-manifest boot/out.manifest; echo $?)/$(cd boot && find . -type f | sort | paste -sd' ') in
      "0/met/0/./out.0 ./out.1 ./out.2 ./out.manifest") cat boot/out.[0-2] | cmp -s - old && met=whole ;;
      "0/met/0/./out.0 ./out.1 ./out.manifest") cat boot/out.[01] | cmp -s - new && met=whole ;;
    esac
    is "power cut in $call, parts over an old set: one of the two" "$met" whole
  done
  cut none '' "$hetsort" --ranks 2 -o disk/out.%r few
  ok "power cut after the end, parts: manifest and parts" "$hetsort" --check-manifest boot/out.manifest
fi
rm -rf boot set

# --- the same file by another path, and a read-only file system
run unshare -m sh -c 'mkdir a b && cp in a/in && mount --bind a b && "$0" --force -o b/in a/in' "$hetsort"
is "output = input by a bind mount: exit code" "$rc" 2
ok "output = input by a bind mount: message" grep -q "output 'b/in' is the same file as input 'a/in'" <<<"$err"
run unshare -m sh -c 'mount -t tmpfs -o ro none small && exec "$0" -o small/out in' "$hetsort"
is "a read-only file system: exit code" "$rc" 2
ok "a read-only file system: message" grep -q "small/out'.*Read-only file system" <<<"$err"
for mode in "" --explain; do
  run unshare -m sh -c 'mkdir -p a && cp in a/in && cp in a/out && mount --bind a/in a/out && exec "$0" $1 -f -o a/out in' "$hetsort" "$mode"
  is "an output that is a mount point, $mode: exit code, message" "$rc/$err" \
    "2/hetsort: cannot replace 'a/out', because another file is mounted there"
  run unshare -m sh -c 'mount -t tmpfs -o ro none small && exec "$0" $1 -o small/out in' "$hetsort" "$mode"
  is "an output on a read-only file system, $mode: exit code, message" "$rc/$err" \
    "2/hetsort: cannot create output 'small/out': Read-only file system"
done
rm a/out
run unshare -m sh -c 'mount -t tmpfs -o ro none small && exec "$0" --report small/r -o fresh in' "$hetsort"
is "a report on a read-only file system: exit code, output" "$rc/$(ls fresh 2>/dev/null)" 2/
ok "a report on a read-only file system: message" grep -q "cannot make report 'small/r': Read-only file system" <<<"$err"

# --- runs on disk, while another process fills the file system
"$BIN/gensort" --no-fsync 700000 large || exit 1
cat >filled <<'END'
mount -t tmpfs -o size=110M none small || exit 77
HETSORT_SHIM=write:9=hang HETSORT_SHIM_FILE=hanging LD_PRELOAD="$OBJ/shim.so" "$@" & pid=$!
while [ ! -e hanging ] && [ -d /proc/$pid ]; do sleep 0.01; done
cat /dev/zero >small/fill 2>/dev/null
rm -f hanging
wait $pid; rc=$?
rm small/fill
ls -A small; df --output=used small | tail -n 1
exit $rc
END
run timeout 100 unshare -m bash filled "$hetsort" --memory 64M --tmpdir small -o out large
is "no room left for runs: exit code, left over, room taken" "$rc/$(left_over)/${out// /}" 4//0
ok "no room left for runs: message" grep -q "'small/(spill file)'.*No space left on device" <<<"$err"
done_testing
