# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# No file that a program reads is lost because an option names it as a file to write. Every pair (file that is read) x
# (file that is written) is tried, under its own name and through links, with its own content and with the content of an
# earlier file of that role, which could be replaced if it were not read. (hetplan: partition/hetplan/tests/test_output.sh.)
# shellcheck disable=SC2154,SC2317  # run sets rc, out, err; functions are called through ok
. "$ROOT/scripts/tap.sh"
has_sim=no
case ${SANITIZER:-coverage} in coverage) if [ -x "$BIN/hetsim" ]; then has_sim=yes; fi ;; esac # sanitizers do not follow coroutines

# --------------------------------------------------------------------------------- the two tables
# Files that are read: name; file; the roles that can be written there; the command. @ stands for the options that write.
# Inputs may have any content; "fixed" marks files that must have their own content.
readers=(
  'input;in;report page trace output manifest wisdom stdout;hetsort @ in'
  'second input;in2;report page trace output manifest stdout;hetsort @ in in2'
  'standard input;in;report page trace output manifest;hetsort @ - <in'
  'input of another rank;i.1;report page trace output manifest wisdom parts;hetsort --ranks=2 @ i.%r'
  'input of all ranks;in;report page trace output manifest wisdom;hetsort --ranks=3 @ in in2'
  'input that rank 0 scatters;in;report page trace output manifest;hetsort --ranks=2 --source=root @ in'
  'sorted input;p.1;report page trace output manifest;hetsort --merge @ p.0 p.1'
  'part of a manifest, merged;p.1;report page trace output manifest;hetsort --merge --ranks=2 @ p.manifest'
  'part of a manifest;p.1;report page trace output manifest stdout;hetsort @ p.manifest'
  'last part of a manifest;p.2;report page trace output manifest parts;hetsort --ranks=3 --top=5 @ p.manifest'
  'manifest;p.manifest;fixed report page trace output manifest stdout;hetsort @ p.manifest'
  'part by its number;p.2;report page trace output manifest parts;hetsort --ranks=3 @ p.%r'
  'part beyond the ranks;p.2;report page trace output manifest;hetsort --ranks=2 @ p.%r'
  'manifest of numbered parts;p.manifest;fixed report page trace output manifest;hetsort --ranks=2 @ p.%r'
  'input with --unique;in;report page trace output manifest;hetsort --unique @ in'
  'input that is distributed;in;report page trace output manifest wisdom;hetsort --ranks=2 --strategy=distribute @ in'
  'speeds;speeds;fixed report page trace output manifest wisdom;hetsort --ranks=2 --speeds=speeds @ in'
  'speeds of virtual ranks;speeds;fixed report page trace output manifest;hetsort --ranks=2 --emulate=4 --speeds=speeds @ in'
  'links;speeds;fixed report page trace output manifest;hetsort --ranks=2 --source=root --links=speeds @ in'
  'disks;speeds;fixed report page trace output manifest;hetsort --ranks=2 --disks=speeds @ in'
  'wisdom;wis;fixed report page trace output manifest;hetsort --ranks=2 --plan=online --wisdom=wis @ in'
  'state;wd/hetsort-rank0.json;fixed report page trace output manifest;hetsort --workdir=wd --resume @ kept'
  'run;wd/hetsort-rank0.run0;fixed report page trace output manifest;hetsort --workdir=wd --resume @ kept'
  'state of another sort;wd/hetsort-rank0.json;fails report page trace output manifest;hetsort --workdir=wd @ in'
  'input in a workdir;w3/hetsort-rank0.run5;fails report output;hetsort --workdir=w3 @ w3/hetsort-rank0.run5'
  'input before a missing one;in;fails report page trace output;hetsort @ in nowhere'
  'input after a missing one;in;fails report page trace output;hetsort @ nowhere in'
  'part of an incomplete set;q.1;fails report page trace output;hetsort @ q.manifest'
  'damaged manifest;bad.manifest;fails report page trace output manifest;hetsort @ bad.manifest'
  'input of a plan;in;report page trace stdout;hetsort --explain @ in'
  'part of a plan;p.1;report page trace stdout;hetsort --explain --ranks=3 @ p.%r'
  'speeds of a plan;speeds;fixed report page trace;hetsort --explain --ranks=2 --speeds=speeds @ in'
  'checked file;p.0;check sum;hetsort --check @ p.0'
  'checked part of a manifest;p.1;check sum;hetsort --check @ p.manifest'
  'checked part;p.2;check sum;hetsort --check @ p.%r'
  'checked part of a rank;p.1;check;hetsort --check --ranks=3 @ p.%r'
  'checked manifest;p.manifest;fixed check;hetsort --check @ p.%r'
  'silently checked file;p.0;check;hetsort --check-silent @ p.0'
  'report;r.json;fixed out stdout;hetsort-report @ r.json'
)
if [ $has_sim = yes ]; then readers+=(
  'input of a simulation;in;sim report page trace output manifest;hetsim @ platform @@ in'
  'part of a simulation;p.1;sim report page trace output;hetsim @ platform @@ p.manifest'
  'input of a simulated host;i.1;sim report output parts;hetsim @ platform @@ i.%r'
  'platform;platform;fixed sim report page trace output manifest;hetsim @ platform @@ in'
  'speeds of simulated hosts;speeds;fixed sim report output;hetsim @ platform --speeds=speeds @@ in'
); fi
# Files that are written: the options, with T for the file; an earlier file of that role.
options_of() { # options_of WRITER COMMAND - set options, role and, for standard output, to
  to=/dev/null role=
  local output='-o out'
  case $2 in *--explain*) output= ;; esac
  case $1 in
  report | check) options="--report=T"; role=r.json ;;
  page) options="--html=T"; role=page.html ;;
  trace) options="--trace=T"; role=trace.json ;;
  output) options='-f -o T'; output= ;;
  manifest) options='-f --manifest=T'; role=p.manifest ;;
  wisdom) options='--plan=online --wisdom=T'; role=wis ;;
  parts) options='-f -o T'; output= ;; # a set of which T is a part
  sim) options='-r T'; role=sim.txt ;;
  out) options='-o T'; role=page.html; output= ;; # of hetsort-report
  sum) options=--checksum; to=T output= ;;
  stdout) options='-o -'; to=T output= ;;
  esac
  case "$1 $2" in check*) output= ;; *'stdout hetsort-report'* | *'stdout hetsort --explain'*) options= ;; esac
  case "$1 $2" in 'wisdom hetsort @'*) options="--ranks=2 $options" ;; esac
  options="$options${output:+ $output}"
}

