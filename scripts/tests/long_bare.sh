# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Both commands of README on a bare Debian as an ordinary user without a network; .ci/run runs them there as root.
. "$ROOT/scripts/tap.sh"
[ "$(id -u)" -eq 0 ] || skip_all "takes root"
"$ROOT/scripts/deps" --check bare >deps.out 2>&1 || skip_all "no bare system can be made: $(tail -n 1 deps.out)"
scratch=$(mktemp -d /var/tmp/hetsort-bare.XXXXXX)
trap 'rm -rf --one-file-system "$scratch"' EXIT

run "$ROOT/scripts/fresh-root" --ways user --cache "${XDG_CACHE_HOME:-/var/cache}/hetsort" "$scratch"
is "demo and check as a user" "$rc" 0
[ "$rc" -eq 0 ] || tail -n 300 <<<"$out" | sed 's/^/# /'
is "each command ran" "$(grep -c -E '^user +(demo|check) .* ok(,|$)' <<<"$out")" 2
done_testing
