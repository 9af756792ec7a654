/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes the tables for people, with ranks in rows, each by itself or in groups, and adds up the
 * resources that a job has used. Ranks may share a process and a host, whose resources are counted
 * once. */
#include "report.h"
#include "base/arith.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef enum column_kind { COLUMN_INT32, COLUMN_UINT64, COLUMN_REAL, COLUMN_TEXT } column_kind;

typedef struct report_column {
	const char *heading; /* NULL ends a list */
	column_kind kind;
	size_t at;                            /* offset in rank_result */
	size_t plus;                          /* offset of a real that is added; 0: none */
	double scale;                         /* factor; 0: none */
	bool inverse;                         /* the result is scale / value */
	double (*make)(const rank_result *r); /* computes the value, if not NULL */
	int width;                            /* below 0: left-aligned; a longer text is cut off */
	int digits;                           /* significant digits of a real */
	bool fixed;                           /* instead: digits after the point, below 10 */
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
		if (p != PH_EXCHANGE) /* in this phase, ranks wait for blocks */
			sum += r->phase_s[p];
	return sum;
}

double report_balance(const job_result *r)
{
	double most = 0, sum = 0;
	for (int i = 0; i < r->size; i++) {
		const double b = busy_s(&r->rank[i]);
		sum += b;
		most = b > most ? b : most;
	}
	return sum > 0 ? most * r->size / sum : 0;
}

/* ------------------------------------------------------------------------------ columns */

#define FIXED(wide) .width = (wide), .digits = 3, .fixed = true
#define PHASE(name, phase)                           \
	{                                            \
		name, RANK(phase_s[phase]), FIXED(6) \
	}
#define PLUS(member) .plus = offsetof(rank_result, member)

static const report_column columns_of[REPORT_TABLES][12] = {
	[REPORT_PLAN] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -16 },
		{ "speed", RANK(speed), .width = 8, .digits = 4 },
		{ "reads", RANK(planned_in), .width = 12 },
		{ "writes", RANK(planned_out), .width = 12 },
		{ "predicted s", RANK(predicted_s), FIXED(11) },
		{ "bound by", RANK(bound_by), .width = 9 },
	},
	[REPORT_RESULT] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -12 },
		{ "speed", RANK(speed), .width = 6, .digits = 3 },
		{ "reads", RANK(in), .width = 11 },
		{ "writes", RANK(out), .width = 11 },
		{ "need MB", RANK(planned_bytes), .scale = 1e-6, FIXED(7) },
		{ "used MB", RANK(mem_peak_bytes), .scale = 1e-6, FIXED(7) },
		{ "need s", RANK(predicted_s), FIXED(6) },
		{ "took s", COLUMN_REAL, .make = busy_s, FIXED(6) },
	},
	[REPORT_PHASES] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -9 },
		{ "start", RANK(phase_s[PH_DESCRIBE]), PLUS(phase_s[PH_PLAN]), FIXED(6) },
		PHASE("read", PH_READ),
		PHASE("sort", PH_SORT),
		{ "split", RANK(phase_s[PH_SAMPLE]), PLUS(phase_s[PH_SPLIT]), FIXED(6) },
		PHASE("merge", PH_MERGE),
		PHASE("write", PH_WRITE),
		{ "sync", RANK(phase_s[PH_SYNC]), PLUS(phase_s[PH_COMMIT]), FIXED(6) },
		{ "busy", COLUMN_REAL, .make = busy_s, FIXED(6) },
		{ "wait", RANK(phase_s[PH_EXCHANGE]), PLUS(wait_s), FIXED(6) },
	},
	[REPORT_RATES] = {
		{ "rank", RANK(rank), .width = 5 },
		{ "host", RANK(host), .width = -16 },
		{ "sort", RANK(rate.sort_s), .scale = 1e9, FIXED(8) },
		{ "merge", RANK(rate.merge_s), .scale = 1e-9, .inverse = true, FIXED(8) },
		{ "copy", RANK(rate.copy_s), .scale = 1e-9, .inverse = true, FIXED(8) },
		{ "file", RANK(rate.file_s), .scale = 1e-9, .inverse = true, FIXED(8) },
		{ "error", RANK(speed_error), FIXED(8) },
	},
};

