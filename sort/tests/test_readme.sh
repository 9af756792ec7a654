#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The examples of README.md, docs/*.md and hetsort(7) work unchanged: the examples of README.md one after the other in one
# directory, each other example in an empty one. Examples with mpirun are for mpi_readme.sh, which starts this test with
# EXAMPLES=mpirun. It executes the other examples of README.md as well, because users type all of them in order. Two blanks
# and a comment after a command state a line of its output: "..." stands for any text, numbers have two decimals, and the
# command may fail. test_formats.sh runs the commands of docs/formats.md, whose inputs it makes.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
wanted=${EXAMPLES:-sh}

for file in "$ROOT/README.md" "$ROOT"/docs/*.md; do
  [ "${file##*/}" != formats.md ] || continue
  awk -v wanted="$wanted" -v name="${file##*/}" '
    /^```sh$/ {inside = 1; text = ""; next}
    /^```/ && inside {
      inside = 0; n++
      if ((wanted == "mpirun") == (text ~ /mpirun/) || (wanted == "mpirun" && name == "README.md"))
        printf "%s", text > ("example." name "." n)
    }
    inside && match($0, /  +# /) {
      command = substr($0, 1, RSTART - 1); gsub(/\047/, "\047\\\047\047", command)
      $0 = "shows \047" substr($0, RSTART + RLENGTH) "\047 \047" command "\047"
    }
    inside {text = text $0 "\n"}' "$file"
done
cat >shows.sh <<'END'
shows() { # shows TEXT COMMAND
  sh -c "$2" 2>&1 | cat >shown
  awk '{
    while (match($0, /[0-9]+\.[0-9][0-9][0-9]+/))
      $0 = substr($0, 1, RSTART - 1) sprintf("%.2f", substr($0, RSTART, RLENGTH)) substr($0, RSTART + RLENGTH)
    print}' shown | grep -q -e "$(printf '%s' "$1" | sed 's/[].*[\^$]/\\&/g; s/\\\.\\\.\\\./.*/g')" ||
    { echo "'$2' does not show '$1', but"; cat shown; exit 1; } >&2
}
END
is "each example of hetsim is in a block that is executed" "$(grep -n -E '^ +hetsim ' "$ROOT"/README.md "$ROOT"/docs/*.md)" ""
is "and no manual has other figures of hetsim" "$(grep -n -E '^\$ hetsim .* # ' "$ROOT"/*/man/*.[1-8])" ""
sed 's/\\-/-/g; s/\\e/\\/g' "$ROOT/sort/man/hetsort.7" | awk -v wanted="$wanted" '
  /^\.Ss/ {task = $2 + 0}
  /^\.Bd -literal/ {inside = 1; text = ""; next}
  /^\.Ed/ && inside {inside = 0; if ((wanted == "mpirun") == (text ~ /mpirun/)) printf "%s", text > ("example.hetsort.7." task)}
  inside {text = text $0 "\n"}'

for example in example.*; do
  [ -e "$example" ] || continue
  case $example in *.README.md.*) place=run-README ;; *) place=run-$example ;; esac
  if grep -q '^hetsim\|^shows .*hetsim' "$example" && [ ! -x "$BIN/hetsim" ]; then continue; fi
  mkdir -p "$place"
  run sh -c 'cd "$1" && PATH="$2:$PATH" exec sh -eu -c ". ../shows.sh; . ../$3"' sh "$place" "$BIN" "$example"
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
