/* SPDX-License-Identifier: GPL-3.0-or-later */
/* model.c - observations (items, cost) of an unknown cost, and the cost that is fitted to them.
 *
 * A cell has the observations whose numbers of items differ by a factor of at most 1.1, and has
 * eight parts. Without cells, noise of 5 % keeps an imbalance of 2.5 to 3 % [S4 section 3.3].
 * Without parts, a jump of the cost inside a cell would be blurred. The cells are smoothed
 * (smooth.c). Neighbours whose costs do not rise with the items are then pooled. Lines from (0, 0)
 * through the pools are the cost.
 *
 * An observation takes O(1) time, a fit O(cells^2), and a model 118 kB. */
#include <math.h>
#include <stdlib.h>

#include "model.h"

/* ------------------------------------------------------------------------------- observations */

hetpart_status hetpart_model_create(hetpart_model **out, hetpart_err *err)
{
	if (!out)
		return part_is_null(err, "out");
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
	const double at = log(items) * (MODEL_PARTS / log(MODEL_RATIO));
	return at < MODEL_CELLS - 1 ? (size_t)at : MODEL_CELLS - 1;
}

/* Return the logarithm of the mean cost of an item; the mean itself may exceed a double. */
static double ln_mean_cost(const model_cell *c)
{
	return log(c->cost) - log(c->items);
}

void part_cell_merge(model_cell *c, const model_cell *more)
{
	const model_cell was = *c;
	const double part = more->weight / (was.weight + more->weight);
	const double items = was.items + (more->items - was.items) * part;
	/* Stay between the two in spite of rounding, so that the mean stays in this part. */
	c->items = was.weight > 0
			   ? max_double(min_double(items, max_double(was.items, more->items)),
					min_double(was.items, more->items))
			   : more->items;
	c->cost += (more->cost - was.cost) * part;
	c->spread += (more->spread - was.spread) * part;
	c->weight = min_double(was.weight + more->weight, MODEL_WEIGHT);
	if (was.weight > 0 && was.cost > 0 && more->cost > 0) {
		const double d = ln_mean_cost(more) - ln_mean_cost(&was);
		c->spread += part * (1 - part) * d * d; /* the error between the two means */
	}
}

static void add_observation(hetpart_model *model, const model_cell *more)
{
	part_cell_merge(&model->cell[part_model_cell(more->items)], more);
}

/* Add observations. Without speeds, times are costs. */
static hetpart_status add_points(hetpart_model *model, const hetpart_point *point,
				 const double *speeds, size_t count, hetpart_err *err)
{
	for (size_t i = 0; i < count; i++) {
		const double items = point[i].items, speed = speeds ? speeds[i] : 1;
		const double cost = point[i].time_s * speed;
		if (!(isfinite(speed) && speed > 0))
			return part_invalid(
				err, "observation %zu has speed '%g': must be finite and above 0",
				i, speed);
		if (!(items == 0 || items >= 1) || items > 0x1p63)
			return part_invalid(
				err, "observation %zu has '%g' items: must be 0, or 1 to 2^63", i,
				items);
		if (!(isfinite(cost) && cost >= 0))
			return part_invalid(
				err,
				"observation %zu has cost '%g': must be a finite number, 0 or more",
				i, cost);
	}
	for (size_t i = 0; i < count; i++)
		if (point[i].items >= 1)
			add_observation(model,
					&(model_cell){ point[i].items,
						       point[i].time_s * (speeds ? speeds[i] : 1),
						       1, 0 });
	return HETPART_OK;
}

hetpart_status hetpart_model_add(hetpart_model *model, const hetpart_point *observed, size_t count,
				 hetpart_err *err)
{
	if (!model || (!observed && count))
		return part_is_null(err, model ? "observed" : "model");
	return add_points(model, observed, NULL, count, err);
}

hetpart_status hetpart_model_observe(hetpart_model *model, const hetpart_point *measured,
				     const double *speeds, size_t count, hetpart_err *err)
{
	if (!model || ((!measured || !speeds) && count))
		return part_is_null(err, !model ? "model" : !measured ? "measured" : "speeds");
	return add_points(model, measured, speeds, count, err);
}

