#!/usr/bin/env bash
# The README's examples run as they stand, each in an empty folder. Blocks marked "sh mpirun" are for
# mpi_readme.sh, which runs this with EXAMPLES=mpirun.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
wanted=${EXAMPLES:-sh}

awk -v wanted="$wanted" '
  /^```sh/ {inside = (wanted == "mpirun") == ($0 ~ /mpirun/); if (inside) f = "example." ++n; next}
  /^```/ {inside = 0}
  inside {print > f}' "$ROOT/README.md"

for example in example.*; do
  [ -e "$example" ] || continue
  mkdir "run-$example"
  run sh -c 'cd "$1" && PATH="$2:$PATH" exec sh -eu "../$3"' sh "run-$example" "$BIN" "$example"
  is "README, $example: $(head -n 1 "$example")" "$rc" 0
  [ "$rc" -eq 0 ] || echo "# ${err//$'\n'/$'\n'# }"
done
done_testing
