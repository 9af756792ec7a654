#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The commands of docs/formats.md: each section's are run unchanged on a file that a tool of its field has made, on one
# rank and on three, and a tool of the field judges the output. A format is skipped if one of its tools is missing.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
# shellcheck source=python/tests/python_help.sh
. "$ROOT/python/tests/python_help.sh"
set -u
cd "$TEST_TMP" || exit 1
export HOME=$TEST_TMP PYTHONDONTWRITEBYTECODE=1 PATH=$TEST_TMP/tools:$PATH MORE
mkdir tools
# shellcheck disable=SC2016  # the program expands MORE
printf '#!/bin/sh\nexec "%s/hetsort" $MORE "$@"\n' "$BIN" >tools/hetsort
chmod +x tools/hetsort

# version TOOL - its name and version, in a line
version() {
  case $1 in
    kallisto | bustools) echo "$1 $("$1" version | sed 's/.*version //')" ;;
    fitsverify) fitsverify /dev/null 2>&1 | sed -n 's/^ *\(fitsverify [0-9.]*\) .*/\1/p' ;;
    *) "$1" --version 2>&1 | head -n 1 | sed 's/: Version//' ;;
  esac
}

# begin FORMAT "COMMAND..." "MODULE..." - change to a new directory if all of them are installed; sets name and python
begin() {
  local tool with=''
  for tool in $2; do
    command -v "$tool" >/dev/null || { skip "$1" "$tool is not installed"; return 1; }
    with+=", $(version "$tool")"
  done
  # shellcheck disable=SC2086  # modules are words
  if [ -n "$3" ]; then
    rm -f "$TEST_TMP/tools/python3" && hash -r # a command that the last format had
    python=$(python_with $3) || { skip "$1" "no python3 with ${3// / and }"; return 1; }
    with+=$("$python" -c 'import sys
for m in sys.argv[1:]: print(", %s %s" % (m, getattr(__import__(m), "__version__", "of Python")), end="")' $3)
    printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$python")" >"$TEST_TMP/tools/python3" && chmod +x "$TEST_TMP/tools/python3"
  fi
  mkdir "$TEST_TMP/$1" && cd "$TEST_TMP/$1" || exit 1
  name="$1 (${with#, })" format=$1
}
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }

