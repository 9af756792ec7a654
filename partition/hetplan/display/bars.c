/* SPDX-License-Identifier: GPL-3.0-or-later */
/* bars.c - from an answer to who receives, sends and computes when.
 * May not touch: how it is drawn. Costs one bar for each message and computation. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "display.h"

#define ROWS_MAX   4096
#define CHUNKS_MAX 100000 /* of a farm */
#define NAME_BYTES 64

static double list_at(const struct hp_job *job, const char *key, size_t i)
{
	return hp_at_index(json_object_get(job->out, key), i);
}

/* The processor of row j. */
static size_t row_proc(const struct hp_job *job, size_t j)
{
	const json_t *order = json_object_get(job->out, "order");

	return order ? (size_t)json_integer_value(json_array_get(order, j)) : j;
}

static bool name_rows(struct hp_job *job, struct hp_bars *b)
{
	const json_t *names = json_object_get(job->in, "names");

	if (!(b->names = hp_alloc(job, b->nrows, sizeof *b->names)))
		return false;
	for (size_t j = 0; j < b->nrows; j++) {
		const char *s = json_string_value(json_array_get(names, row_proc(job, j)));
		if (!(b->names[j] = hp_alloc(job, NAME_BYTES, 1)))
			return false;
		if (s)
			hp_clean(b->names[j], NAME_BYTES, s, strlen(s));
		else
			snprintf(b->names[j], NAME_BYTES, "P%zu", row_proc(job, j));
	}
	return true;
}

static bool begin(struct hp_job *job, struct hp_bars *b, size_t rows, size_t bars)
{
	if (rows > ROWS_MAX)
		return hp_fail(job, NULL, "no chart: %zu processors, more than %d", rows, ROWS_MAX);
	*b = (struct hp_bars){ .nrows = rows };
	return name_rows(job, b) && (b->bar = hp_alloc(job, bars, sizeof *b->bar));
}

static void add(struct hp_bars *b, size_t row, enum hp_bar_kind kind, double start, double end)
{
	if (end > b->end)
		b->end = end;
	if (!(end > start))
		return;
	b->has[kind] = true;
	b->bar[b->nbars++] = (struct hp_bar){ row, kind, start, end, b->pieces };
}

/* Everybody computes from 0 on. */
static bool plain(struct hp_job *job, struct hp_bars *b, const char *shares)
{
	size_t n = json_array_size(json_object_get(job->out, shares));

	if (!begin(job, b, n, n))
		return false;
	for (size_t j = 0; j < n; j++)
		add(b, j, HP_BAR_COMPUTE, 0, list_at(job, "times", j));
	return true;
}

/* The link of each row, NULL where it is free. */
static bool row_links(struct hp_job *job, size_t n, const hetpart_cost **links)
{
	const json_t *root = json_object_get(job->out, "root"), *matrix, *procs;
	size_t r = (size_t)json_integer_value(root);

	procs = json_object_get(job->in, "processors");
	matrix = json_array_get(json_object_get(job->in, "link"), r);
	for (size_t j = 0; j < n; j++) {
		size_t i = row_proc(job, j);
		const json_t *v = root ? json_array_get(matrix, i)
				       : json_object_get(json_array_get(procs, i), "link");
		if ((root && i == r) || !v)
			continue;
		if (!(links[j] = hp_cost(job, v, NULL)))
			return false;
	}
	return true;
}

/* The root serves one after the other; what it does itself comes last. */
static bool scatter(struct hp_job *job, struct hp_bars *b)
{
	const json_t *shares = json_object_get(job->out, "shares");
	size_t n = json_array_size(shares);
	const hetpart_cost **links;
	double t = 0;

	if (!begin(job, b, n, 3 * n) || !(links = hp_alloc(job, n, sizeof *links)) ||
	    !row_links(job, n, links))
		return false;
	for (size_t j = 0; j < n; j++) {
		uint64_t items = (uint64_t)json_integer_value(json_array_get(shares, j));
		double end = t + (links[j] ? hetpart_cost_eval(links[j], items) : 0);
		add(b, j, HP_BAR_RECEIVE, t, end);
		if (j + 1 < n)
			add(b, n - 1, HP_BAR_SEND, t, end);
		add(b, j, HP_BAR_COMPUTE, end, list_at(job, "times", j));
		t = end;
	}
	return true;
}