/* --------------------------------------------------------------------------------- rows */

static double column_value(const report_column *c, const rank_result *k)
{
	const char *at = (const char *)k + c->at;
	int32_t word;
	uint64_t whole;
	double v = 0, more = 0;
	if (c->make)
		v = c->make(k);
	else if (c->kind == COLUMN_INT32)
		memcpy(&word, at, sizeof word), v = word;
	else if (c->kind == COLUMN_UINT64)
		memcpy(&whole, at, sizeof whole), v = whole < UINT64_MAX ? (double)whole : NAN;
	else
		memcpy(&v, at, sizeof v);
	if (c->plus)
		memcpy(&more, (const char *)k + c->plus, sizeof more);
	v += more;
	return c->inverse ? c->scale / v : c->scale > 0 ? c->scale * v : v;
}

/* Print a number, - if it is not known. The more digits it has before its point, the fewer are
 * printed after it. */
static void print_number(const report_column *c, double v, FILE *f)
{
	int digits = c->digits;
	if (isnan(v)) {
		fprintf(f, "%*s", c->width, "-");
		return;
	}
	if (c->kind == COLUMN_REAL && (!c->fixed || v >= REPORT_LONG)) {
		fprintf(f, "%*.*g", c->width, c->digits, v);
		return;
	}
	for (double most = 10; digits > 0 && v >= most; most *= 10)
		digits--;
	fprintf(f, "%*.*f", c->width, digits, v);
}

static void print_rank_row(const report_column *columns, const rank_result *k, FILE *f)
{
	for (const report_column *c = columns; c->heading; c++) {
		fputs(c == columns ? "" : " ", f);
		if (c->kind == COLUMN_TEXT)
			fprintf(f, "%*.*s", c->width, abs(c->width), (const char *)k + c->at);
		else
			print_number(c, column_value(c, k), f);
	}
	fputc('\n', f);
}

/* Print a row for the ranks of the host of a rank, or for all ranks if it is NULL. part: 0 for the
 * least value in each column, 0.5 for the median, 1 for the most. The first column is the number of
 * ranks. room: for one number per rank. */
static void print_group_row(const job_result *r, const report_column *columns,
			    const rank_result *host, double part, double *room, FILE *f)
{
	const char *name = host ? host->host : part <= 0 ? "least" : part >= 1 ? "most" : "median";
	bool named = false;
	for (const report_column *c = columns; c->heading; c++) {
		int n = 0;
		const bool first_text = c->kind == COLUMN_TEXT && !named;
		named |= c->kind == COLUMN_TEXT;
		for (int i = 0; i < r->size; i++)
			if (!host || r->rank[i].host_id == host->host_id)
				room[n++] =
					c->kind == COLUMN_TEXT ? 0 : column_value(c, &r->rank[i]);
		qsort(room, (size_t)n, sizeof *room, double_order);
		if (c == columns)
			fprintf(f, "%*d", c->width, n);
		else if (c->kind == COLUMN_TEXT)
			fprintf(f, " %*.*s", c->width, abs(c->width), first_text ? name : "");
		else
			fputc(' ', f), print_number(c, room[(int)(part * (n - 1))], f);
	}
	fputc('\n', f);
}

/* Print a row for each host if there are few, and rows for all hosts together. */
static void print_groups(const job_result *r, const report_column *columns, double *room, FILE *f)
{
	int first[REPORT_ROWS], hosts = 0, busiest = 0; /* first: the first rank of each host */
	for (int i = 0; i < r->size && hosts <= REPORT_ROWS; i++) {
		int k = 0;
		while (k < hosts && r->rank[first[k]].host_id != r->rank[i].host_id)
			k++;
		if (k < hosts)
			continue;
		if (hosts < REPORT_ROWS)
			first[hosts] = i;
		hosts++;
	}
	for (int k = 0; hosts > 1 && hosts <= REPORT_ROWS && k < hosts; k++)
		print_group_row(r, columns, &r->rank[first[k]], 0.5, room, f);
	print_group_row(r, columns, NULL, 0, room, f);
	print_group_row(r, columns, NULL, 0.5, room, f);
	print_group_row(r, columns, NULL, 1, room, f);
	for (int i = 1; i < r->size; i++)
		if (busy_s(&r->rank[i]) > busy_s(&r->rank[busiest]))
			busiest = i;
	fprintf(f, "the busiest rank, %d:\n", busiest);
	print_rank_row(columns, &r->rank[busiest], f);
}

