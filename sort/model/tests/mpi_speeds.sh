#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Jobs measure speeds by default if they use several hosts and their shares depend on speeds.
set -u
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1
"$ROOT/scripts/mpirun" --here || skip_all "no MPI here"
truncate -s 8000M in # the plan does not read it

if [ "$(id -u)" -eq 0 ]; then own_name="unshare --uts"; else own_name="unshare -r --uts"; fi
$own_name sh -c 'echo a >/proc/sys/kernel/hostname' 2>refused || skip_all "no names of hosts here: $(paste -sd' ' refused)"

# Rank r runs under the name of the r-th host of $HOSTS.
cat >on_host <<END
#!/bin/bash
read -ra hosts <<<"\$HOSTS"
host=\${hosts[\${OMPI_COMM_WORLD_RANK:-\${PMI_RANK:-0}}]}
exec $own_name sh -c 'echo "\$0" >/proc/sys/kernel/hostname && exec "\$@"' "\$host" "\$@"
END
chmod +x on_host

# rates HOSTS OPTION... - print the kind of rates that a plan on these hosts uses: "measured" or "nominal"
rates() {
  HOSTS=$1 run timeout 120 "$ROOT/scripts/mpirun" 2 ./on_host "$BIN/hetsort" --explain "${@:2}" in
  sed -n 's/^predicted makespan .*, at \(the \)\{0,1\}\([a-z]*\) rates.*/\2/p' <<<"$out"
}

is "two hosts" "$(rates "a b")" measured
is "one host" "$(rates "a a")" nominal
is "two hosts, --plan equal" "$(rates "a b" --plan equal)" nominal
is "two hosts, --plan online" "$(rates "a b" --plan online --wisdom none)" nominal
is "two hosts, given speeds" "$(rates "a b" --speeds 1,0.5)" nominal
is "two hosts, rank 0 has the input" "$(rates "a b" --source root)" measured
is "and scatters it in equal parts" "$(rates "a b" --source root --scatter equal)" nominal
truncate -s 1000 in
is "two hosts, little to sort" "$(rates "a b")" nominal
done_testing
