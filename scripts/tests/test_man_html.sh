# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make html: a page for each manual and each call, and no link that leads nowhere.
. "$ROOT/scripts/tap.sh"
command -v mandoc >/dev/null || skip_all "mandoc is not installed"

run "$ROOT/scripts/man-html" html "$ROOT"/sort/man/*.[1-7] "$ROOT"/partition/man/*.[1-7]
is "it says where the index is" "$rc/$out/$err" 0/html/index.html/
ok "a page of a program" grep -q '<b>hetsort-report</b>\|>hetsort-report</code>' html/hetsort-report.1.html
ok "a page under the name of a call" test -s html/hetsort_sort_counts.3.html
is "the index has all manuals" "$(grep -c '<tr><td><a href=' html/index.html)" \
  "$(find "$ROOT/sort/man" "$ROOT/partition/man" -name '*.[1-7]' | wc -l | tr -d ' ')"
is "links lead to existing pages" \
  "$(grep -h -o 'href="[^":#]\+["#]' html/*.html | sed 's/href="//; s/["#]$//' | sort -u | while read -r f; do [ -s "html/$f" ] || echo "$f"; done)" ""
ok "others to pages of Debian" grep -q 'href="https://manpages.debian.org/mpirun.1"' html/hetsort.1.html
done_testing