# ------------------------------------------------------------------------------------- the files
hetsort=$BIN/hetsort
unset HETSORT_WISDOM
export XDG_STATE_HOME=$TEST_TMP/home
mkdir work home && cd work || exit
for i in 0 1; do "$BIN/gensort" -b$((40 * i)) 40 i.$i; done 2>/dev/null
"$BIN/gensort" 60 in 2>/dev/null; "$BIN/gensort" -b60 50 in2 2>/dev/null
"$BIN/gensort" -b200 4000 kept 2>/dev/null
"$hetsort" -q --ranks=3 --report=r.json --html=page.html --trace=trace.json -o p.%r in
"$hetsort" -q --ranks=3 -o q.%r in2; rm q.0
"$hetsort" -q --ranks=2 --plan=online --wisdom=wis -o out in; rm out
head -c 300 p.manifest >bad.manifest
echo '1 2' >speeds # also used as rates of links
printf '2 x net 10G\n' >platform
mkdir w3; cp in2 w3/hetsort-rank0.run5
if [ $has_sim = yes ]; then "$BIN/hetsim" -r sim.txt platform -q -o out in; rm out; else echo 'hetsim report' >sim.txt; fi
HETSORT_FAIL=kill@merge:0 "$BIN/failpoints/hetsort" -q --memory=2M --workdir=wd -o kept.out kept 2>/dev/null
rm -f .hetsort-*
files=(in in2 i.0 i.1 kept p.0 p.1 p.2 p.manifest q.1 q.2 q.manifest bad.manifest speeds platform wis r.json page.html
  trace.json sim.txt w3/hetsort-rank0.run5 wd/hetsort-rank0.json wd/hetsort-rank0.run{0,1})
