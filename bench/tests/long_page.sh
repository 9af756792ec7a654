# shellcheck shell=bash disable=SC2154  # run sets rc, out
# SPDX-License-Identifier: GPL-3.0-or-later
# The page of an experiment in a browser, headless Chromium: it has nothing to complain of, shows what the samples say, and
# fits a small screen and a wide one.
. "$ROOT/scripts/tap.sh"
# shellcheck source=bench/tests/draw_help.sh
. "$ROOT/bench/tests/draw_help.sh"
command -v python3 >/dev/null || skip_all "python3 is not installed"
[ -x "$BIN/hetsim" ] || skip_all "no hetsim here"
[ -z "${SANITIZER:-}" ] || skip_all "sanitizers do not follow coroutines"
can_draw || skip_all "matplotlib is not installed"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || skip_all "no chromium is installed"

# shellcheck source=scripts/page/fits.sh
. "$ROOT/scripts/page/fits.sh"

cat >page.txt <<'END'
title Two <speeds> & a change
vary speed 1/2 1/4
1 x speed 1
1 x speed {speed}
records 6M
equal steady: --plan equal
planned: --speeds {speeds}
online jobs 2: --plan online
at 50% host 1 speed 1/8
published equal 100
published planned 80
END
run "$ROOT/bench/experiments" page.txt --on hetsim --out results
is "the experiment runs" "$rc" 0
cat >look.html <<'END'
<script>
const texts = [...document.querySelectorAll('svg text')].map((t) => [t.textContent, t.getBoundingClientRect()]).filter(([, b]) => b.width > 0);
for (const [a, x] of texts)
  for (const [b, y] of texts)
    if (a < b && x.left < y.right - 1 && y.left < x.right - 1 && x.top < y.bottom - 2 && y.top < x.bottom - 2) console.error(`${a} is on ${b}`);
if (document.documentElement.scrollWidth > innerWidth) console.error(`${document.documentElement.scrollWidth} wide`);
const words = document.body.innerText;
for (const bad of ['NaN', 'nan', 'undefined', 'Infinity', 'None']) if (words.includes(bad)) console.error(`shows ${bad}`);
console.error(`looked at ${texts.length} at ${innerWidth}`);
</script>
END
fits results/page look.html
browse results/page.html 1200
is "the page itself has nothing to complain of" "$(cat console)" ""
ok "the title, as text" grep -q '<h1>Two &lt;speeds&gt; &amp; a change, on simulated hosts</h1>' dom
is "a row for each sample" "$(grep -c -E '<tr><td>speed=1/[24] (equal|planned|online)( job 1)?</td><td>1</td>' dom)" 8
is "links lead to files" "$(sed -n 's/.*<a href="\([^"]*\)".*/\1/p' dom | while read -r f; do [ -e "results/$f" ] || echo "$f"; done)" ""
ok "there are links" grep -q '<a href="page/' dom
done_testing
