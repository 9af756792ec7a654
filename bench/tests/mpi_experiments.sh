# shellcheck shell=bash disable=SC2317  # functions called through ok
# bench/experiments, small: every variant runs and is validated, samples and table fit each other,
# and nothing is left. What it measures is not judged here.
. "$ROOT/scripts/tap.sh"
experiments=$ROOT/bench/experiments
run "$experiments" slow --records 0
is "no records are refused" "$rc" 2
run "$experiments" slow --records
is "a missing value is refused" "$rc" 2
run "$experiments" fast
is "an unknown experiment is refused" "$rc" 2
run "$ROOT/scripts/cluster" doctor
if [ "$rc" != 0 ] || ! grep -q '^ok Open MPI' <<<"$out"; then
  echo "# no virtual hosts here:"; sed -n 's/^missing/# missing/p' <<<"$out"; done_testing
fi

mkdir disks
run "$experiments" slow --hosts 3 --slow 1:2 --records 20011 --repeat 2 --dir "$PWD/disks" --json samples
is "it succeeds" "$rc" 0
[ "$rc" = 0 ] || echo "# ${err//$'\n'/$'\n# '}"
is "a line for each sample" "$(wc -l <samples)" 8
is "of each variant two" "$(grep -c '"variant":"A3"' samples)" 2
ok "with the speeds" grep -q '"speeds":\[1,1,0.5\]' samples
positive() { ! grep -v -q -E '"makespan_s":([1-9][0-9]*\.|0\.0*[1-9])[0-9]*,"spread":[01]\.[0-9]+}$' samples; }
ok "and a makespan" positive
smallest() { sed -n "s/.*\"variant\":\"$1\".*\"makespan_s\":\([0-9.]*\),.*/\1/p" samples | sort -n | head -n 1; }
for v in A1 A2 A3; do
  is "the table has the least of $v" "$(awk -v v=$v '$1 == v {print $3}' <<<"$out")" "$(printf '%.2f' "$(smallest $v)")"
done
ok "the ideal is one host's time over the sum of speeds" grep -q '^ideal .*over the sum of speeds 2\.5)' <<<"$out"
is "nothing is left" "$(ls disks)" ""
done_testing
