#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Which ranks are on one host: those with one name of the host and one kernel. Containers on several machines may have one
# name; virtual hosts of one machine have several.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
"$ROOT/scripts/mpirun" --here || skip_all "no MPI here"
[ "${SANITIZER:-coverage}" = coverage ] || skip_all "the shim and the sanitizers want the same calls"

cat >on_host <<END
#!/bin/bash
read -ra seen <<<"\$SEEN"
r=\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}
cd rank\$r && HETSORT_SHIM=\${seen[r]} LD_PRELOAD="$OBJ/shim.so" exec "$BIN/hetsort" "\$@"
END
chmod +x on_host
mkdir rank0 rank1
on() { # on "SEEN0 SEEN1" OPTION... - two ranks see these hosts and kernels, each in a directory of its own
  SEEN=$1 run timeout 120 "$ROOT/scripts/mpirun" 2 ./on_host "${@:2}"
}


# Each rank has its own copy of the input. Copies are accepted only on several hosts.
"$BIN/gensort" --no-fsync 20000 rank0/in && cp rank0/in rank1/in && "$BIN/hetsort" -q -o expected rank0/in || exit 1
copies() { # copies "SEEN0 SEEN1" - print on how many hosts the ranks find themselves
  rm -f rank?/out* out*
  on "$1" --no-fsync -o "$PWD/out.%r" in
  case $rc/$err in
    0/) cat out.0 out.1 | cmp -s - expected && echo several ;;
    */*"rank 1 (host1), opening: input 'in' is another file than on rank 0 (host1)"*) echo one ;;
    *) echo "status $rc: $err" ;;
  esac
}
is "one name, one kernel" "$(copies "host=1,boot=1 host=1,boot=1")" one
is "one name, two kernels" "$(copies "host=1,boot=1 host=1,boot=2")" several
is "two names, one kernel" "$(copies "host=1,boot=1 host=2,boot=1")" several
is "one name, unknown kernels" "$(copies "host=1,boot=0 host=1,boot=0")" one
is "two names, unknown kernels" "$(copies "host=1,boot=0 host=2,boot=0")" several
on "host=0,boot=1 host=0,boot=1" --no-fsync --force -o "$PWD/out.%r" in
ok "the longest name loses its last letter" grep -qE "rank 1 \(x{63}\), opening: .* than on rank 0 \(x{63}\)" <<<"$err"

# Two machines may have files of the same number; here they are one file.
rm -f rank?/* out*
cp expected rank0/in && ln rank0/in rank1 && ln rank0/in out.1
on "host=1,boot=1 host=1,boot=1" --force -o "$PWD/out.%r" in
ok "one host: an output that is also an input" grep -q "out.1' of rank 1 is the same file as input 'in'" <<<"$err"
cp --remove-destination expected rank1/in
on "host=1,boot=1 host=1,boot=2" --no-fsync --force -o "$PWD/out.%r" in
is "two hosts: files with the same numbers" "$rc/$err" 0/

# Records that are folded make messages shorter than their room, also in fragments.
fold=(--key "0,1" --unique --count "50,u64" --max "60,i32")
"$BIN/hetsort" -q "${fold[@]}" -o folded expected
for most in 1000 4096 256M; do
  rm -f out.*
  on "host=1,boot=1 host=2,boot=1" --no-fsync --speeds 1,1 "${fold[@]}" --max-message $most -o "$PWD/out.%r" in
  is "records folded, messages of at most $most bytes" "$rc/$err/$(cat out.0 out.1 | cmp - folded 2>&1)" 0//
done
is "few bytes were sent" "$(on "host=1,boot=1 host=2,boot=1" --no-fsync "${fold[@]}" --report=- -f -o "$PWD/out.%r" in
  sed -n 's/^ *"sent": \([0-9]*\).*/\1/p' <<<"$out" | awk '{ n += $1 } END { print n < 200000 }')" 1

# rates "SEEN0 SEEN1" - print the kind of rates that a plan uses: hosts are measured, ranks of one host are not
rates() {
  on "$1" --explain in
  sed -n 's/^predicted makespan .*, at \(the \)\{0,1\}\([a-z]*\) rates.*/\2/p' <<<"$out"
}
truncate -s 8000M rank0/in rank1/in # the plan does not read it
is "two kernels are measured" "$(rates "host=1,boot=1 host=1,boot=2")" measured
rm rank1/in && ln rank0/in rank1
is "one kernel is not measured" "$(rates "host=1,boot=1 host=1,boot=1")" nominal

# Results of earlier jobs are kept by the name of a host, or if this is not enough, also by its kernel.
cp expected rank0/in && ln -f rank0/in rank1
known() { # known "SEEN0 SEEN1" - print how many kinds of ranks the wisdom knows
  rm -f wisdom
  on "$1" --no-fsync --force --plan=online --wisdom=../wisdom -o "$PWD/out.%r" in
  grep -o 'host[12]:[0-9a-f]*:[0-9a-f]*' wisdom | sort -u | wc -l
}
is "one name, one kernel: known as one" "$(known "host=1,boot=1,cpus=1 host=1,boot=1,cpus=1")" 1
cp --remove-destination expected rank1/in
is "one name, two kernels: known as two" "$(known "host=1,boot=1,cpus=1 host=1,boot=2,cpus=1")" 2
done_testing
