# SPDX-License-Identifier: GPL-3.0-or-later
# Third part of include-graph: print the arrows, or draw the directories.

function draw(    i)
{
	if (want == "arrows") {
		for (i = 1; i <= arrows; i++)
			printf "%s\t%s\t%s\t%s\n", kind[i], from[i], to[i], kind[i] == "include" ? line[i] : symbol[i]
		return
	}
	set_floors()
	if (want == "svg")
		draw_svg()
	else
		draw_text()
}

# A directory stands on the floor above the highest that it includes. Arrows up do not count.
function set_floors(    r, q)
{
	for (r = rows; r >= 1; r--) {
		floor[r] = 0
		for (q = r + 1; q <= rows; q++)
			if ((row[r], row[q], "include") in between && floor[q] >= floor[r])
				floor[r] = floor[q] + 1
		if (floor[r] > top_floor)
			top_floor = floor[r]
	}
}

function draw_text(    f, r, q, uses)
{
	printf "%5s  %-24s %7s %5s  %s\n", "floor", "directory", "modules", "files", "includes"
	for (f = top_floor; f >= 0; f--)
		for (r = 1; r <= rows; r++) {
			if (floor[r] != f || modules[row[r]] == 0)
				continue
			uses = ""
			for (q = 1; q <= rows; q++)
				if ((row[r], row[q], "include") in between)
					uses = uses (uses == "" ? "" : ", ") (q < r ? "UP to " : "") row[q] " " between[row[r], row[q], "include"]
			printf "%5d  %-24s %7d %5d  %s\n", f, row[r] "/", modules[row[r]], files[row[r]], uses == "" ? "-" : uses
		}
	summary()
}

function summary(    key, word, i, r, n, m, includes, calls)
{
	for (key in between) {
		split(key, word, SUBSEP)
		if (word[3] == "include")
			n++
	}
	for (i = 1; i <= arrows; i++)
		if (kind[i] == "call")
			calls++
		else if (!is_test(from[i]))
			includes++
	for (r = 1; r <= rows; r++)
		m += modules[row[r]] > 0
	printf "%d files in %d directories, %d in directories of tests\n", c_files - tests, m, tests
	printf "%d includes between files, %d arrows between directories, %d includes up\n", includes, n, up["include"]
	printf "%d circles of includes\n", circles["include"]
	printf "%d objects, %d calls between them, %d calls up, %d circles of calls\n", objects, calls, up["call"], circles["call"]
	printf "%d findings (include-graph --findings)\n", findings
}

# ------------------------------------------------------------------------------------ picture
# A box a directory, floors from the top down; arrows are black, those that go up are red.
function draw_svg(    f, r, q, n, widest)
{
	box_w = 150
	box_h = 34
	gap = 24
	step = 92
	for (f = 0; f <= top_floor; f++) {
		n = 0
		for (r = 1; r <= rows; r++)
			if (floor[r] == f && modules[row[r]] > 0)
				x[r] = n++
		on_floor[f] = n
		if (n > widest)
			widest = n
	}
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n",
	       widest * (box_w + gap) + gap, (top_floor + 1) * step
	print "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>"
	print "<marker id=\"tip\" viewBox=\"0 0 6 6\" refX=\"6\" refY=\"3\" markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L6 3L0 6z\"/></marker>"
	for (r = 1; r <= rows; r++) {
		left[r] = gap + x[r] * (box_w + gap) + (widest - on_floor[floor[r]]) * (box_w + gap) / 2
		top[r] = (top_floor - floor[r]) * step + 10
	}
	for (r = 1; r <= rows; r++)
		for (q = 1; q <= rows; q++)
			if ((row[r], row[q], "include") in between)
				draw_arrow(r, q)
	for (r = 1; r <= rows; r++)
		if (modules[row[r]] > 0)
			draw_box(r)
	print "</svg>"
}

function draw_arrow(r, q,    x1, y1, x2, y2, rise)
{
	rise = q < r
	x1 = left[r] + box_w / 2
	x2 = left[q] + box_w / 2
	y1 = top[r] + (rise ? 0 : box_h)
	y2 = top[q] + (rise ? box_h : 0)
	printf "<path d=\"M%d %dC%d %d %d %d %d %d\" fill=\"none\" stroke=\"%s\" opacity=\"0.5\" marker-end=\"url(#tip)\"><title>%s to %s: %d</title></path>\n",
	       x1, y1, x1, (y1 * 2 + y2) / 3, x2, (y1 + y2 * 2) / 3, x2, y2, rise ? "red" : "black", row[r], row[q],
	       between[row[r], row[q], "include"]
}

function draw_box(r)
{
	printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\" fill=\"#eef3fa\" stroke=\"#456\"/>\n", left[r], top[r], box_w, box_h
	printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%s/</text>\n", left[r] + box_w / 2, top[r] + 15, row[r]
	printf "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"#678\">%d modules</text>\n", left[r] + box_w / 2, top[r] + 28, modules[row[r]]
}
