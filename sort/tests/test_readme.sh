#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The examples of README.md, docs/*.md and hetsort(7) work unchanged: the examples of README.md one after the other in one
# directory, each other example in an empty one. Blocks marked "sh mpirun", and examples of the manual with mpirun, are
# for mpi_readme.sh, which starts this test with EXAMPLES=mpirun. It executes the other examples of README.md as well,
# because users type all of them in order.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
wanted=${EXAMPLES:-sh}

for file in README.md docs/clusters.md docs/design.md docs/faults.md docs/performance.md docs/planner.md; do
  awk -v wanted="$wanted" -v name="${file##*/}" '
    /^```sh/ {
      inside = (wanted == "mpirun") == ($0 ~ /mpirun/) || (wanted == "mpirun" && name == "README.md")
      if (inside) f = "example." name "." ++n
      next
    }
    /^```/ {inside = 0}
    inside {print > f}' "$ROOT/$file"
done
sed 's/\\-/-/g; s/\\e/\\/g' "$ROOT/sort/man/hetsort.7" | awk -v wanted="$wanted" '
  /^\.Ss/ {task = $2 + 0}
  /^\.Bd -literal/ {inside = 1; text = ""; next}
  /^\.Ed/ && inside {inside = 0; if ((wanted == "mpirun") == (text ~ /mpirun/)) printf "%s", text > ("example.hetsort.7." task)}
  inside {text = text $0 "\n"}'

for example in example.*; do
  [ -e "$example" ] || continue
  case $example in *.README.md.*) place=run-README ;; *) place=run-$example ;; esac
  mkdir -p "$place"
  run sh -c 'cd "$1" && PATH="$2:$PATH" exec sh -eu "../$3"' sh "$place" "$BIN" "$example"
  is "$example: $(head -n 1 "$example")" "$rc" 0
  [ "$rc" -eq 0 ] || echo "# ${err//$'\n'/$'\n'# }"
done
is "hetsort(7) has thirteen tasks" "$(grep -c '^\.Ss [0-9]*\. ' "$ROOT/sort/man/hetsort.7")" 13
if [ "$wanted" = sh ] && [ -z "${SANITIZER:-}" ]; then
  awk '/^```c$/ {inside = 1; next} /^```/ {inside = 0} inside' "$ROOT/docs/planner.md" >example.c
  run "${CC:-cc}" -std=c11 -Wall -Werror -I"$ROOT/partition/include" -o example example.c \
    "$OBJ/libhetpart.a" -ldl -lm
  is "docs/planner.md, the example of the library builds" "$rc/$err" "0/"
  run ./example
  is "docs/planner.md, the example of the library divides all items" "$(awk '{s += $2} END {print s}' <<<"$out")" 1000000
fi
done_testing