# example JUDGE OUTPUT... - run the commands of the section on one rank, then on three, and judge each time; three ranks must
# write the same OUTPUT. The judge is a format of formats_help.py, or "".
example() {
  local judge=$1 file
  shift
  awk -v head="### $format" '/^##/ { here = $0 == head } /^```/ { code = here && $0 == "```sh"; next } code' "$ROOT/docs/formats.md" >commands
  ok "$name: there are commands" test -s commands
  mkdir one
  for MORE in --ranks=1 "--ranks=3 -f"; do
    run sh -eu commands
    is "$name, $MORE: the commands succeed" "$rc" 0
    [ -z "$judge" ] || judge "$judge"
    [ "$MORE" != --ranks=1 ] || [ $# -eq 0 ] || cp "$@" one
  done
  for file in "$@"; do ok "$name: three ranks write the same $file" cmp -s "$file" "one/$file"; done
}
make() { "$python" -W error "$ROOT/sort/tests/formats_help.py" make "$@" || exit 1; }
judge() { is "$name, $MORE: judged" "$("$python" -W error "$ROOT/sort/tests/formats_help.py" judge "$1" 2>&1)" good; }

# Reads of 90 bases of 20 transcripts: t.fa, and 1.fq and 2.fq, with barcodes of 16 bases and UMIs of 10; a third of the
# pairs is a copy of the pair before.
reads() {
  awk 'function base(n) { return substr("ACGT", 1 + int(n * rand()), 1) }
    BEGIN {
      srand(7)
      for (t = 0; t < 20; t++) {
        for (i = 0; i < 300; i++) text[t] = text[t] base(4)
        printf ">t%d\n%s\n", t, text[t] >"t.fa"
      }
      for (i = 0; i < 3000; i++) {
        if (i % 3 < 2) {
          code = ""
          for (j = 0; j < 26; j++) code = code base(j % 5 ? 1.3 : 4)
          read = substr(text[int(20 * rand())], 1 + int(200 * rand()), 90)
        }
        printf "@r%d\n%s\n+\n%026d\n", i, code, 0 >"1.fq"
        printf "@r%d\n%s\n+\n%090d\n", i, read, 0 >"2.fq"
      }
    }'
}

if begin BUS "kallisto bustools" ""; then
  reads
  { kallisto index -i index t.fa && kallisto bus -i index -o . -x 10xv2 1.fq 2.fq; } >log 2>&1 || cat log
  example '' sorted.bus expected.bus
  ok "$name: kallisto wrote copies" test "$(stat -c %s sorted.bus)" -lt "$(stat -c %s output.bus)"
  { head -n 4000 1.fq >3.fq && head -n 4000 2.fq >4.fq && kallisto bus -i index -o more -x 10xv2 3.fq 4.fq &&
    bustools sort -m 100M -o more.bus more/output.bus && bustools sort -m 100M -o both.bus sorted.bus more.bus; } >log 2>&1 || cat log
  # shellcheck disable=SC2046  # options
  run "$BIN/hetsort" --merge $(grep -o -e '--[^ ]*=[0-9][^ ]*' commands) --skip-header=49 --unique -o merged.bus sorted.bus more.bus
  is "$name: sorted files are merged as by bustools" "$rc/$err/$(cmp merged.bus both.bus)" 0//
fi

if begin "FITS tables" "fitscheck fitsverify" astropy; then
  make fits
  example fits
  is "$name: fitsverify" "$(fitsverify -q sorted.fits | tr -s ' ')" "verification OK: sorted.fits "
  # Rows of 16 bytes keep the sums. The padding may be as long as rows are: 1236 rows take 6.9 blocks, 180 take one.
  make plain 5 180 1236
  for rows in 5 180 1236; do
    for way in "" "--ranks=3" "--ranks=2 --merge"; do
      from=in.$rows && [ "${way#*--merge}" != "$way" ] && from=sorted.$rows
      # shellcheck disable=SC2086  # a way is several words
      run "$BIN/hetsort" --record-size=16 --key=0,f64be --skip-header=5760 --records=$rows -s $way -f -o out.$rows "$from"
      is "$name: $rows rows of 16 bytes, ${way:-one rank}" "$rc/$err/$(fitsverify -q out.$rows | cut -d: -f1)" "0//verification OK"
      mv out.$rows sorted.$rows
    done
    run "$BIN/hetsort" --check --record-size=16 --key=0,f64be --skip-header=5760 --records=$rows sorted.$rows
    is "$name: $rows rows of 16 bytes, --check" "$rc/$err" 0/
  done
  judge plain
fi

if begin SEG-Y segyio-catb "segyio numpy"; then
  make segy
  example segy sorted.sgy
fi

if begin HDF5 "h5dump h5repack h5diff" "h5py numpy"; then
  make hdf5
  example hdf5
  ok "$name: h5dump prints the events" grep -q '"id"' <<<"$out"
  ok "$name: h5diff sees no other dataset change" h5diff -q plain.h5 sorted.h5 before && h5diff -q plain.h5 sorted.h5 after
fi

if begin npy "" numpy; then
  make npy
  example npy sorted.npy
fi

if begin LAS "" "laspy numpy"; then
  make las
  example las sorted.las
fi

if begin "Edge lists" "" "numpy scipy"; then
  make edges
  example edges sorted.edges
fi

if begin k-mers jellyfish ""; then
  reads
  jellyfish count -m 21 -s 100k -C -o mers.jf 2.fq
  head -n 4000 2.fq >3.fq # the command in the header has the same length
  jellyfish count -m 21 -s 100k -C -o more.jf 3.fq
  jellyfish dump -c mers.jf | LC_ALL=C sort >expected.txt
  jellyfish merge -o merged.jf mers.jf more.jf
  example '' sorted.jf sorted.txt most.jf all.jf
  ok "$name: as sort(1) orders jellyfish's lines" cmp -s sorted.txt expected.txt
  is "$name: the most frequent" "$out" "$(LC_ALL=C sort -k2,2nr -k1,1 expected.txt | head -n 10)"
  ok "$name: as jellyfish merges two files" cmp -s all.txt <(jellyfish dump -c merged.jf | LC_ALL=C sort)
  is "$name: histo" "$(jellyfish histo sorted.jf)" "$(jellyfish histo mers.jf)"
fi

if begin "Password hashes" look hashlib; then
  make hashes
  example hashes sorted.txt byhash.bin bycount.bin
  is "$name: look" "$out" 5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8
  ok "$name: sort(1)" cmp -s sorted.txt <(LC_ALL=C sort -u hashes.txt)
fi
done_testing
