/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks in rows, one by one or grouped. */
#include "report_rows.h"

#include <stdlib.h>
#include <string.h>

static double number_of(const report_column *c, const rank_result *k)
{
	const char *at = (const char *)k + c->at;
	int32_t word;
	uint64_t whole;
	double real;
	if (c->make)
		return c->make(k);
	if (c->kind == FIELD_INT32)
		return memcpy(&word, at, sizeof word), word;
	if (c->kind == FIELD_UINT64)
		return memcpy(&whole, at, sizeof whole), (double)whole;
	return memcpy(&real, at, sizeof real), real;
}

/* Digits give way where a number takes more before its point. */
static void print_number(const report_column *c, double v, FILE *f)
{
	int digits = c->digits;
	if (c->kind != FIELD_REAL)
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

static bool is_text(const report_column *c)
{
	return c->kind == FIELD_TEXT;
}

static void row_of_rank(const report_column *columns, const rank_result *k, FILE *f)
{
	for (const report_column *c = columns; c->heading; c++) {
		fputs(c == columns ? "" : " ", f);
		if (is_text(c))
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
		const bool first_text = is_text(c) && !named;
		named |= is_text(c);
		for (int i = 0; i < r->size; i++)
			if (!host || strcmp(r->rank[i].host, host) == 0)
				room[n++] = is_text(c) ? 0 : number_of(c, &r->rank[i]);
		qsort(room, (size_t)n, sizeof *room, by_size);
		if (c == columns)
			fprintf(f, "%*d", c->width, n);
		else if (is_text(c))
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

static int busiest(const job_result *r)
{
	int most = 0;
	for (int i = 1; i < r->size; i++)
		if (report_busy_s(&r->rank[i]) > report_busy_s(&r->rank[most]))
			most = i;
	return most;
}

static void groups(const job_result *r, const report_column *columns, double *room, FILE *f)
{
	int first[REPORT_ROWS];
	const int hosts = hosts_of(r, first);
	for (int k = 0; hosts > 1 && hosts <= REPORT_ROWS && k < hosts; k++) {
		const char *host = r->rank[first[k]].host;
		row_of_group(r, columns, host, host, 0.5, room, f);
	}
	row_of_group(r, columns, NULL, "least", 0, room, f);
	row_of_group(r, columns, NULL, "median", 0.5, room, f);
	row_of_group(r, columns, NULL, "most", 1, room, f);
	fprintf(f, "the busiest rank, %d:\n", busiest(r));
	row_of_rank(columns, &r->rank[busiest(r)], f);
}

void report_rows(const job_result *r, const report_column *columns, FILE *f)
{
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
