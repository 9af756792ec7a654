# shellcheck shell=bash
# SPDX-License-Identifier: GPL-3.0-or-later
# make html: a page for each manual, call and document, an index, no link that leads nowhere, and valid HTML.
. "$ROOT/scripts/tap.sh"
command -v mandoc >/dev/null || skip_all "mandoc is not installed"
manuals=("$ROOT"/*/man/*.[1-7] "$ROOT"/partition/mpi/man/*.[1-7])

# Links, and the places that they may lead to: PATH and PATH#ID, one a line.
links() {
  local page
  while IFS= read -r page; do
    grep -h -o -E '(href|src)="[^":]+"' "$page" | cut -d'"' -f2 | sed "s|^#|${page##*/}#|; s|^|${page%/*}/|"
  done < <(find "$1" -name '*.html') | sort -u | xargs -d '\n' realpath -m --relative-to="$1" | LC_ALL=C sort -u
}
places() {
  find "$1" -type f -size +0 -printf '%P\n'
  find "$1" -name '*.html' -printf '%P\n' | (cd "$1" && xargs grep -o -E ' id="[^"]*"') | sed 's/: id="/#/; s/"$//'
}
dead() { comm -23 <(links "$1") <(places "$1" | LC_ALL=C sort -u); }

mkdir none
for tool in bash sh env mandoc mkdir cp sed awk dirname realpath mktemp rm cat grep sort cut tr; do ln -s "$(command -v $tool)" none/; done
run env PATH="$PWD/none" "$ROOT/scripts/html" manuals "${manuals[@]}"
is "without lowdown only manuals" "$rc/$out/$err" \
  "0/manuals/index.html/html: without README.md and docs/: no lowdown here; scripts/deps lint installs it"
ok "a page of a program" grep -q '<b>hetsort-report</b>\|>hetsort-report</code>' manuals/hetsort-report.1.html
ok "a page under the name of a call" test -s manuals/hetsort_sort_counts.3.html
index() { sed -n 's/.*<tr><td><a href="\([^"]*\)">\([^<]*\)<.a><.td><td>\(.*\)<.td><.tr>/\1 \2 \3/p' "$1"; }
is "the index has all manuals, each with its line" "$(index manuals/index.html | LC_ALL=C sort)" \
  "$(for f in "${manuals[@]}"; do n=${f##*/}; echo "$n.html ${n%.*}(${n##*.}) $(sed -n 's/^\.Nd //p' "$f")"; done | LC_ALL=C sort)"
ok "there are links" test "$(links manuals | wc -l)" -gt 100
is "all lead to existing places" "$(dead manuals)" ""
ok "others to pages of Debian" grep -q 'href="https://manpages.debian.org/mpirun.1"' manuals/hetsort.1.html

if command -v lowdown >/dev/null; then
  run "$ROOT/scripts/html" html "${manuals[@]}"
  is "with documents" "$rc/$out/$err" 0/html/index.html/
  is "the index has them" "$(comm -13 <(index html/index.html | cut -d' ' -f2 | LC_ALL=C sort) \
    <(cd "$ROOT" && printf '%s\n' README.md docs/*.md | LC_ALL=C sort))" ""
  is "all of their links lead to existing places" "$(dead html)" ""
  ok "a link to a heading" grep -q -x 'docs/clusters.html#a-simulated-cluster' <(links html)
  ok "a manual links to a document" grep -q 'href="docs/clusters.html"' html/hetsort.7.html
  ok "a document links to a manual" grep -q 'href="../hetsim.1.html">hetsim(1)</a>' html/docs/clusters.html
  sed -i 's/id="a-simulated-cluster"//' html/docs/clusters.html && rm html/docs/compare.png
  is "a lost heading and a lost picture are noticed" "$(dead html | tr '\n' ' ')" "docs/clusters.html#a-simulated-cluster docs/compare.png "
else echo "# omitted: lowdown is not installed"; fi
if command -v tidy >/dev/null; then
  while IFS= read -r page; do
    tidy -q -e "$page" >/dev/null 2>said || { echo "$page"; head -n 3 said; }
  done < <(find manuals html -name '*.html' 2>/dev/null) >invalid
  is "the pages are valid HTML" "$(<invalid)" ""
else echo "# omitted: tidy is not installed"; fi
done_testing
