/* SPDX-License-Identifier: GPL-3.0-or-later */
/* chart.c - make bars of an answer, which show when each processor receives, sends and computes.
 * Draw them as a chart in text or as an SVG picture, with a row for each processor and time to the
 * right. Each message and each computation has a bar. A text chart takes O(rows * bars) time. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "display.h"

#define ROWS_MAX   4096
#define CHUNKS_MAX 100000 /* of a farm */
#define NAME_BYTES 64

static const char *const kind_names[HP_BAR_KINDS] = { "receive", "send", "compute" };

/* --------------------------------------------------------------------------------------- bars */

/* Allocate the rows with the names of the processors, and memory for that number of bars. */
static bool bars_begin(hp_job *job, hp_bars *b, size_t rows, size_t bars)
{
	const json_t *const names = json_object_get(job->in, "names");
	if (rows > ROWS_MAX)
		return hp_fail(job, NULL, "no chart: %zu processors, more than %d", rows, ROWS_MAX);
	*b = (hp_bars){ .nrows = rows };
	if (!(b->names = hp_alloc(job, rows, sizeof *b->names)))
		return false;
	for (size_t j = 0; j < rows; j++) {
		const size_t proc = hp_served(job, j);
		const char *const s = json_string_value(json_array_get(names, proc));
		if (!(b->names[j] = hp_alloc(job, NAME_BYTES, 1)))
			return false;
		if (s)
			hp_clean(b->names[j], NAME_BYTES, s, strlen(s));
		else
			snprintf(b->names[j], NAME_BYTES, "P%zu", proc);
	}
	return (b->bar = hp_alloc(job, bars, sizeof *b->bar)) != NULL;
}

/* Add a bar unless it is empty. */
static void bars_add(hp_bars *b, size_t row, hp_bar_kind kind, double start, double end)
{
	if (end > b->end)
		b->end = end;
	if (!(end > start))
		return;
	b->has[kind] = true;
	b->bar[b->nbars++] = (hp_bar){ row, kind, start, end, b->pieces };
}

/* Make the bars of a scatter: the root sends one share after another, and then computes. */
static bool bars_of_scatter(hp_job *job, hp_bars *b)
{
	const json_t *const shares = json_object_get(job->out, "shares");
	const json_t *const times = json_object_get(job->out, "times");
	const json_t *const root = json_object_get(job->out, "root");
	const size_t n = json_array_size(shares), r = (size_t)json_integer_value(root);
	const hp_at procs = hp_top(job->in, "processors"), matrix = hp_top(job->in, "link");
	const hp_at row = hp_entry(&matrix, r);
	double t = 0;
	if (!bars_begin(job, b, n, 3 * n))
		return false;
	for (size_t j = 0; j < n; j++) {
		const uint64_t items = (uint64_t)json_integer_value(json_array_get(shares, j));
		const size_t i = hp_served(job, j);
		const hp_at proc = hp_entry(&procs, i);
		const hp_at at = root ? hp_entry(&row, i) : hp_member(&proc, "link");
		double end = t;
		if (at.v && !(root && i == r)) {
			const hetpart_cost *const link = hp_cost(job, &at);
			if (!link)
				return false;
			end += hetpart_cost_eval(link, items);
		}
		bars_add(b, j, HP_BAR_RECEIVE, t, end);
		if (j + 1 < n)
			bars_add(b, n - 1, HP_BAR_SEND, t, end);
		bars_add(b, j, HP_BAR_COMPUTE, end, hp_at_index(times, j));
		t = end;
	}
	return true;
}

static double chain_date(const json_t *out, const char *key, size_t l, size_t j, size_t i)
{
	return hp_at_index(json_array_get(json_array_get(json_object_get(out, key), l), j), i);
}

