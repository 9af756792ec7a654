# shellcheck shell=bash
# What must not grow with the square of the ranks, where many share a process.
# shellcheck disable=SC2154  # run sets rc, out, err
. "$ROOT/scripts/tap.sh"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers take memory of their own for each thread"
"$BIN/gensort" 20000 in.dat 2>/dev/null

# A rank has a stack, and what it finds out of its host; of the others, next to nothing.
run "$BIN/hetsort" --explain --ranks 1000 --io=threads --report plan.json -o out.dat in.dat
is "a plan for 1000 ranks" "$rc/$(grep -c '^1000 ranks (threads)' <<<"$out")" 0/1
peak=$(grep -o '"process_peak": *[0-9]*' plan.json | head -1 | grep -o '[0-9]*$')
planned=$(grep -o '"planned_bytes": *[0-9]*' plan.json | head -1 | grep -o '[0-9]*$')
ok "for what comes from each other rank, less than 1.5 kB beside 1 MB: $planned bytes" test "$planned" -lt 2500000
ok "it takes less than 120 kB a rank: $peak bytes" test "$peak" -lt 120000000
done_testing
