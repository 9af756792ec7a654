/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm.c - self-scheduling [S2]: the root hands out chunks on request, first come first served, one
 * message at a time; simulated, so that it can be compared with a plan made beforehand.
 * May not touch: plans made beforehand. Costs O(chunks log p). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "base/part.h"

struct worker {
	double ready; /* when it asks for the next chunk */
	size_t proc;
};

struct farm {
	const hetpart_worker *workers;
	size_t n;
	struct worker *heap;
	hetpart_plan *plan;
	hetpart_chunks todo;
	double port; /* when the root's port is free */
	hetpart_farm_watch *watch;
	void *ctx;
	part_budget budget;
};

static bool earlier(const struct worker *a, const struct worker *b)
{
	return part_compare(a->ready, a->proc, b->ready, b->proc) < 0;
}

static void sift(struct farm *f)
{
	struct worker moving = f->heap[0];
	size_t at = 0, kid;

	while ((kid = 2 * at + 1) < f->n) {
		if (kid + 1 < f->n && earlier(&f->heap[kid + 1], &f->heap[kid]))
			kid++;
		if (!earlier(&f->heap[kid], &moving))
			break;
		f->heap[at] = f->heap[kid];
		at = kid;
	}
	f->heap[at] = moving;
}

static hetpart_status time_of(const hetpart_cost *cost, uint64_t n, size_t proc, double *t,
			      hetpart_err *err)
{
	*t = cost ? hetpart_cost_eval(cost, n) : 0;
	if (*t >= 0 && isfinite(*t))
		return HETPART_OK;
	return part_fail(err, isinf(*t) && *t > 0 ? HETPART_ERANGE : HETPART_EINVAL,
			 "a cost of processor %zu gives time '%g' for %" PRIu64 " items", proc, *t,
			 n);
}

/* The first in the queue gets a chunk. What needs no message does not wait for the port. */
static hetpart_status serve(struct farm *f, hetpart_err *err)
{
	size_t i = f->heap[0].proc;
	uint64_t size = hetpart_chunks_next(&f->todo);
	double send, work, start = f->heap[0].ready;
	hetpart_status rc = time_of(f->workers[i].link, size, i, &send, err);

	if (rc == HETPART_OK)
		rc = time_of(f->workers[i].compute, size, i, &work, err);
	if (rc != HETPART_OK)
		return rc;
	if (send > 0) {
		start = max_double(start, f->port) + send;
		f->port = start;
	}
	f->plan->share[i] += size;
	f->plan->time[i] = f->heap[0].ready = start + work;
	if (f->watch)
		f->watch(f->ctx, &(hetpart_chunk){ i, size, start - send, start, start + work });
	sift(f);
	return HETPART_OK;
}

static hetpart_status check(const struct farm *f, hetpart_err *err)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->workers[i].compute)
			return part_fail(err, HETPART_EINVAL,
					 "the computing cost of processor %zu is NULL", i);
	if (f->todo.rule < HETPART_CHUNK_FIXED || f->todo.rule > HETPART_CHUNK_FACTORING)
		return part_fail(err, HETPART_EINVAL, "'%d' is not a rule for chunks",
				 (int)f->todo.rule);
	if (f->todo.chunk == 0)
		return part_fail(err, HETPART_EINVAL, "chunks of '0' items: want at least 1");
	if (f->todo.rule == HETPART_CHUNK_FIXED &&
	    f->todo.left / f->todo.chunk > HETPART_FARM_CHUNKS_MAX)
		return part_fail(err, HETPART_ERANGE, "'%" PRIu64 "' chunks: want at most %" PRIu64,
				 f->todo.left / f->todo.chunk, HETPART_FARM_CHUNKS_MAX);
	return HETPART_OK;
}

static hetpart_status simulate(struct farm *f, hetpart_err *err)
{
	hetpart_status rc = HETPART_OK;

	for (size_t i = 0; i < f->n; i++)
		f->heap[i] = (struct worker){ 0, i }; /* all ready at once: a heap by position */
	while (f->todo.left && rc == HETPART_OK) {
		if (part_spend_cost(&f->budget, f->workers[f->heap[0].proc].compute))
			return part_budget_fail(&f->budget, err);
		rc = serve(f, err);
	}
	return rc == HETPART_OK ? part_plan_close(f->plan, err) : rc;
}

hetpart_status hetpart_farm_trace_within(hetpart_plan **out, uint64_t items,
					 const hetpart_worker *workers, size_t nprocs,
					 hetpart_chunk_rule rule, uint64_t chunk,
					 hetpart_farm_watch *watch, void *ctx,
					 const hetpart_limits *limits, hetpart_err *err)
{
	static const char *const names[] = { "self-scheduling, fixed chunks",
					     "self-scheduling, guided",
					     "self-scheduling, factoring" };
	struct farm f = { .workers = workers,
			  .n = nprocs,
			  .todo = { .rule = rule, .nprocs = nprocs, .chunk = chunk, .left = items },
			  .watch = watch,
			  .ctx = ctx };
	hetpart_status rc;

	if (out)
		*out = NULL;
	if (!out || !workers)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "workers" : "out");
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = check(&f, err)) != HETPART_OK ||
	    (rc = part_budget_within(&f.budget, limits, err)) != HETPART_OK)
		return rc;
	f.heap = part_calloc(nprocs, sizeof *f.heap);
	f.plan = part_plan_new(nprocs, items, names[rule]);
	if (f.heap && f.plan)
		rc = simulate(&f, err);
	else
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", nprocs);
	free(f.heap);
	if (rc == HETPART_OK)
		*out = f.plan;
	else
		hetpart_plan_free(f.plan);
	return rc;
}

hetpart_status hetpart_farm_trace(hetpart_plan **out, uint64_t items, const hetpart_worker *workers,
				  size_t nprocs, hetpart_chunk_rule rule, uint64_t chunk,
				  hetpart_farm_watch *watch, void *ctx, hetpart_err *err)
{
	return hetpart_farm_trace_within(out, items, workers, nprocs, rule, chunk, watch, ctx,
					 &PART_NO_LIMITS, err);
}

hetpart_status hetpart_farm_create(hetpart_plan **out, uint64_t items,
				   const hetpart_worker *workers, size_t nprocs,
				   hetpart_chunk_rule rule, uint64_t chunk, hetpart_err *err)
{
	return hetpart_farm_trace(out, items, workers, nprocs, rule, chunk, NULL, NULL, err);
}