/* Make the bars of a chain from its dates, the start and end times in out. */
static bool bars_of_dates(hp_job *job, hp_bars *b, const json_t *out)
{
	const json_t *const loads = json_object_get(out, "comp_start");
	const size_t nloads = json_array_size(loads);
	const json_t *const first = json_array_get(json_array_get(loads, 0), 0);
	const size_t rows = json_array_size(first);
	size_t inst = 0;
	for (size_t l = 0; l < nloads; l++)
		inst += json_array_size(json_array_get(loads, l));
	if (!bars_begin(job, b, rows, 3 * rows * inst))
		return false;
	b->overlap = b->pieces = true;
	for (size_t l = 0; l < nloads; l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++)
			for (size_t i = 0; i < rows; i++) {
				const double start = chain_date(out, "comm_start", l, j, i);
				const double end = chain_date(out, "comm_end", l, j, i);
				if (i + 1 < rows) {
					bars_add(b, i, HP_BAR_SEND, start, end);
					bars_add(b, i + 1, HP_BAR_RECEIVE, start, end);
				}
				bars_add(b, i, HP_BAR_COMPUTE,
					 chain_date(out, "comp_start", l, j, i),
					 chain_date(out, "comp_end", l, j, i));
			}
	return true;
}

static void count_chunk(void *ctx, const hetpart_chunk *c)
{
	uint64_t *const chunks = ctx;
	(void)c;
	++*chunks;
}

/* Add the bars of a chunk. Without a message, no gap separates it from the previous chunk, so mark
 * where it begins. */
static void add_chunk(void *ctx, const hetpart_chunk *c)
{
	hp_bars *const b = ctx;
	bars_add(b, c->proc, HP_BAR_RECEIVE, c->sent, c->arrived);
	b->pieces = !(c->arrived > c->sent);
	bars_add(b, c->proc, HP_BAR_COMPUTE, c->arrived, c->done);
	b->pieces = true;
}

/* Make the bars of a farm by simulating it twice: to count its chunks, and to get their times. */
static bool bars_of_farm(hp_job *job, hp_bars *b)
{
	hetpart_plan *plan;
	uint64_t chunks = 0;
	if (!hp_farm(job, count_chunk, &chunks, &plan))
		return false;
	if (chunks > CHUNKS_MAX)
		return hp_fail(job, NULL, "no chart: %" PRIu64 " chunks, more than %d", chunks,
			       CHUNKS_MAX);
	if (!bars_begin(job, b, hetpart_plan_nprocs(plan), 2 * (size_t)chunks))
		return false;
	b->pieces = true;
	return hp_farm(job, add_chunk, b, &plan);
}

bool hp_make_bars(hp_job *job, hp_bars *b)
{
	const char *const op = json_string_value(json_object_get(job->out, "op"));
	const json_t *const times = json_object_get(job->out, "times");
	const size_t n = json_array_size(times);
	bool ok;
	if (!json_is_number(json_object_get(job->out, "makespan")))
		return hp_fail(job, NULL, "no chart of '%s': its answer has no times", op);
	if (json_object_get(job->in, "vcomm")) {
		hp_job dates = { .in = NULL };
		ok = hp_chain_dates(job, &dates) && bars_of_dates(job, b, dates.out);
		hp_job_free(&dates);
	} else if (strcmp(op, "farm") == 0) {
		ok = bars_of_farm(job, b);
	} else if (strncmp(op, "scatter", 7) == 0) {
		ok = bars_of_scatter(job, b);
	} else { /* every processor computes from time 0 on */
		ok = bars_begin(job, b, n, n);
		for (size_t j = 0; ok && j < n; j++)
			bars_add(b, j, HP_BAR_COMPUTE, 0, hp_at_index(times, j));
	}
	return ok && (isfinite(b->end) || hp_fail(job, NULL, "no chart: a time is infinite"));
}