void report_rows(const job_result *r, report_table_kind which, FILE *f)
{
	const report_column *columns = columns_of[which];
	double *room = r->size > REPORT_ROWS ? malloc((size_t)r->size * sizeof *room) : NULL;
	for (const report_column *c = columns; c->heading; c++)
		fprintf(f, "%s%*s", c == columns ? "" : " ", c->width,
			c == columns && room ? "ranks" : c->heading);
	fputc('\n', f);
	if (room)
		print_groups(r, columns, room, f);
	for (int i = 0; !room && i < r->size; i++)
		print_rank_row(columns, &r->rank[i], f);
	free(room);
}

/* --------------------------------------------------------------------------- resources used */

/* A job that uses at least this part of its processors is bound by them. */
static const double BUSY = 0.8;

/* Memory is the bound if page faults take this part of the processor time. */
static const double FAULTS_PART = 0.5;

static bool same_process(const rank_result *a, const rank_result *b)
{
	return a->pid == b->pid && a->host_id == b->host_id;
}

static double rank_core_s(const rank_result *k)
{
	return k->used.user_s + k->used.system_s;
}

static double rank_waited_s(const rank_result *k)
{
	double s = 0;
	for (int i = 0; i < k->spans; i++)
		s += k->span[i].wait_s;
	return s;
}

/* Find what limited the rank that waited least, which is the rank that the others waited for. */
static const char *bound_of(const job_result *r, const report_use *u)
{
	const rank_result *k = &r->rank[0];
	bool hosts = false;
	for (int i = 1; i < r->size; i++) {
		hosts |= r->rank[i].host_id != r->rank[0].host_id;
		k = rank_waited_s(&r->rank[i]) < rank_waited_s(k) ? &r->rank[i] : k;
	}
	double processors = 0; /* of its process */
	for (int i = 0; i < r->size; i++)
		processors += same_process(&r->rank[i], k) ? r->rank[i].cpus : 0;
	const double could_s = processors * r->total_s;
	const double busy = could_s > 0 ? rank_core_s(k) / could_s : 0;
	const double waited = r->total_s > 0 ? rank_waited_s(k) / r->total_s : 0;
	if (busy < BUSY && hosts && waited >= 1 - busy - waited)
		return "network";
	if (busy < BUSY && k->used.disk_bytes > 0)
		return "disk";
	return u->fault_s >= FAULTS_PART * u->core_s ? "memory" : "processor";
}

report_use report_use_of(const job_result *r, const settings *o)
{
	const double gb = 1e-9 * (double)r->records * o->lay.record_bytes;
	report_use u = { .joules = -1, .bound = "" };
	int hosts = 0, metered = 0;
	double joules = 0;
	for (int i = 0; i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		bool new_process = true, new_host = true;
		for (int n = 0; n < i && (new_process || new_host); n++) {
			new_process = new_process && !same_process(&r->rank[n], k);
			new_host = new_host && r->rank[n].host_id != k->host_id;
		}
		u.processors += k->cpus;
		u.core_s += new_process ? rank_core_s(k) : 0;
		u.faults += new_process ? k->used.minor_faults : 0;
		u.fault_s += new_process ? k->used.fault_s * (double)k->used.minor_faults : 0;
		hosts += new_host;
		metered += new_host && k->used.joules >= 0;
		joules += new_host && k->used.joules >= 0 ? k->used.joules : 0;
	}
	if (hosts > 0 && hosts == metered)
		u.joules = joules;
	if (gb > 0) {
		u.core_s_per_gb = u.core_s / gb;
		u.joules_per_gb = u.joules >= 0 ? u.joules / gb : -1;
	}
	if (u.processors * r->total_s > 0)
		u.busy = fmin(u.core_s / (u.processors * r->total_s), 1);
	if (r->size)
		u.bound = bound_of(r, &u);
	return u;
}
