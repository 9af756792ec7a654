# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# The experiments at sizes where figures mean something: some minutes on 2 processors. An experiment whose expectations fail
# is tried once more, because others may disturb it unseen.
. "$ROOT/scripts/tap.sh"
[ -z "${SANITIZER:-}" ] || skip_all "no speeds are measured under sanitizers"
if [ "${HAVE_MPI:-no}" != yes ] || ! "$ROOT/scripts/mpirun" --here; then skip_all "no MPI here"; fi
command -v python3 >/dev/null || skip_all "python3 is not installed"
run "$ROOT/scripts/cluster" doctor
if [ "$rc" != 0 ] || ! grep -q '^ok Open MPI' <<<"$out"; then
  skip_all "no virtual hosts here: $(sed -n 's/^missing //p' <<<"$out" | paste -sd';')"
fi
[ "$(nproc)" -gt 1 ] || skip_all "hosts of enough speed take 2 processors"
[ "$(awk '/^MemAvailable/ {print $2}' /proc/meminfo)" -gt 8000000 ] || skip_all "the disks of the hosts take 8 GB of memory"

verdicts() { # verdicts FILE... - a line for each expectation: it holds in a try, all tries were disturbed, or it is missed
  python3 - "$@" <<'PY'
import json, sys
held, disturbed = {}, []
for path in sys.argv[1:]:
    lines = [json.loads(line) for line in open(path)]
    disturbed.append(any(x.get("disturbed") for x in lines))
    for x in lines:
        if x["type"] == "expectation":
            held.setdefault(x["text"], []).append(x["holds"])
for text, of in held.items():
    print("holds" if any(of) else "disturbed" if all(disturbed) else "MISSED", text, sep="\t")
PY
}

experiment() { # experiment NAME OPTIONS...: one or two tries, and a test point for each expectation
  local name=$1 try tries=() verdict text; shift
  for try in 1 2; do
    run timeout 600 "$ROOT/bench/experiments" "$name" "$@" --out "try$try"
    ok "$name: it runs, and all outputs are right" grep -q '^written: ' <<<"$out"
    sed -n "s/^$name: \(holds\|FAILS\|not judged\)/# sum: $name: \1/p" <<<"$out"
    tries+=("try$try/$name.jsonl")
    [ "$rc" != 0 ] || break
  done
  verdicts "${tries[@]}" >"$name.verdicts"
  ok "$name: something is expected" test -s "$name.verdicts"
  while IFS=$'\t' read -r verdict text; do ok "$name: $text" test "$verdict" != MISSED; done <"$name.verdicts"
}

experiment slow --records 6M --rounds 3
experiment adapt --records 4M --rounds 3
experiment ratios --records 3M --rounds 2
experiment learning --records 3M --rounds 1
experiment scatter --items 1200 --measured 2 --repeat 1
done_testing
