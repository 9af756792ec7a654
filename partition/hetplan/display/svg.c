/* SPDX-License-Identifier: GPL-3.0-or-later */
/* svg.c - bars as an SVG picture: a row for each processor, time to the right, ticks,
 * legend, title.
 * May not touch: how the bars came about. Costs one rectangle for each bar. */
#include <math.h>
#include <string.h>

#include "display.h"

#define TOP      66  /* title and legend */
#define BOTTOM   48  /* axis */
#define PLOT     800 /* width of the bars */
#define RIGHT    84  /* times at the end of the bars */
#define ROW      24
#define TALL_ROW 34 /* with two lanes */

static const char *const colours[] = { "#e69f00", "#cc79a7", "#0072b2" };
static const char *const kinds[] = { "receive", "send", "compute" };

struct picture {
	FILE *f;
	const struct hp_bars *bars;
	double left, row, bottom, unit; /* pixels; pixels for one unit of time */
};

/* Text for XML; it is clean already, so only its five special characters need care. */
static bool put_text(FILE *f, const char *s)
{
	static const char special[] = "&<>\"'";
	static const char *const escaped[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };

	for (; *s; s++) {
		const char *at = strchr(special, *s);
		if (at ? fputs(escaped[at - special], f) == EOF : putc(*s, f) == EOF)
			return false;
	}
	return true;
}

static bool text_at(const struct picture *p, double x, double y, const char *attributes,
		    const char *s)
{
	return fprintf(p->f, "<text x=\"%.2f\" y=\"%.2f\" %s>", x, y, attributes) > 0 &&
	       put_text(p->f, s) && fputs("</text>\n", p->f) != EOF;
}

static bool put_head(const struct picture *p, const char *title)
{
	double width = p->left + PLOT + RIGHT, height = p->bottom + BOTTOM;

	return fprintf(p->f,
		       HP_SVG_MARK
		       "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		       "viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"13\">\n"
		       "<title>",
		       width, height, width, height) > 0 &&
	       put_text(p->f, title) &&
	       fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", p->f) !=
		       EOF &&
	       text_at(p, p->left, 26, "font-size=\"17\" font-weight=\"bold\"", title);
}

static bool put_legend(const struct picture *p)
{
	double x = p->left;

	for (size_t k = 0; k < HP_LEN(kinds); k++) {
		if (!p->bars->has[k])
			continue;
		if (fprintf(p->f,
			    "<rect x=\"%.2f\" y=\"40\" width=\"14\" height=\"14\" fill=\"%s\"/>\n",
			    x, colours[k]) < 0 ||
		    !text_at(p, x + 20, 52, "fill=\"#222222\"", kinds[k]))
			return false;
		x += 110;
	}
	return true;
}

static bool put_axis(const struct picture *p)
{
	double step = hp_tick(p->bars->end, 10);
	char label[32];

	for (int i = 0; i * step <= p->bars->end * (1 + 1e-9) && i <= 20; i++) {
		double x = p->left + i * step * p->unit;
		snprintf(label, sizeof label, "%.6g", i * step);
		if (fprintf(p->f,
			    "<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%.2f\" "
			    "stroke=\"#dddddd\"/>\n",
			    x, TOP, x, p->bottom + 5) < 0 ||
		    !text_at(p, x, p->bottom + 20, "text-anchor=\"middle\" fill=\"#222222\"",
			     label))
			return false;
	}
	return fprintf(p->f,
		       "<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" "
		       "stroke=\"#222222\"/>\n",
		       p->left, p->bottom, p->left + PLOT, p->bottom) > 0 &&
	       text_at(p, p->left + PLOT / 2.0, p->bottom + 40,
		       "text-anchor=\"middle\" fill=\"#222222\"", "time");
}

/* Times below each other have the same decimals: six digits of the last one. */
static void put_time(char *buf, size_t size, double t, double last)
{
	double digits = last > 0 ? 5 - floor(log10(last)) : 0;

	if (digits < -9 || digits > 12)
		snprintf(buf, size, "%.6g", t);
	else
		snprintf(buf, size, "%.*f", digits > 0 ? (int)digits : 0, t);
}

/* Names to the left, the end of the last bar to the right. */
static bool put_rows(const struct picture *p)
{
	for (size_t r = 0; r < p->bars->nrows; r++) {
		double y = TOP + ((double)r + 0.5) * p->row + 4.5, end = 0;
		char label[32];
		for (size_t i = 0; i < p->bars->nbars; i++)
			if (p->bars->bar[i].row == r && p->bars->bar[i].end > end)
				end = p->bars->bar[i].end;
		put_time(label, sizeof label, end, p->bars->end);
		if (!text_at(p, p->left - 8, y, "text-anchor=\"end\" fill=\"#222222\"",
			     p->bars->names[r]) ||
		    !text_at(p, p->left + end * p->unit + 6, y, "font-size=\"11\" fill=\"#555555\"",
			     label))
			return false;
	}
	return true;
}

static bool put_bar(const struct picture *p, const struct hp_bar *b)
{
	double y = TOP + (double)b->row * p->row + 3, height = p->row - 6;
	double width = (b->end - b->start) * p->unit;

	if (p->bars->overlap) { /* messages above, computation below */
		height = b->kind == HP_BAR_COMPUTE ? 16 : 10;
		y += b->kind == HP_BAR_COMPUTE ? 11 : 0;
	}
	return fprintf(p->f,
		       "<rect x=\"%.3f\" y=\"%.2f\" width=\"%.3f\" height=\"%.2f\" fill=\"%s\" "
		       "stroke=\"#ffffff\" stroke-width=\"%s\"><title>",
		       p->left + b->start * p->unit, y, width > 0.2 ? width : 0.2, height,
		       colours[b->kind], width > 4 ? "0.4" : "0") > 0 &&
	       put_text(p->f, p->bars->names[b->row]) &&
	       fprintf(p->f, ": %s from %.6g to %.6g</title></rect>\n", kinds[b->kind], b->start,
		       b->end) > 0;
}

bool hp_svg(FILE *f, const struct hp_bars *bars, const char *title)
{
	struct picture p = { .f = f, .bars = bars, .row = bars->overlap ? TALL_ROW : ROW };
	size_t label = 4;

	for (size_t i = 0; i < bars->nrows; i++)
		if (hp_columns(bars->names[i]) > label)
			label = hp_columns(bars->names[i]);
	p.left = 20 + 8.0 * (double)label;
	p.bottom = TOP + p.row * (double)bars->nrows;
	p.unit = bars->end > 0 ? PLOT / bars->end : 1;
	if (!put_head(&p, title) || !put_legend(&p) || !put_axis(&p) || !put_rows(&p))
		return false;
	for (size_t i = 0; i < bars->nbars; i++)
		if (!put_bar(&p, &bars->bar[i]))
			return false;
	return fputs("</svg>\n", f) != EOF;
}
