/* SPDX-License-Identifier: GPL-3.0-or-later */
/* display.h - write an answer as JSON, a table, CSV, a chart or a page. */
#ifndef HETPLAN_DISPLAY_H
#define HETPLAN_DISPLAY_H

#include "hetplan/ops/ops.h"

/* Write a JSON value on one line. Return false if it cannot be written. */
bool hp_write_json(FILE *f, const json_t *v);

/* Write the answer as a table with header lines, or as CSV. Return false if memory is out or
 * writing fails. */
bool hp_print_table(FILE *f, hp_job *job);
bool hp_print_csv(FILE *f, hp_job *job);

/* The bars of a chart: when each processor receives, sends and computes. */
typedef enum hp_bar_kind { HP_BAR_RECEIVE, HP_BAR_SEND, HP_BAR_COMPUTE, HP_BAR_KINDS } hp_bar_kind;
typedef struct hp_bar {
	size_t row;
	hp_bar_kind kind;
	double start, end;
	bool next; /* mark in a text chart that another piece of work begins here */
} hp_bar;
typedef struct hp_bars {
	size_t nrows, nbars;
	char **names; /* nrows, cleaned */
	hp_bar *bar;
	double end;             /* end of the last bar */
	bool has[HP_BAR_KINDS]; /* kinds that exist */
	bool pieces;            /* bars are pieces of work: installments or chunks */
	bool overlap;           /* a processor sends or receives while it computes */
} hp_bars;

/* Make the bars of an answer. The job owns their memory. */
bool hp_make_bars(hp_job *job, hp_bars *bars);

/* Return a step of an axis, 1, 2 or 5 times a power of ten, so that at most n steps reach end. */
double hp_tick(double end, unsigned n);

/* The beginnings of a picture and of a page, by which hetplan recognizes its own files. */
#define HP_SVG_MARK                                    \
	"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" \
	"<!-- hetplan: picture of a plan -->\n"
#define HP_HTML_MARK "<!-- hetplan: page of a plan -->\n"

bool hp_gantt(FILE *f, const hp_bars *bars, size_t columns);
bool hp_svg(FILE *f, const hp_bars *bars, const char *title);

/* Write the answer as a page for a browser, with bars and a comparison unless they are NULL. Return
 * false if memory is out or writing fails. */
bool hp_page(FILE *f, const hp_job *job, const hp_bars *bars, const json_t *comparison,
	     const char *title);

#endif