static double date(const json_t *out, const char *key, size_t l, size_t j, size_t i)
{
	return hp_at_index(json_array_get(json_array_get(json_object_get(out, key), l), j), i);
}

static void add_installment(struct hp_bars *b, const json_t *out, size_t l, size_t j)
{
	for (size_t i = 0; i < b->nrows; i++) {
		double start = date(out, "comm_start", l, j, i),
		       end = date(out, "comm_end", l, j, i);
		if (i + 1 < b->nrows) {
			add(b, i, HP_BAR_SEND, start, end);
			add(b, i + 1, HP_BAR_RECEIVE, start, end);
		}
		add(b, i, HP_BAR_COMPUTE, date(out, "comp_start", l, j, i),
		    date(out, "comp_end", l, j, i));
	}
}

static bool add_dates(struct hp_job *job, struct hp_bars *b, const json_t *out)
{
	const json_t *loads = json_object_get(out, "comp_start");
	size_t rows = json_array_size(json_object_get(job->in, "w")), inst = 0;

	for (size_t l = 0; l < json_array_size(loads); l++)
		inst += json_array_size(json_array_get(loads, l));
	if (!begin(job, b, rows, 3 * rows * inst))
		return false;
	b->overlap = b->pieces = true;
	for (size_t l = 0; l < json_array_size(loads); l++)
		for (size_t j = 0; j < json_array_size(json_array_get(loads, l)); j++)
			add_installment(b, out, l, j);
	return true;
}

static bool chain(struct hp_job *job, struct hp_bars *b)
{
	struct hp_job dates = { .in = NULL };
	bool ok = hp_chain_dates(job, &dates) && add_dates(job, b, dates.out);

	hp_job_free(&dates);
	return ok;
}

static void count_chunk(void *ctx, const hetpart_chunk *c)
{
	uint64_t *chunks = ctx;

	(void)c;
	++*chunks;
}

/* A chunk that needs no message follows the one before without a gap: its computation is marked. */
static void add_chunk(void *ctx, const hetpart_chunk *c)
{
	struct hp_bars *b = ctx;

	add(b, c->proc, HP_BAR_RECEIVE, c->sent, c->arrived);
	b->pieces = !(c->arrived > c->sent);
	add(b, c->proc, HP_BAR_COMPUTE, c->arrived, c->done);
	b->pieces = true;
}

/* The farm once more, for its dates. */
static bool farm(struct hp_job *job, struct hp_bars *b)
{
	hetpart_plan *plan;
	uint64_t chunks = 0;

	if (!hp_farm(job, count_chunk, &chunks, &plan))
		return false;
	if (chunks > CHUNKS_MAX)
		return hp_fail(job, NULL, "no chart: %" PRIu64 " chunks, more than %d", chunks,
			       CHUNKS_MAX);
	if (!begin(job, b, hetpart_plan_nprocs(plan), 2 * (size_t)chunks))
		return false;
	b->pieces = true;
	return hp_farm(job, add_chunk, b, &plan);
}

bool hp_bars(struct hp_job *job, struct hp_bars *b)
{
	const char *op = json_string_value(json_object_get(job->out, "op"));
	bool ok;

	if (!json_is_number(json_object_get(job->out, "makespan")))
		return hp_fail(job, NULL, "no chart of '%s': its answer has no dates", op);
	if (json_object_get(job->in, "w"))
		ok = chain(job, b);
	else if (strcmp(op, "farm") == 0)
		ok = farm(job, b);
	else if (strncmp(op, "scatter", 7) == 0)
		ok = scatter(job, b);
	else
		ok = plain(job, b, json_object_get(job->out, "counts") ? "counts" : "shares");
	return ok && (isfinite(b->end) || hp_fail(job, NULL, "no chart: a time is infinite"));
}

double hp_tick(double end, unsigned n)
{
	double raw = end / n, ten = pow(10, floor(log10(raw)));

	if (!(raw > 0) || !(ten > 0) || !isfinite(ten))
		return end > 0 ? end : 1;
	if (raw <= ten)
		return ten;
	if (raw <= 2 * ten)
		return 2 * ten;
	return raw <= 5 * ten ? 5 * ten : 10 * ten;
}
