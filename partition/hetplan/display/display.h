/* SPDX-License-Identifier: GPL-3.0-or-later */
/* display.h - an answer as JSON, table, CSV, chart or page. The answer is the one truth: all of
 * these are made from it. */
#ifndef HETPLAN_DISPLAY_H
#define HETPLAN_DISPLAY_H

#include "hetplan/ops/ops.h"

/* A JSON value on one line, with a line feed. False if it cannot be written. */
bool hp_write_json(FILE *f, const json_t *v);

/* The answer as a table (with head lines) or as CSV. False if out of memory or not written. */
bool hp_print_table(FILE *f, struct hp_job *job);
bool hp_print_csv(FILE *f, struct hp_job *job);

/* Who does what, when. */
enum hp_bar_kind { HP_BAR_RECEIVE, HP_BAR_SEND, HP_BAR_COMPUTE };
struct hp_bar {
	size_t row;
	enum hp_bar_kind kind;
	double start, end;
	bool next; /* another piece of work begins: marked in a text chart */
};
struct hp_bars {
	size_t nrows, nbars;
	char **names; /* nrows, clean */
	struct hp_bar *bar;
	double end;   /* of the last bar */
	bool has[3];  /* kinds that are there */
	bool pieces;  /* bars are pieces of work, one after the other */
	bool overlap; /* messages and computation of a processor at the same time */
};

/* The bars of an answer; they belong to the job. */
bool hp_bars(struct hp_job *job, struct hp_bars *bars);

/* A step of 1, 2 or 5 times a power of ten that divides end in at most n parts. */
double hp_tick(double end, unsigned n);

/* How a picture and a page begin, by which hetplan knows that it wrote them. */
#define HP_SVG_MARK                                    \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
	"<!-- hetplan: picture of a plan -->\n"
#define HP_HTML_MARK "<!-- hetplan: page of a plan -->\n"

bool hp_gantt(FILE *f, const struct hp_bars *bars, size_t columns);
bool hp_svg(FILE *f, const struct hp_bars *bars, const char *title);

/* The answer as a page for a browser, with bars and a comparison where these are not NULL. False if
 * out of memory or not written. */
bool hp_page(FILE *f, const struct hp_job *job, const struct hp_bars *bars,
	     const json_t *comparison, const char *title);

#endif
