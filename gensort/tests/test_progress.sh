#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Long work prints its progress on a terminal, within the width of the terminal, and nothing elsewhere.
# shellcheck source=scripts/tap.sh disable=SC2317
. "$ROOT/scripts/tap.sh"
cd "$TEST_TMP" || exit 1

timeout -s TERM 4 "$BIN/gensort" -t1 1000000000000 /dev/null 2>said
is "no progress without a terminal" "$?/$(cat said)" 124/

have_terminal || { echo "# omitted: no pseudo terminals"; done_testing; exit; }
on_terminal 80 15 '[0-9] of 100.00 GB [0-9]+%, [0-9]+ MB/s, [0-9]+:[0-9]+, [0-9]+:[0-9]+ left' "$BIN/gensort" -t1 1000000000 /dev/null
ok "gensort prints bytes, rate and the time left" grep -q -E '^columns [4-7][0-9], seen, status -15$' <<<"$out"
on_terminal 30 15 '[0-9] of 100' "$BIN/gensort" -t1 1000000000 /dev/null
is "a narrow terminal: the line is cut" "$(tail -n 1 <<<"$out")" "columns 29, seen, status -15"
# shellcheck disable=SC2016 # for the other shell
on_terminal 80 15 '[0-9] GB, [0-9]+ MB/s, [0-9]+:[0-9]+' bash -c 'exec "$0/valsort" - < <(exec "$0/gensort" -t1 1000000000 -)' "$BIN"
ok "valsort prints the bytes read from a stream" grep -q ', seen, status -15$' <<<"$out"
done_testing
