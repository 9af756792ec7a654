# shellcheck shell=bash
# How wrong lines of --progress were, of planted ones; bench/eta itself takes virtual hosts.
. "$ROOT/scripts/tap.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
cat >lines <<'LINES'
hetsort: read 121 of 500 MB 24%, job 9%, 0:01, 0:27 left, slowest 0 n0
hetsort: read, 0:02
hetsort: read 324 of 500 MB 64%, job 25%, 84.4 MB/s, 0:03, 0:10 left, slowest 0 n0
hetsort: merge 93 of 500 MB 18%, job 51%, 60.8 MB/s, 0:06, 1:00:02 left, slowest 2 n0
hetsort: 5000000 records, 500 MB, in 11.0 s, 31.3 MB/s, balance 1.07
LINES
run env PYTHONPATH="$ROOT/bench" PYTHONDONTWRITEBYTECODE=1 python3 -c '
from harness import progress
lines = progress.told(open("lines").read())
print(lines)
print(progress.errors(lines, 11, (0.2, 0.5, 0.9)))'
is "seconds since the start and left; by how much they were wrong, where there is a line" "$out" "[(1, 27), (3, 10), (6, 3602)]
[0.25, 719.4, None]"
run "$ROOT/bench/eta" --frobnicate
is "what it does not know is refused" "$rc" 2
done_testing
