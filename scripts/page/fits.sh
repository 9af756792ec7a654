# shellcheck shell=bash disable=SC2154  # the test sets browser
# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of pages in a browser, whose name is $browser.

# browse FILE WIDTH [OPTION...] - the document as $browser has it in the end goes to dom, what it complains of to console
browse() {
  local file=$1 width=$2; shift 2
  "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$TEST_TMP/profile" --window-size="$width,1000" \
    --enable-logging=stderr --virtual-time-budget=5000 --dump-dom "$@" "file://$PWD/$file" >dom 2>log
  grep CONSOLE log >console
}

# The complaints of a page about itself: words of a picture outside of it, on each other or on bars and lines (except the
# lines of the axis), words of a bar that is too short for them, a row with a single tile, NaN and the like, and a page that is
# wider than its window. The last line says how many words there were.
cat >fit.html <<'EOF'
<script>
for (const picture of document.querySelectorAll('.picture svg')) {
  const view = picture.viewBox.baseVal, seen = [];
  const marks = [...picture.querySelectorAll('rect:not(.ground), line:not(.axis)')].map((mark) => mark.getBoundingClientRect());
  for (const words of picture.querySelectorAll('text')) {
    const b = words.getBBox(), name = `${picture.getAttribute('aria-label')}: ${words.firstChild.data}`;
    if (b.x < -0.5 || b.y < -0.5 || b.x + b.width > view.width + 0.5 || b.y + b.height > view.height + 0.5) console.error(`outside: ${name}`);
    for (const [c, other] of seen)
      if (b.x < c.x + c.width && c.x < b.x + b.width && b.y < c.y + c.height - 2 && c.y < b.y + b.height - 2) console.error(`${name} is on ${other}`);
    seen.push([b, words.firstChild.data]);
    const c = words.getBoundingClientRect(), inBar = words.matches('.on-dark, .on-light');
    if (!inBar && marks.some((m) => c.left < m.right && m.left < c.right && c.top + 3 < m.bottom && m.top < c.bottom - 3)) console.error(`${name} is on a mark`);
    if (inBar && !marks.some((m) => m.left <= c.left && c.right <= m.right && m.top <= c.top + 3 && c.bottom - 3 <= m.bottom)) console.error(`${name} is wider than its bar`);
  }
}
for (const tiles of document.querySelectorAll('.figures')) {
  const tops = [...tiles.children].map((tile) => tile.offsetTop);
  if (tops.length > 1 && tops.some((top) => tops.filter((other) => other === top).length === 1)) console.error('a row has a single tile');
}
for (const word of ['NaN', 'undefined', 'Infinity', '[object', 'null'])
  if (document.getElementById('page').outerHTML.includes(word)) console.error(`the page says ${word}`);
if (document.documentElement.scrollWidth > innerWidth) console.error(`${document.documentElement.scrollWidth} wide`);
console.error(`looked at ${document.querySelectorAll('.picture text').length} at ${innerWidth}`);
</script>
EOF

# fits NAME [FILE] - the pictures of NAME.html have room for their words, in frames, as windows are not that narrow. FILE is
# the script that looks [fit.html].
fits() {
  local name=$1 width
  cat "$name.html" "${2:-fit.html}" >whole.html
  for width in 400 1600; do
    echo "<!DOCTYPE html><iframe src='whole.html' width='$width' height='900' style='border: 0'></iframe>" >frame.html
    browse frame.html 1700
    ok "$name, $width px: it was looked at" grep -q "looked at [1-9][0-9]* at $width" console
    is "$name, $width px: words have room" "$(grep -v 'looked at' console | sed 's/.*CONSOLE[^"]*//' | head -n 3)" ""
  done
}