hetpart_status hetpart_model_decay(hetpart_model *model, double factor, hetpart_err *err)
{
	if (!model)
		return part_is_null(err, "model");
	if (!(factor > 0 && factor <= 1))
		return part_invalid(err, "decay factor is '%g': must be above 0 and at most 1",
				    factor);
	for (size_t i = 0; i < MODEL_CELLS; i++) {
		model_cell *const c = &model->cell[i];
		c->weight *= factor;
		if (c->weight < 1e-9)
			*c = (model_cell){ 0 };
	}
	return HETPART_OK;
}

hetpart_status hetpart_model_merge(hetpart_model *into, const hetpart_model *from, hetpart_err *err)
{
	if (!into || !from)
		return part_is_null(err, into ? "from" : "into");
	for (size_t i = 0; i < MODEL_CELLS; i++) {
		const model_cell c = from->cell[i]; /* a copy, for a model merged into itself */
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

/* ------------------------------------------------------------------------------ the fitted cost */

/* Collect the parts of cells that have a cost, and merge each group of `merged` parts. Return the
 * number of groups that have a cost. Only the first MODEL_SEEN are stored. */
static size_t collect_cells(const hetpart_model *model, size_t merged, model_cell seen[MODEL_SEEN])
{
	size_t n = 0;
	for (size_t i = 0; i < MODEL_CELLS; i += merged) {
		model_cell c = { 0 };
		for (size_t j = i; j < i + merged; j++)
			if (model->cell[j].weight > 0 && model->cell[j].cost > 0)
				part_cell_merge(&c, &model->cell[j]);
		if (c.weight > 0 && n++ < MODEL_SEEN)
			seen[n - 1] = c;
	}
	return n;
}

size_t hetpart_model_points(const hetpart_model *model, hetpart_point *points, size_t room)
{
	model_cell seen[MODEL_SEEN], pool[MODEL_POINTS];
	if (!model)
		return 0;
	size_t n = 0, merged = 1, m;
	while ((m = collect_cells(model, merged, seen)) > MODEL_SEEN)
		merged *= 2; /* at most up to whole cells, which are few enough */
	m = part_model_smooth(seen, m, pool);
	for (size_t i = 0; i < m; i++) { /* in place: there are never more pools than points */
		pool[n++] = pool[i];
		while (n > 1 && pool[n - 2].cost >= pool[n - 1].cost) { /* pool the two */
			model_cell *const a = &pool[n - 2], *const b = &pool[n - 1];
			const double part = b->weight / (a->weight + b->weight);
			a->items += (b->items - a->items) * part;
			a->cost += (b->cost - a->cost) * part;
			a->weight += b->weight;
			n--;
		}
	}
	for (size_t i = 0; points && i < n && i < room; i++)
		points[i] = (hetpart_point){ pool[i].items, pool[i].cost };
	return n;
}

hetpart_status hetpart_model_cost(hetpart_cost **out, const hetpart_model *model, hetpart_err *err)
{
	if (out)
		*out = NULL;
	if (!out || !model)
		return part_is_null(err, out ? "model" : "out");
	hetpart_point pt[MODEL_POINTS];
	const size_t n = hetpart_model_points(model, pt, MODEL_POINTS);
	if (n == 0 || !(pt[n - 1].time_s > 0))
		return hetpart_cost_linear(out, 1, err);
	const hetpart_status rc = hetpart_cost_piecewise(out, pt, n, 1, err);
	if (rc == HETPART_OK) /* beyond all observations, the cost rises at least in proportion */
		(*out)->last_slope =
			max_double(pt[n - 1].time_s / pt[n - 1].items, (*out)->last_slope);
	return rc;
}

hetpart_status hetpart_model_plan(hetpart_plan **out, const hetpart_model *model, uint64_t items,
				  const double *speeds, size_t nprocs, const hetpart_opts *opts,
				  hetpart_err *err)
{
	if (out)
		*out = NULL;
	hetpart_cost *cost;
	hetpart_status rc = hetpart_model_cost(&cost, model, err);
	if (rc != HETPART_OK)
		return rc;
	rc = hetpart_share_create(out, items, speeds, nprocs, cost, opts, err);
	hetpart_cost_free(cost);
	return rc;
}
