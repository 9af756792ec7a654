#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The known vectors: records, checksums, validation and summaries, with 1 thread, and with 2, 3 or 7 threads in turn.
# Large vectors are sampled: each kind of records and each first record once, and one vector of a million records.
# check-long tests all vectors with all numbers of threads.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
here=$ROOT/gensort/tests
"${CC:-cc}" -O2 -o keysort "$here/keysort.c" || exit 1
# Sanitizers make everything ten times slower, and find no more in large vectors.
max=1000000
[ -z "${SANITIZER:-}" ] || max=1000

sha() { sha256sum | cut -d' ' -f1; }

generated() { # generated FLAGS START RECS CHECKSUM SHA256
  run "$BIN/gensort" "$1c" -t1 --no-fsync "-b$2" "$3" one
  is "gensort $1 -b$2 $3" "$rc $out $err $(sha <one)" "0  $4 $5"
  for t in "${several[@]}"; do
    run "$BIN/gensort" "$1c" -t"$t" --no-fsync "-b$2" "$3" many
    is "gensort $1 -b$2 $3, $t threads" "$rc $err $(cmp -s one many && echo same)" "0 $4 same"
  done
}

validated() { # validated NAME RECS CHECKSUM DUPLICATES SORTED_SHA SUMMARY_SHA
  local text
  printf -v text 'Records: %s\nChecksum: %s\nDuplicate keys: %s\n%s' "$2" "$3" "$4" \
    'SUCCESS - all records are in order'
  ./keysort <one >sorted
  [ "$2" -gt 100000 ] || is "$1 sorted" "$(sha <sorted)" "$5"
  for t in 1 "${several[@]}"; do
    run "$BIN/valsort" -t"$t" -o sum sorted
    is "valsort of $1, $t threads" "$rc/$out/$err/$(sha <sum)" "0//$text/$6"
  done
}

# chosen RECS - return whether this vector is tested. Takes the first large vector, then the next one that differs
# from all chosen vectors in flags and first record.
met=' ' row=0
numbers=(2 3 7)
several=("${numbers[@]}")
chosen() {
  [ -z "${HETSORT_LONG:-}" ] || return 0
  case $1 in
    1000000) [ "$flags/$start" = -/0 ]; return ;;
    100000) ;;
    *) [ "$1" -le 1000 ]; return ;;
  esac
  case $met in *" $flags "* | *" $start "*) return 1 ;; esac
  met+="$flags $start "
}

while IFS=$'\t' read -r flags start recs sum sha256 dups sorted_sha summary_sha; do
  case $flags in '#'*) continue ;; esac
  [ "$recs" -le $max ] || continue
  chosen "$recs" || continue
  row=$((row + 1))
  [ -n "${HETSORT_LONG:-}" ] || several=("${numbers[row % 3]}")
  generated "$flags" "$start" "$recs" "$sum" "$sha256"
  [ "$recs" -eq 0 ] ||
    validated "$flags $start+$recs" "$recs" "$sum" "$dups" "$sorted_sha" "$summary_sha"
done <"$here/vectors.tsv"

# A block boundary beyond 2^64: the carry must reach the high half in every thread.
for t in 1 2 3 7; do
  run "$BIN/gensort" -act$t --no-fsync -b18446744073709551615 200000 carry
  is "carry into the high half, $t threads" "$err $(sha <carry)" \
    "185fb1ab334b1 dc8f1b24ef79ea8fb74963e70eddd597beff98496519e9ad4d1dc89c194ff668"
done

while IFS=$'\t' read -r flags want; do
  case $flags in '#'*) continue ;; esac
  "$BIN/gensort" "$flags"t1 10 - | ./keysort >ten
  "$BIN/valsort" -q -o sum ten
  is "summary file of ten records $flags" "$(od -An -v -tx1 sum | tr -d ' \n')" "$want"
done <"$here/summary.tsv"

while IFS=$'\t' read -r start flags a b c; do
  case $start in '#'*) continue ;; esac
  is "first three records $flags -b$start" \
    "$("$BIN/gensort" "${flags}b$start" 3 - | od -An -v -tx1 | tr -d ' \n')" "$a$b$c"
done <"$here/first3.tsv"

done_testing