double hp_tick(double end, unsigned n)
{
	const double raw = end / n, ten = pow(10, floor(log10(raw)));
	if (!(raw > 0) || !(ten > 0) || !isfinite(ten))
		return end > 0 ? end : 1;
	if (raw <= ten)
		return ten;
	if (raw <= 2 * ten)
		return 2 * ten;
	return raw <= 5 * ten ? 5 * ten : 10 * ten;
}

/* ---------------------------------------------------------------------------------- text chart */

#define LABEL_MAX 24
#define WAITING   '.'

static const char marks[HP_BAR_KINDS] = { '-', '=', '#' };

typedef struct gantt {
	FILE *f;
	const hp_bars *bars;
	size_t label, columns;
	double scale;                  /* time of one column */
	double (*share)[HP_BAR_KINDS]; /* for each column: the part of its time for each kind */
	char *begins;                  /* for each column: whether a piece of work begins */
} gantt;

/* Set share[] and begins[] of the columns from the bars of a row, and return the end of the last
 * bar. If messages overlap computations, the row has two lines of text (lanes): 0 with messages, 1
 * with computations. */
static double gantt_fill(gantt *c, size_t row, size_t lane)
{
	double last = 0;
	memset(c->share, 0, c->columns * sizeof *c->share);
	memset(c->begins, 0, c->columns);
	for (size_t i = 0; i < c->bars->nbars; i++) {
		const hp_bar *const bar = &c->bars->bar[i];
		if (bar->row != row ||
		    (c->bars->overlap && (bar->kind == HP_BAR_COMPUTE) != (lane == 1)))
			continue;
		const double from = bar->start / c->scale, to = bar->end / c->scale;
		const size_t end = to < (double)c->columns ? (size_t)to : c->columns - 1;
		for (size_t k = (size_t)from; k <= end && k < c->columns; k++)
			c->share[k][bar->kind] += fmin(to, (double)k + 1) - fmax(from, (double)k);
		last = fmax(last, bar->end);
		if (bar->next && bar->start > 0 && from < (double)c->columns)
			c->begins[(size_t)from] = 1;
	}
	return last;
}

static void gantt_row(gantt *c, size_t row, size_t lane)
{
	const char *const name = lane ? "" : c->bars->names[row];
	const double end = gantt_fill(c, row, lane);
	size_t n = 0, bytes = 0; /* characters and bytes of the name, cut to c->label characters */
	while (name[bytes] && n < c->label) {
		bytes += hp_utf8(name + bytes, strlen(name + bytes));
		n++;
	}
	fprintf(c->f, "%.*s%*s |", (int)bytes, name, (int)(c->label - n), "");
	for (size_t k = 0; (double)k + 0.5 <= end / c->scale && k < c->columns; k++) {
		const double *const share = c->share[k], idle = 1 - share[0] - share[1] - share[2];
		size_t best = 0; /* the kind that takes most of the column's time */
		for (size_t i = 1; i < HP_BAR_KINDS; i++)
			if (share[i] > share[best])
				best = i;
		const bool waits = share[best] < 0.5 * (idle + share[best]);
		putc(c->begins[k] ? '|' : waits ? WAITING : marks[best], c->f);
	}
	putc('\n', c->f);
}

/* Write "+----+----" and below it the time of each '+'. */
static void gantt_axis(const gantt *c)
{
	const double step = hp_tick(c->bars->end, (unsigned)(c->columns / 8 ? c->columns / 8 : 1));
	fprintf(c->f, "%*s +", (int)c->label, "");
	for (size_t k = 1; k <= c->columns; k++) {
		const double before = floor(((double)k - 1) * c->scale / step + 1e-9);
		const double now = floor((double)k * c->scale / step + 1e-9);
		putc(now > before ? '+' : '-', c->f);
	}
	fprintf(c->f, "\n%*s ", (int)c->label, "");
	size_t at = 0;
	for (double t = 0; t <= c->bars->end * (1 + 1e-9); t += step) {
		const size_t k = (size_t)ceil(t / c->scale - 1e-6);
		const int n = k >= at ? fprintf(c->f, "%*s%.4g", (int)(k - at), "", t) : 0;
		at += n > 0 ? (size_t)n : 0;
	}
	putc('\n', c->f);
}

