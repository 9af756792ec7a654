/* SPDX-License-Identifier: GPL-3.0-or-later */
/* all_at_once.c - the affine shares of [S2]: as if all were sent at once (processor i ends at l_i
 * + c_i d_i, by water filling), a second pass with the waits of the first (the stair), and the
 * minimising algorithm for whole shares. May not touch: the one-port model. Costs O(p log p). */
#include <math.h>
#include <stdlib.h>

#include "scatter.h"
#include "unrelated/unrelated.h"

/* A processor that takes any real number of items, from its start on. */
struct receiver {
	double start;    /* l: when it can begin */
	double per_item; /* c: time */
	size_t proc;
};

static int by_start(const void *va, const void *vb)
{
	const struct receiver *a = va, *b = vb;

	return part_compare(a->start, a->proc, b->start, b->proc);
}

/* The time T by which the processors, sorted, can take n items; those that start at T or later get
 * none. One that takes items in no time gets any number: *sink, and T is its start. T counts from
 * the first start. */
static long double water_level(const struct receiver *v, size_t p, uint64_t n, size_t *sink)
{
	long double gain = 0, base = 0, t = INFINITY;

	*sink = p;
	for (size_t i = 0; i < p; i++) {
		long double rise = (long double)v[i].start - v[0].start;
		if (t <= rise)
			break;
		if (!(v[i].per_item > 0)) {
			*sink = i;
			return rise;
		}
		gain += 1.0L / v[i].per_item;
		base += rise / v[i].per_item;
		t = (n + base) / gain;
	}
	return t;
}

static void water_fill(struct receiver *v, size_t p, uint64_t n, double *real)
{
	long double t, left = n;
	size_t sink;

	qsort(v, p, sizeof *v, by_start);
	t = water_level(v, p, n, &sink);
	for (size_t i = 0; i < p; i++) {
		long double room = t - ((long double)v[i].start - v[0].start);
		long double d =
			i == sink || room <= 0 || !(v[i].per_item > 0) ? 0 : room / v[i].per_item;
		real[v[i].proc] = (double)d;
		left -= d;
	}
	if (sink < p)
		real[v[sink].proc] = (double)fmaxl(0, left);
}

/* In pass two a processor also waits for the sends of pass one that come before its own. Pass one
 * counts the startups, which that of [S2] does not: a processor whose startup is too long to be
 * served would get a share there, and delay all after it in pass two. On random platforms with
 * startups of up to a tenth of the makespan both end within 0.2 % of each other, with startups up
 * to the makespan within 1 %; up to ten times that, [S2]'s ends 1.8 times as late on average, up to
 * 100 times, 5 times as late. */
static void set_receivers(const struct scatter *sc, struct receiver *v, bool waits)
{
	double port = 0;

	for (size_t i = 0; i < sc->p; i++) {
		const struct sc_cost *l = &sc->link[i], *c = &sc->comp[i];
		double x = sc->plan->real[i];
		v[i] = (struct receiver){ l->startup + c->startup + (waits ? port : 0),
					  l->per_item + c->per_item, i };
		if (waits && x > 0)
			port += l->startup + l->per_item * x;
	}
}

hetpart_status part_sc_all_at_once(struct scatter *sc, int passes, hetpart_err *err)
{
	struct receiver *v;

	if (!sc->affine)
		return part_fail(err, HETPART_EINVAL, "the method needs affine costs");
	sc->plan->method = passes > 1 ? "two-pass" : "all-at-once";
	v = part_calloc(sc->p, sizeof *v);
	if (!v)
		return part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", sc->p);
	for (int pass = 0; pass < passes; pass++) {
		set_receivers(sc, v, pass > 0);
		water_fill(v, sc->p, sc->n, sc->plan->real);
	}
	free(v);
	sc->plan->real_makespan = ldexp(part_sc_real_ends(sc, false), sc->shift);
	return part_sc_round(sc->plan->share, sc->n, sc->plan->real, sc->p, err);
}

struct both {
	const struct sc_cost *link, *comp;
};

static double both_times(void *ctx, uint64_t n)
{
	const struct both *b = ctx;

	return sc_time(b->link, n) + sc_time(b->comp, n);
}

hetpart_status part_sc_greedy(struct scatter *sc, hetpart_err *err)
{
	part_procs ps = { .n = sc->p, .bad = &sc->bad };
	struct hetpart_cost *sum = part_calloc(sc->p, sizeof *sum);
	const hetpart_cost **costs = part_calloc(sc->p, sizeof *costs);
	struct both *both = part_calloc(sc->p, sizeof *both);
	hetpart_status rc;

	sc->plan->method = "greedy";
	if (!sum || !costs || !both) {
		rc = part_fail(err, HETPART_ENOMEM, "no memory for %zu processors", sc->p);
	} else if (!sc->comp_increasing || !sc->link_increasing) {
		rc = part_fail(err, HETPART_EINVAL, "the method needs increasing costs");
	} else {
		for (size_t i = 0; i < sc->p; i++) {
			both[i] = (struct both){ &sc->link[i], &sc->comp[i] };
			sum[i] = (struct hetpart_cost){ .kind = COST_CALLBACK,
							.increasing = true,
							.scale = 1,
							.fn = both_times,
							.ctx = &both[i] };
			costs[i] = &sum[i];
		}
		ps.costs = costs;
		rc = part_threshold(&ps, sc->n, sc->plan->share, NULL, err);
	}
	free(sum);
	free(costs);
	free(both);
	return rc;
}
