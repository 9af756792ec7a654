/* SPDX-License-Identifier: GPL-3.0-or-later */
/* isotonic.c - from observations to a cost: pool adjacent violators, so that the cost rises with
 * the items, then lines from (0, 0) through the pools [S4 section 3.3].
 * May not touch: the model it reads. Costs O(cells). */
#include <math.h>

#include "model.h"

/* Merge the last two pools while the cost does not rise; returns how many are left. */
static size_t pool_back(struct cell *pool, size_t n)
{
	while (n > 1 && pool[n - 2].cost >= pool[n - 1].cost) {
		struct cell *a = &pool[n - 2], *b = &pool[n - 1];
		double part = b->weight / (a->weight + b->weight);
		a->items += (b->items - a->items) * part;
		a->cost += (b->cost - a->cost) * part;
		a->weight += b->weight;
		n--;
	}
	return n;
}

static bool tells(const struct cell *c)
{
	return c->weight > 0 && c->cost > 0;
}

/* What tells something, a number of parts of cells taken together; returns how many there are and
 * stores as many as there is room for. */
static size_t gather(const hetpart_model *model, size_t together, struct cell seen[MODEL_SEEN])
{
	size_t n = 0;

	for (size_t i = 0; i < MODEL_CELLS; i += together) {
		struct cell c = { 0 };
		for (size_t j = i; j < i + together; j++)
			if (tells(&model->cell[j]))
				part_cell_merge(&c, &model->cell[j]);
		if (c.weight > 0 && n++ < MODEL_SEEN)
			seen[n - 1] = c;
	}
	return n;
}

size_t hetpart_model_points(const hetpart_model *model, hetpart_point *points, size_t room)
{
	struct cell seen[MODEL_SEEN], pool[MODEL_POINTS];
	size_t n = 0, together = 1, m;

	if (!model)
		return 0;
	while ((m = gather(model, together, seen)) > MODEL_SEEN)
		together *= 2; /* whole cells in the end, which are no more than that */
	m = part_model_smooth(seen, m, pool);
	for (size_t i = 0; i < m; i++) { /* pools are no more than points: in place */
		pool[n++] = pool[i];
		n = pool_back(pool, n);
	}
	for (size_t i = 0; points && i < n && i < room; i++)
		points[i] = (hetpart_point){ pool[i].items, pool[i].cost };
	return n;
}

/* Beyond what was seen, the cost rises at least in proportion. */
static double slope_beyond(const hetpart_point *pt, size_t n, double last_slope)
{
	return max_double(pt[n - 1].time_s / pt[n - 1].items, last_slope);
}

hetpart_status hetpart_model_cost(hetpart_cost **out, const hetpart_model *model, hetpart_err *err)
{
	hetpart_point pt[MODEL_POINTS];
	hetpart_status rc;
	size_t n;

	if (out)
		*out = NULL;
	if (!out || !model)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "model" : "out");
	n = hetpart_model_points(model, pt, MODEL_POINTS);
	if (n == 0 || !(pt[n - 1].time_s > 0))
		return hetpart_cost_linear(out, 1, err);
	rc = hetpart_cost_piecewise(out, pt, n, 1, err);
	if (rc == HETPART_OK)
		(*out)->last_slope = slope_beyond(pt, n, (*out)->last_slope);
	return rc;
}

hetpart_status hetpart_model_plan(hetpart_plan **out, const hetpart_model *model, uint64_t items,
				  const double *speeds, size_t nprocs, const hetpart_opts *opts,
				  hetpart_err *err)
{
	hetpart_cost *cost;
	hetpart_status rc;

	if (out)
		*out = NULL;
	rc = hetpart_model_cost(&cost, model, err);
	if (rc != HETPART_OK)
		return rc;
	rc = hetpart_share_create(out, items, speeds, nprocs, cost, opts, err);
	hetpart_cost_free(cost);
	return rc;
}
