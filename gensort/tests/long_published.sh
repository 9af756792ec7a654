#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The checksums of large data sets that entrants of the benchmark published, computed without a disk. One of the
# data sets is also piped into the validator.
# shellcheck source=scripts/tap.sh
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
[ -z "${SANITIZER:-}" ] || skip_all "checksums of 800 million records take hours under a sanitizer"
max=${PUBLISHED_MAX:-800000000} # records; more only takes longer

while IFS=$'\t' read -r flags recs want; do
  case $flags in '#'*) continue ;; esac
  [ "$recs" -le "$max" ] || continue
  run "$BIN/gensort" "${flags}c" "$recs" /dev/null
  is "$recs records $flags" "$rc $out$err" "0 $want"
done <"$ROOT/gensort/tests/published.tsv"

"$BIN/gensort" 100000000 - | "$BIN/valsort" - 2>text
is '100 million records through a pipe' "$(sed -n 's/^Checksum: //p' text)" 2faf4162801872c
is '100 million records are counted' "$(sed -n 's/^Records: //p' text)" 100000000

done_testing
