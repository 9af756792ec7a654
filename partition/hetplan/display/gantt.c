/* SPDX-License-Identifier: GPL-3.0-or-later */
/* gantt.c - bars as text: a line for each processor, time to the right. A character shows
 * what took most of its time.
 * May not touch: how the bars came about. Costs rows times bars. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"

#define IDLE   3
#define LABELS 24

static const char marks[] = { '-', '=', '#', '.' };
static const char *const kinds[] = { "receive", "send", "compute" };

struct chart {
	FILE *f;
	const struct hp_bars *bars;
	size_t label, columns;
	double scale;       /* time of one column */
	double (*share)[3]; /* of each column: time of each kind */
	char *begins;       /* of each column: whether another piece of work begins */
};

static bool in_lane(const struct chart *c, const struct hp_bar *bar, size_t lane)
{
	return !c->bars->overlap || (bar->kind == HP_BAR_COMPUTE) == (lane == 1);
}

static void spread(struct chart *c, const struct hp_bar *bar)
{
	double from = bar->start / c->scale, to = bar->end / c->scale;
	size_t last = to < (double)c->columns ? (size_t)to : c->columns - 1;

	for (size_t k = (size_t)from; k <= last && k < c->columns; k++)
		c->share[k][bar->kind] += fmin(to, (double)k + 1) - fmax(from, (double)k);
}

/* What the column shows: the kind of most time, '.' for waiting. */
static char mark(const double *share)
{
	size_t best = 0;

	for (size_t k = 1; k < IDLE; k++)
		if (share[k] > share[best])
			best = k;
	return marks[share[best] >= 0.5 * (1 - share[0] - share[1] - share[2] + share[best])
			     ? best
			     : IDLE];
}

/* Name, cut to the column of labels. */
static bool put_label(const struct chart *c, const char *name)
{
	size_t n = 0, bytes = 0;

	while (name[bytes] && n < c->label) {
		bytes += hp_utf8(name + bytes, strlen(name + bytes));
		n++;
	}
	return fprintf(c->f, "%.*s%*s |", (int)bytes, name, (int)(c->label - n), "") >= 0;
}

/* The bars of a lane into the columns; when the last one ends. */
static double gather(struct chart *c, size_t row, size_t lane)
{
	double end = 0;

	memset(c->share, 0, c->columns * sizeof *c->share);
	memset(c->begins, 0, c->columns);
	for (size_t i = 0; i < c->bars->nbars; i++) {
		const struct hp_bar *bar = &c->bars->bar[i];
		if (bar->row != row || !in_lane(c, bar, lane))
			continue;
		spread(c, bar);
		end = fmax(end, bar->end);
		if (bar->next && bar->start > 0 && bar->start / c->scale < (double)c->columns)
			c->begins[(size_t)(bar->start / c->scale)] = 1;
	}
	return end;
}

static bool put_row(struct chart *c, size_t row, size_t lane)
{
	double end = gather(c, row, lane);

	if (!put_label(c, lane ? "" : c->bars->names[row]))
		return false;
	for (size_t k = 0; (double)k + 0.5 <= end / c->scale && k < c->columns; k++)
		if (putc(c->begins[k] ? '|' : mark(c->share[k]), c->f) == EOF)
			return false;
	return putc('\n', c->f) != EOF;
}

/* "+----+----" and the times below the crosses. */
static bool put_axis(const struct chart *c)
{
	double step = hp_tick(c->bars->end, (unsigned)(c->columns / 8 ? c->columns / 8 : 1));
	size_t at = 0;

	if (fprintf(c->f, "%*s +", (int)c->label, "") < 0)
		return false;
	for (size_t k = 1; k <= c->columns; k++) {
		double before = floor(((double)k - 1) * c->scale / step + 1e-9);
		double now = floor((double)k * c->scale / step + 1e-9);
		if (putc(now > before ? '+' : '-', c->f) == EOF)
			return false;
	}
	if (fprintf(c->f, "\n%*s ", (int)c->label, "") < 0)
		return false;
	for (double t = 0; t <= c->bars->end * (1 + 1e-9); t += step) {
		size_t k = (size_t)ceil(t / c->scale - 1e-6);
		int n = k >= at ? fprintf(c->f, "%*s%.4g", (int)(k - at), "", t) : 0;
		if (n < 0)
			return false;
		at += (size_t)n;
	}
	return putc('\n', c->f) != EOF;
}

static bool put_legend(const struct chart *c)
{
	for (size_t k = 0; k < IDLE; k++)
		if (c->bars->has[k] && fprintf(c->f, "%c %s  ", marks[k], kinds[k]) < 0)
			return false;
	return fputs(c->bars->pieces ? ". wait  | next\n" : ". wait\n", c->f) != EOF;
}

static bool put_chart(struct chart *c)
{
	for (size_t row = 0; row < c->bars->nrows; row++)
		if (!put_row(c, row, 0) || (c->bars->overlap && !put_row(c, row, 1)))
			return false;
	return put_axis(c) && put_legend(c);
}

bool hp_gantt(FILE *f, const struct hp_bars *bars, size_t columns)
{
	struct chart c = { .f = f, .bars = bars };
	bool ok;

	for (size_t i = 0; i < bars->nrows; i++)
		if (hp_columns(bars->names[i]) > c.label)
			c.label = hp_columns(bars->names[i]);
	if (c.label > LABELS)
		c.label = LABELS;
	c.columns = columns > c.label + 16 ? columns - c.label - 6 : 10;
	c.scale = bars->end > 0 ? bars->end / (double)c.columns : 1;
	c.share = calloc(c.columns, sizeof *c.share);
	c.begins = calloc(c.columns, 1);
	ok = c.share && c.begins && put_chart(&c);
	free(c.share);
	free(c.begins);
	return ok;
}
