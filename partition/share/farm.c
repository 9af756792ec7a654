/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm.c - self-scheduling [S2]: the root sends chunks of items to workers that ask for them, first
 * come first served, one message at a time. The farm is simulated here, so that it can be compared
 * with a plan made beforehand. The sizes of chunks are also for real farms. Must not contain: plans
 * made beforehand. Costs O(chunks log p). */
#include <inttypes.h>
#include <stdlib.h>

#include "share.h"

uint64_t hetpart_chunks_next(hetpart_chunks *c)
{
	if (!c || c->nprocs == 0 || c->left == 0)
		return 0;
	uint64_t size = c->chunk;
	if (c->rule == HETPART_CHUNK_GUIDED)
		size = divide_up(c->left, c->nprocs);
	if (c->rule == HETPART_CHUNK_FACTORING) {
		if (c->batch_left == 0) {
			c->batch_chunk = divide_up(divide_up(c->left, 2), c->nprocs);
			c->batch_left = c->nprocs;
		}
		c->batch_left--;
		size = c->batch_chunk;
	}
	size = min_u64(max_u64(size, max_u64(c->chunk, 1)), c->left);
	c->left -= size;
	return size;
}

typedef struct farm {
	const hetpart_worker *workers;
	size_t n;
	part_turn *heap; /* workers, ordered by the time at which they ask for the next chunk */
	hetpart_plan *plan;
	hetpart_chunks todo;
	double port; /* when the root's port is free */
	hetpart_farm_watch *watch;
	void *ctx;
	part_budget budget;
} farm;

static hetpart_status chunk_time(const hetpart_cost *cost, uint64_t n, size_t proc, double *t,
				 hetpart_err *err)
{
	*t = cost ? hetpart_cost_eval(cost, n) : 0;
	if (*t >= 0 && isfinite(*t))
		return HETPART_OK;
	return part_fail(err, isinf(*t) && *t > 0 ? HETPART_ERANGE : HETPART_EINVAL,
			 "a cost of processor %zu gives time '%g' for %" PRIu64 " items", proc, *t,
			 n);
}

/* Give a chunk to the worker that asks first. It waits for the port unless sending takes no
 * time. */
static hetpart_status serve_worker(farm *f, hetpart_err *err)
{
	const size_t i = f->heap[0].proc;
	const uint64_t size = hetpart_chunks_next(&f->todo);
	double send, work, start = f->heap[0].key;
	hetpart_status rc = chunk_time(f->workers[i].link, size, i, &send, err);
	if (rc == HETPART_OK)
		rc = chunk_time(f->workers[i].compute, size, i, &work, err);
	if (rc != HETPART_OK)
		return rc;
	if (send > 0) {
		start = max_double(start, f->port) + send;
		f->port = start;
	}
	f->plan->share[i] += size;
	f->plan->time[i] = f->heap[0].key = start + work;
	if (f->watch)
		f->watch(f->ctx, &(hetpart_chunk){ i, size, start - send, start, start + work });
	part_turn_sift(f->heap, f->n, 0);
	return HETPART_OK;
}

static hetpart_status check_farm(const farm *f, hetpart_err *err)
{
	for (size_t i = 0; i < f->n; i++)
		if (!f->workers[i].compute)
			return part_invalid(err, "the computing cost of processor %zu is NULL", i);
	if (f->todo.rule < HETPART_CHUNK_FIXED || f->todo.rule > HETPART_CHUNK_FACTORING)
		return part_invalid(err, "'%d' is not a rule for chunks", (int)f->todo.rule);
	if (f->todo.chunk == 0)
		return part_invalid(err,
				    "the number of items in a chunk is '0': must be at least 1");
	if (f->todo.rule == HETPART_CHUNK_FIXED &&
	    f->todo.left / f->todo.chunk > HETPART_FARM_CHUNKS_MAX)
		return part_fail(err, HETPART_ERANGE,
				 "the number of chunks is '%" PRIu64 "': must be at most %" PRIu64,
				 f->todo.left / f->todo.chunk, HETPART_FARM_CHUNKS_MAX);
	return HETPART_OK;
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
	farm f = { .workers = workers,
		   .n = nprocs,
		   .todo = { .rule = rule, .nprocs = nprocs, .chunk = chunk, .left = items },
		   .watch = watch,
		   .ctx = ctx };
	hetpart_status rc;
	if (out)
		*out = NULL;
	if (!out || !workers)
		return part_is_null(err, out ? "workers" : "out");
	if ((rc = part_check_items(items, nprocs, err)) != HETPART_OK ||
	    (rc = check_farm(&f, err)) != HETPART_OK ||
	    (rc = part_budget_within(&f.budget, limits, err)) != HETPART_OK)
		return rc;
	f.heap = part_calloc(nprocs, sizeof *f.heap);
	f.plan = part_plan_new(nprocs, items, names[rule]);
	if (!f.heap || !f.plan)
		rc = part_no_memory(err, nprocs, "processors");
	for (size_t i = 0; rc == HETPART_OK && i < nprocs; i++)
		f.heap[i] = (part_turn){ 0, i, 0 }; /* all are free at time 0, so this is a heap */
	while (rc == HETPART_OK && f.todo.left)
		if (part_spend_cost(&f.budget, workers[f.heap[0].proc].compute))
			rc = part_budget_fail(&f.budget, err);
		else
			rc = serve_worker(&f, err);
	if (rc == HETPART_OK)
		rc = part_plan_close(f.plan, err);
	free(f.heap);
	return part_plan_return(out, f.plan, rc);
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