/* Return the columns of the longest name. */
static size_t widest_name(const hp_bars *bars)
{
	size_t most = 0;
	for (size_t i = 0; i < bars->nrows; i++)
		if (hp_columns(bars->names[i]) > most)
			most = hp_columns(bars->names[i]);
	return most;
}

bool hp_gantt(FILE *f, const hp_bars *bars, size_t columns)
{
	const size_t widest = widest_name(bars);
	gantt c = { .f = f, .bars = bars, .label = widest < LABEL_MAX ? widest : LABEL_MAX };
	c.columns = columns > c.label + 16 ? columns - c.label - 6 : 10;
	c.scale = bars->end > 0 ? bars->end / (double)c.columns : 1;
	c.share = calloc(c.columns, sizeof *c.share);
	c.begins = calloc(c.columns, 1);
	const bool ok = c.share && c.begins;
	for (size_t row = 0; ok && row < bars->nrows; row++) {
		gantt_row(&c, row, 0);
		if (bars->overlap)
			gantt_row(&c, row, 1);
	}
	free(c.share);
	free(c.begins);
	if (!ok)
		return false;
	gantt_axis(&c);
	for (size_t k = 0; k < HP_BAR_KINDS; k++)
		if (bars->has[k])
			fprintf(f, "%c %s  ", marks[k], kind_names[k]);
	fputs(bars->pieces ? ". wait  | next\n" : ". wait\n", f);
	return !ferror(f);
}

/* ------------------------------------------------------------------------------------ picture */

#define TOP      66  /* title and legend */
#define BOTTOM   48  /* axis */
#define PLOT     800 /* width of the bars */
#define RIGHT    84  /* times at the end of the bars */
#define ROW      24
#define TALL_ROW 34 /* messages above computations */

static const char *const colours[HP_BAR_KINDS] = { "#e69f00", "#cc79a7", "#0072b2" };

typedef struct picture {
	FILE *f;
	const hp_bars *bars;
	double left, row, bottom; /* pixels */
	double unit;              /* pixels for one unit of time */
} picture;

/* Write cleaned text as XML, which requires escapes for five characters. */
static void svg_escaped(FILE *f, const char *s)
{
	static const char special[] = "&<>\"'";
	static const char *const escaped[] = { "&amp;", "&lt;", "&gt;", "&quot;", "&#39;" };
	for (; *s; s++) {
		const char *const at = strchr(special, *s);
		if (at)
			fputs(escaped[at - special], f);
		else
			putc(*s, f);
	}
}

static void svg_text(const picture *p, double x, double y, const char *attributes, const char *s)
{
	fprintf(p->f, "<text x=\"%.2f\" y=\"%.2f\" %s>", x, y, attributes);
	svg_escaped(p->f, s);
	fputs("</text>\n", p->f);
}

/* Write the title and the legend. */
static void svg_head(const picture *p, const char *title)
{
	const double width = p->left + PLOT + RIGHT, height = p->bottom + BOTTOM;
	fprintf(p->f,
		HP_SVG_MARK
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"sans-serif\" font-size=\"13\">\n"
		"<title>",
		width, height, width, height);
	svg_escaped(p->f, title);
	fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", p->f);
	svg_text(p, p->left, 26, "font-size=\"17\" font-weight=\"bold\"", title);
	double x = p->left;
	for (size_t k = 0; k < HP_BAR_KINDS; k++) {
		if (!p->bars->has[k])
			continue;
		fprintf(p->f,
			"<rect x=\"%.2f\" y=\"40\" width=\"14\" height=\"14\" fill=\"%s\"/>\n", x,
			colours[k]);
		svg_text(p, x + 20, 52, "fill=\"#222222\"", kind_names[k]);
		x += 110;
	}
}

