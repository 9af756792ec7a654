# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make distcheck, with a few tests: the archive builds, installs and is removed without a trace.
. "$ROOT/scripts/tap.sh"
unset MAKEFLAGS MFLAGS MAKELEVEL
{ [ -e "$ROOT/.git" ] && git -C "$ROOT" rev-parse HEAD >/dev/null 2>&1; } || skip_all "not in a git repository"
run make --no-print-directory -C "$ROOT" distcheck ARCHIVE="$PWD/hetsort-$(cat "$ROOT/VERSION").tar.gz" \
  TESTS='sort/cli/tests/test_manifest.sh partition/tests/test_install.sh'
is "make distcheck" "$rc $(tail -n 1 <<<"$out")" "0 distcheck: '$PWD/hetsort-$(cat "$ROOT/VERSION").tar.gz' is good"
done_testing
