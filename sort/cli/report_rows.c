/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables for people: ranks in rows, one by one or grouped. */
#include "report.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum column_kind { COLUMN_INT32, COLUMN_UINT64, COLUMN_REAL, COLUMN_TEXT } column_kind;

typedef struct report_column {
	const char *heading; /* NULL ends a list */
	column_kind kind;
	size_t at;  /* in rank_result */
	int width;  /* below 0: to the left; a text is cut there */
	int digits; /* of a real */
	bool fixed; /* digits are those after the point, of less than 10 */
	double (*make)(const rank_result *r); /* NULL: the value at that place */
} report_column;

/* Return the kind of a column from the type of its member. */
#define KIND_OF(lvalue) \
	_Generic((lvalue),        \
		int32_t           \
		: COLUMN_INT32,   \
		  uint64_t        \
		: COLUMN_UINT64,   \
		  double          \
		: COLUMN_REAL,     \
		  char *          \
		: COLUMN_TEXT)
#define RANK(member) \
	.kind = KIND_OF(((rank_result *)0)->member), .at = offsetof(rank_result, member)

/* Return the seconds that a rank worked, without waiting for others. */
static double busy_s(const rank_result *r)
{
	double sum = 0;
	for (int p = 0; p < PHASES; p++)
		if (p != PH_EXCHANGE) /* that is waiting for blocks */
			sum += r->phase_s[p];
	return sum;
}

double report_balance(const job_result *r)
{
	double most = 0, sum = 0;
	for (int i = 0; r->rank && i < r->size; i++) {
		const double b = busy_s(&r->rank[i]);
		sum += b;
		most = b > most ? b : most;
	}
	return sum > 0 ? most * r->size / sum : 0;
}

/* ------------------------------------------------------------------------------ columns */

static double all_phases_s(const rank_result *r)
{
	return busy_s(r) + r->phase_s[PH_EXCHANGE];
}

/* Sampling is part of it. */
static double split_s(const rank_result *r)
{
	return r->phase_s[PH_SAMPLE] + r->phase_s[PH_SPLIT];
}

/* Looking at files, too. */
static double plan_s(const rank_result *r)
{
	return r->phase_s[PH_DESCRIBE] + r->phase_s[PH_PLAN];
}

/* To disk, verifying, and final names. */
static double sync_s(const rank_result *r)
{
	return r->phase_s[PH_SYNC] + r->phase_s[PH_COMMIT];
}

/* For blocks of other ranks, and at the ends of phases. */
static double waited_s(const rank_result *r)
{
	return r->phase_s[PH_EXCHANGE] + r->wait_s;
}

static double planned_mb(const rank_result *r)
{
	return 1e-6 * (double)r->planned_bytes;
}

static double held_mb(const rank_result *r)
{
	return 1e-6 * (double)r->mem_peak_bytes;
}

static double merge_gb_per_s(const rank_result *r)
{
	return 1e-9 / r->rate.merge_s;
}

static double copy_gb_per_s(const rank_result *r)
{
	return 1e-9 / r->rate.copy_s;
}

static double sort_ns(const rank_result *r)
{
	return 1e9 * r->rate.sort_s;
}

#define PHASE(name, phase)                                                         \
	{                                                                          \
		name, RANK(phase_s[phase]), .width = 6, .digits = 3, .fixed = true \
	}
#define REAL(name, function, wide)                                                       \
	{                                                                                \
		name, .kind = COLUMN_REAL, .make = function, .width = wide, .digits = 3, \
		      .fixed = true                                                      \
	}

static const report_column columns_of[REPORT_TABLES][12] = {
	[REPORT_PLAN] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -16 },
		{ "speed", RANK(speed), .width = 8, .digits = 4 },
		{ "reads", RANK(planned_in), .width = 12 },
		{ "writes", RANK(planned_out), .width = 12 },
		{ "predicted s", RANK(predicted_s), .width = 11, .digits = 3, .fixed = true },
		{ "bound by", RANK(bound_by), .width = 9 },
	},
	[REPORT_RESULT] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -12 },
		{ "speed", RANK(speed), .width = 6, .digits = 3 },
		{ "reads", RANK(in), .width = 11 },
		{ "writes", RANK(out), .width = 11 },
		REAL("plan MB", planned_mb, 7),
		REAL("used MB", held_mb, 7),
		{ "plan s", RANK(predicted_s), .width = 6, .digits = 3, .fixed = true },
		REAL("took s", all_phases_s, 6),
	},
	[REPORT_PHASES] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -9 },
		REAL("plan", plan_s, 6),
		PHASE("read", PH_READ),
		PHASE("sort", PH_SORT),
		REAL("split", split_s, 6),
		PHASE("merge", PH_MERGE),
		PHASE("write", PH_WRITE),
		REAL("sync", sync_s, 6),
		REAL("busy", busy_s, 6),
		REAL("wait", waited_s, 6),
	},
	[REPORT_RATES] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -16 },
		REAL("sort", sort_ns, 8),
		REAL("merge", merge_gb_per_s, 8),
		REAL("copy", copy_gb_per_s, 8),
	},
};