static void svg_axis(const picture *p)
{
	const double step = hp_tick(p->bars->end, 10);
	for (int i = 0; i * step <= p->bars->end * (1 + 1e-9) && i <= 20; i++) {
		const double x = p->left + i * step * p->unit;
		char label[32];
		snprintf(label, sizeof label, "%.6g", i * step);
		fprintf(p->f,
			"<line x1=\"%.2f\" y1=\"%d\" x2=\"%.2f\" y2=\"%.2f\" "
			"stroke=\"#dddddd\"/>\n",
			x, TOP, x, p->bottom + 5);
		svg_text(p, x, p->bottom + 20, "text-anchor=\"middle\" fill=\"#222222\"", label);
	}
	fprintf(p->f,
		"<line x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" stroke=\"#222222\"/>\n",
		p->left, p->bottom, p->left + PLOT, p->bottom);
	svg_text(p, p->left + PLOT / 2.0, p->bottom + 40, "text-anchor=\"middle\" fill=\"#222222\"",
		 "time, in units of the cost");
}

/* Write the names to the left of the bars, and the time at which each row ends to the right. All
 * times have the number of decimals that gives the latest six digits. */
static void svg_labels(const picture *p)
{
	const double last = p->bars->end, digits = last > 0 ? 5 - floor(log10(last)) : 0;
	for (size_t r = 0; r < p->bars->nrows; r++) {
		const double y = TOP + ((double)r + 0.5) * p->row + 4.5;
		double end = 0;
		for (size_t i = 0; i < p->bars->nbars; i++)
			if (p->bars->bar[i].row == r && p->bars->bar[i].end > end)
				end = p->bars->bar[i].end;
		char label[32];
		if (digits < -9 || digits > 12)
			snprintf(label, sizeof label, "%.6g", end);
		else
			snprintf(label, sizeof label, "%.*f", digits > 0 ? (int)digits : 0, end);
		svg_text(p, p->left - 8, y, "text-anchor=\"end\" fill=\"#222222\"",
			 p->bars->names[r]);
		svg_text(p, p->left + end * p->unit + 6, y, "font-size=\"11\" fill=\"#555555\"",
			 label);
	}
}

bool hp_svg(FILE *f, const hp_bars *bars, const char *title)
{
	const size_t widest = widest_name(bars);
	picture p = { .f = f, .bars = bars, .row = bars->overlap ? TALL_ROW : ROW };
	p.left = 20 + 8.0 * (double)(widest > 4 ? widest : 4);
	p.bottom = TOP + p.row * (double)bars->nrows;
	p.unit = bars->end > 0 ? PLOT / bars->end : 1;
	svg_head(&p, title);
	svg_axis(&p);
	svg_labels(&p);
	for (size_t i = 0; i < bars->nbars; i++) {
		const hp_bar *const b = &bars->bar[i];
		const double width = (b->end - b->start) * p.unit;
		double y = TOP + (double)b->row * p.row + 3, height = p.row - 6;
		if (bars->overlap) { /* messages above, computation below */
			height = b->kind == HP_BAR_COMPUTE ? 16 : 10;
			y += b->kind == HP_BAR_COMPUTE ? 11 : 0;
		}
		fprintf(f,
			"<rect x=\"%.3f\" y=\"%.2f\" width=\"%.3f\" height=\"%.2f\" fill=\"%s\" "
			"stroke=\"#ffffff\" stroke-width=\"%s\"><title>",
			p.left + b->start * p.unit, y, width > 0.2 ? width : 0.2, height,
			colours[b->kind], width > 4 ? "0.4" : "0");
		svg_escaped(f, bars->names[b->row]);
		fprintf(f, ": %s from %.6g to %.6g</title></rect>\n", kind_names[b->kind], b->start,
			b->end);
	}
	fputs("</svg>\n", f);
	return !ferror(f);
}
