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
if [ "$wanted" = sh ] && [ -z "${SANITIZER:-}" ]; then
  awk '/^```c$/ {inside = 1; next} /^```/ {inside = 0} inside' "$ROOT/README.md" >example.c
  # shellcheck disable=SC2046  # several words
  run "${CC:-cc}" -std=c11 -Wall -Werror -I"$ROOT/partition/include" -o example example.c \
    "$OBJ/libhetpart.a" $(pkg-config --libs gsl) -lglpk -lm
  is "README, the library's example builds" "$rc/$err" "0/"
  run ./example
  is "README, the library's example divides all items" "$(awk '{s += $2} END {print s}' <<<"$out")" 1000000
fi
done_testing