ok "all files exist" ls "${files[@]}"
cp -a . ../pure
all=$(cksum "${files[@]}")

# ------------------------------------------------------------------------------------- the pairs
pairs=0 lost=0 taken=0 failed=0
trouble() { echo "#   $1: ${words[*]}: status $rc, $err"; }
start() { # start TARGET - start the command with its options for this file
  local w
  # shellcheck disable=SC2206  # words
  local at_t=(${options//T/"$1"})
  words=()
  for w in $command; do
    case $w in
    '<'*) from=${w#<} ;;
    @@) if [ "$writer" != sim ]; then words+=("${at_t[@]}" -q); else words+=(-q -o out); fi ;;
    @) case $command in *@@*) if [ "$writer" = sim ]; then words+=(-r "$1"); fi ;; *) words+=("${at_t[@]}") ;; esac ;;
    *) words+=("$w") ;;
    esac
  done
  err=$("$BIN/${words[0]}" "${words[@]:1}" 2>&1 <"$from" >>"${to//T/$1}"); rc=$?
}
pair() { # pair TARGET - the target is the file that is read, or a link to it
  start "$1"
  pairs=$((pairs + 1))
  [ $rc -eq 2 ] || { taken=$((taken + 1)); trouble "not refused"; }
  [ "$(cksum "${files[@]}" 2>&1)" = "$all" ] && return
  lost=$((lost + 1)); trouble "lost"
  find . -mindepth 1 -delete; cp -a ../pure/. .
}
as_named() { # as_named - try the file that is read under its own name and through links
  rm -f out out.manifest
  local t=$file
  case $writer in
  parts) pair "${file%.*}.%r"; pair "dots/${file%.*}.%r" ;;
  *) pair "$t"; pair "dots/$t"
     ln "$t" hard && pair hard; rm -f hard
     ln -s "$t" soft && pair soft; rm -f soft ;;
  esac
}
ln -s . dots && cp -a dots ../pure
for row in "${readers[@]}"; do
  IFS=';' read -r name file writers command <<<"$row"
  from=/dev/null before=$pairs
  for writer in $writers; do
    case $writer in fixed | fails) continue ;; esac
    options_of "$writer" "$command"
    as_named
    # the same with a file that could be replaced if it were not read
    case $writers in fixed* | fails*) role= ;; esac
    if [ -n "$role" ]; then
      cp -p "$file" ../saved; files_were=$all
      dd if="$role" of="$file" conv=notrunc bs="$(stat -c %s "$file")" count=1 status=none
      all=$(cksum "${files[@]}")
      as_named
      cp -p ../saved "$file"; all=$files_were
    fi
    # without a conflict the command succeeds
    case "$writers $file" in fails* | *wd/*) continue ;; esac
    rm -f out out.manifest
    if [ "$writer" = parts ]; then start new.%r; else start new; fi
    # shellcheck disable=SC2086  # there are several parts
    if [ "$rc" -ne 0 ] || ! ls new* >/dev/null; then failed=$((failed + 1)); trouble "fails"; fi
    rm -rf new* out out.manifest
    cp -p ../pure/wis wis # the command has updated it
  done
  is "$name: $((pairs - before)) pairs, lost, not refused, failed without a conflict" "$lost/$taken/$failed" 0/0/0
  lost=0 taken=0 failed=0
done
ok "$pairs pairs are several hundred" test $pairs -gt 500
echo "# sum: $pairs pairs of a file that is read and one that is written"
is "no temporary file is left" "$(find . -path ./wd -prune -o -name '.hetsort-*' -print)" ""
run "$hetsort" --workdir=wd --resume -o kept.out kept
is "the state and its runs were kept: --resume sorts" "$rc/$err" 0/
ok "--resume writes the right records" cmp -s kept.out <("$hetsort" -o - kept)

# ---------------------------------------------------------------------------------- reserved names
mkdir w2
reserved() { # reserved ARGUMENT... - refused, and no file is made
  run "$hetsort" "$@" in
  case $err in *'names that begin with '*) rc=$rc/reserved ;; esac
  is "reserved: $*" "$rc/$(ls -A w2)" 2/reserved/
}
for name in hetsort-rank0.run5 hetsort-rank0.json hetsort-rank7.json.bak; do
  for at in w2 ./w2 dots/w2; do reserved --workdir=w2 -o $at/$name; done
  reserved -f --workdir=dots/w2 -o w2/$name
  for option in --report --html --trace; do reserved --workdir=w2 $option=w2/$name -o out; done
  reserved --workdir=w2 --manifest=w2/$name -o out
done
reserved --ranks=2 --workdir=w2 -o w2/hetsort-rank%r.run0
reserved -o .hetsort-0123456789abcdef-0123456789abcdef-out.tmp
reserved --report=.hetsort-report -o out
run "$hetsort" --workdir=w2 -o w2/out in
is "another name in the workdir is accepted" "$rc/$(ls -A w2)" 0/out

# ------------------------------------------------------------------ files that hetsort did not write
not_replaced() { # not_replaced WRITER COMMAND... - T: the file; its content decides
  local writer=$1; shift
  options_of "$writer" "$*"
  for what in records page.html r.json trace.json p.manifest sim.txt wis speeds; do
    rm -f out out.manifest t
    if [ $what = records ]; then cp in2 t; else cp $what t; fi
    cp t ../t; number=$(stat -c %i t)
    run "$BIN/$1" "${@:2}"
    if [ $what = "$role" ]; then is "$writer over an earlier file" "$rc/$err" 0/; ok "$writer over an earlier file: replaced" test "$(stat -c %i t)" != "$number"
    else is "$writer over $what is refused" "$rc" 2; ok "$writer over $what: it stays" cmp t ../t; fi
  done
  : >t; rm -f out; run "$BIN/$1" "${@:2}"
  is "$writer over an empty file" "$rc/$err" 0/
  ok "$writer over an empty file: written" test -s t
  mv t other; ln -s other t; rm -f out; run "$BIN/$1" "${@:2}"
  is "$writer through a symbolic link is refused" "$rc" 2
  rm -f t other
}
for force in "" -f; do # --force applies only to the output
  # shellcheck disable=SC2086  # a word, or none
  {
    not_replaced report hetsort $force --report=t -o out in
    not_replaced page hetsort $force --html=t -o out in
    not_replaced trace hetsort $force --trace=t -o out in
  }
done
not_replaced manifest hetsort -f --manifest=t -o out in
not_replaced check hetsort --check --report=t p.0
not_replaced out hetsort-report -o t r.json
if [ $has_sim = yes ]; then not_replaced sim hetsim -r t platform -q -o out in; fi
run "$hetsort" --report=speeds -o out in
is "the message proposes another name" "$rc/$err" "2/hetsort: 'speeds' exists and was not written by hetsort --report: choose \
another name, or remove it"
run "$hetsort" --report=r.json -o out nowhere
is "a failure is reported over an earlier report" "$rc/$(grep -c '"status": "refused"' r.json)" 2/1

# ------------------------------------------------------------ a file that appears while the job runs
for option in report html trace; do
  rm -f out late; mkfifo fifo
  "$hetsort" --$option=late -o out - <fifo 2>err &
  exec 3>fifo
  await sh -c 'ls .hetsort-*lock >/dev/null 2>&1'
  cp in2 late; cat in >&3; exec 3>&-
  wait $!
  is "--$option over a file put there while the job runs: status, file" "$?/$(cmp late in2)" 3/
  ok "--$option over a file put there while the job runs: message" grep -q "'late' exists and was not written by .*; the output is complete" err
  ok "--$option over a file put there while the job runs: the output is complete" cmp -s out <("$hetsort" -o - in)
  rm -f fifo late
done
done_testing