/* --------------------------------------------------------------------------------- rows */

static double number_of(const report_column *c, const rank_result *k)
{
	const char *at = (const char *)k + c->at;
	int32_t word;
	uint64_t whole;
	double real;
	if (c->make)
		return c->make(k);
	if (c->kind == COLUMN_INT32)
		return memcpy(&word, at, sizeof word), word;
	if (c->kind == COLUMN_UINT64)
		return memcpy(&whole, at, sizeof whole), (double)whole;
	return memcpy(&real, at, sizeof real), real;
}

/* Digits give way where a number takes more before its point. */
static void print_number(const report_column *c, double v, FILE *f)
{
	int digits = c->digits;
	if (c->kind != COLUMN_REAL)
		digits = 0;
	else if (!c->fixed) {
		fprintf(f, "%*.*g", c->width, c->digits, v);
		return;
	}
	for (double most = 10; digits > 0 && v >= most; most *= 10)
		digits--;
	fprintf(f, "%*.*f", c->width, digits, v);
}

static void print_text(const report_column *c, const char *text, FILE *f)
{
	fprintf(f, "%*.*s", c->width, c->width < 0 ? -c->width : c->width, text);
}

static void row_of_rank(const report_column *columns, const rank_result *k, FILE *f)
{
	for (const report_column *c = columns; c->heading; c++) {
		fputs(c == columns ? "" : " ", f);
		if (c->kind == COLUMN_TEXT)
			print_text(c, (const char *)k + c->at, f);
		else
			print_number(c, number_of(c, k), f);
	}
	fputc('\n', f);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Of the ranks of a host, NULL: of all; where part is 0 the least, 0.5 the median, 1 the most. The
 * first column tells their number, the first text the group. */
static void row_of_group(const job_result *r, const report_column *columns, const char *host,
			 const char *name, double part, double *room, FILE *f)
{
	bool named = false;
	for (const report_column *c = columns; c->heading; c++) {
		int n = 0;
		const bool first_text = c->kind == COLUMN_TEXT && !named;
		named |= c->kind == COLUMN_TEXT;
		for (int i = 0; i < r->size; i++)
			if (!host || strcmp(r->rank[i].host, host) == 0)
				room[n++] = c->kind == COLUMN_TEXT ? 0 : number_of(c, &r->rank[i]);
		qsort(room, (size_t)n, sizeof *room, by_size);
		if (c == columns)
			fprintf(f, "%*d", c->width, n);
		else if (c->kind == COLUMN_TEXT)
			fputc(' ', f), print_text(c, first_text ? name : "", f);
		else
			fputc(' ', f), print_number(c, room[(int)(part * (n - 1))], f);
	}
	fputc('\n', f);
}

/* The first rank of each host; returns how many there are, REPORT_ROWS + 1 if more than that. */
static int hosts_of(const job_result *r, int first[REPORT_ROWS])
{
	int n = 0;
	for (int i = 0; i < r->size; i++) {
		int k = 0;
		while (k < n && strcmp(r->rank[first[k]].host, r->rank[i].host) != 0)
			k++;
		if (k < n)
			continue;
		if (n == REPORT_ROWS)
			return n + 1;
		first[n++] = i;
	}
	return n;
}

static void groups(const job_result *r, const report_column *columns, double *room, FILE *f)
{
	int first[REPORT_ROWS], busiest = 0;
	const int hosts = hosts_of(r, first);
	for (int k = 0; hosts > 1 && hosts <= REPORT_ROWS && k < hosts; k++) {
		const char *host = r->rank[first[k]].host;
		row_of_group(r, columns, host, host, 0.5, room, f);
	}
	row_of_group(r, columns, NULL, "least", 0, room, f);
	row_of_group(r, columns, NULL, "median", 0.5, room, f);
	row_of_group(r, columns, NULL, "most", 1, room, f);
	for (int i = 1; i < r->size; i++)
		if (busy_s(&r->rank[i]) > busy_s(&r->rank[busiest]))
			busiest = i;
	fprintf(f, "the busiest rank, %d:\n", busiest);
	row_of_rank(columns, &r->rank[busiest], f);
}

void report_rows(const job_result *r, report_table_kind which, FILE *f)
{
	const report_column *columns = columns_of[which];
	double *room = r->size > REPORT_ROWS ? malloc((size_t)r->size * sizeof *room) : NULL;
	for (const report_column *c = columns; c->heading; c++)
		fprintf(f, "%s%*s", c == columns ? "" : " ", c->width,
			c == columns && room ? "ranks" : c->heading);
	fputc('\n', f);
	if (r->rank && room)
		groups(r, columns, room, f);
	for (int i = 0; r->rank && !room && i < r->size; i++)
		row_of_rank(columns, &r->rank[i], f);
	free(room);
}
