/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model.c - observations (items, cost) of an unknown cost, pooled in geometric cells of ratio 1.1
 * in eight parts: without the cells a noise of 5 % stalls the scheme at 2.5-3 % imbalance [S4
 * section 3.3], without the parts a jump inside a cell stays blurred. May not touch:
 * files, plans. Costs O(1) for an observation, 118 kB for a model. */
#include <math.h>
#include <stdlib.h>

#include "model.h"

hetpart_status hetpart_model_create(hetpart_model **out, hetpart_err *err)
{
	if (!out)
		return part_fail(err, HETPART_EINVAL, "'out' is NULL");
	*out = part_calloc(1, sizeof **out);
	if (!*out)
		return part_fail(err, HETPART_ENOMEM, "no memory for a model");
	return HETPART_OK;
}

void hetpart_model_free(hetpart_model *model)
{
	free(model);
}

size_t part_model_cell(double items)
{
	double at = log(items) * (MODEL_PARTS / log(MODEL_RATIO));

	return at < MODEL_CELLS - 1 ? (size_t)at : MODEL_CELLS - 1;
}

/* ln of the cost of an item; the quotient itself may be beyond a double. */
static double ln_mean_cost(const struct cell *c)
{
	return log(c->cost) - log(c->items);
}

void part_cell_merge(struct cell *c, const struct cell *more)
{
	struct cell was = *c;
	double part = more->weight / (was.weight + more->weight);
	double items = was.items + (more->items - was.items) * part;

	/* Not beyond the two by rounding: it might be in another part of the cell then. */
	c->items = was.weight > 0
			   ? max_double(min_double(items, max_double(was.items, more->items)),
					min_double(was.items, more->items))
			   : more->items;
	c->cost += (more->cost - was.cost) * part;
	c->spread += (more->spread - was.spread) * part;
	c->weight = min_double(was.weight + more->weight, MODEL_WEIGHT);
	if (was.weight > 0 && was.cost > 0 && more->cost > 0) {
		double d = ln_mean_cost(more) - ln_mean_cost(&was);
		c->spread += part * (1 - part) * d * d; /* between the two means */
	}
}

static void add_observation(hetpart_model *model, const struct cell *more)
{
	part_cell_merge(&model->cell[part_model_cell(more->items)], more);
}

static hetpart_status check_points(const hetpart_point *pt, size_t n, hetpart_err *err)
{
	for (size_t i = 0; i < n; i++) {
		if (!(pt[i].items == 0 || pt[i].items >= 1) || pt[i].items > 0x1p63)
			return part_fail(err, HETPART_EINVAL,
					 "observation %zu has '%g' items: want 0, or 1 to 2^63", i,
					 pt[i].items);
		if (!(isfinite(pt[i].time_s) && pt[i].time_s >= 0))
			return part_fail(
				err, HETPART_EINVAL,
				"observation %zu has cost '%g': must be a finite number, 0 "
				"or more",
				i, pt[i].time_s);
	}
	return HETPART_OK;
}

hetpart_status hetpart_model_add(hetpart_model *model, const hetpart_point *observed, size_t count,
				 hetpart_err *err)
{
	if (!model || (!observed && count))
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", model ? "observed" : "model");
	if (check_points(observed, count, err) != HETPART_OK)
		return HETPART_EINVAL;
	for (size_t i = 0; i < count; i++)
		if (observed[i].items >= 1)
			add_observation(model, &(struct cell){ observed[i].items,
							       observed[i].time_s, 1, 0 });
	return HETPART_OK;
}

hetpart_status hetpart_model_decay(hetpart_model *model, double factor, hetpart_err *err)
{
	if (!model)
		return part_fail(err, HETPART_EINVAL, "'model' is NULL");
	if (!(factor > 0 && factor <= 1))
		return part_fail(err, HETPART_EINVAL,
				 "decay factor is '%g': want a number above 0, up to 1", factor);
	for (size_t i = 0; i < MODEL_CELLS; i++) {
		struct cell *c = &model->cell[i];
		c->weight *= factor;
		if (c->weight < 1e-9)
			*c = (struct cell){ 0 };
	}
	return HETPART_OK;
}

hetpart_status hetpart_model_merge(hetpart_model *into, const hetpart_model *from, hetpart_err *err)
{
	if (!into || !from)
		return part_fail(err, HETPART_EINVAL, "'%s' is NULL", into ? "from" : "into");
	for (size_t i = 0; i < MODEL_CELLS; i++) {
		struct cell c = from->cell[i]; /* a copy: a model may be merged into itself */
		if (c.weight > 0)
			add_observation(into, &c);
	}
	return HETPART_OK;
}

double hetpart_model_weight(const hetpart_model *model)
{
	double sum = 0;

	for (size_t i = 0; model && i < MODEL_CELLS; i++)
		sum += model->cell[i].weight;
	return sum;
}
