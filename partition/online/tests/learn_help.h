/* SPDX-License-Identifier: GPL-3.0-or-later */
/* learn_help.h - the experiment of learning an unknown cost, for its tests and its benchmark. Batch
 * after batch, items are shared by the observations so far, with or without noise. The true
 * makespan is compared with the optimum. The includer supplies rnd_real(). */
#ifndef LEARN_HELP_H
#define LEARN_HELP_H

#include <hetpart.h>
#include <math.h>

enum { LEARN_P = 8, LEARN_ITEMS = 1000000, LEARN_BATCHES = 30 };
enum { LEARN_CLIFF_AT = 120000 };

enum learn_shape {
	LEARN_NLOGN,
	LEARN_POWER_15,
	LEARN_POWER_07,
	LEARN_CLIFF,
	LEARN_JUMP,
	LEARN_SHAPES
};
static const char *const learn_names[] = { "n ln n", "n^1.5", "n^0.7", "cliff", "jump" };

/* up to 5 %; a standard deviation of 5 %; of 1 %; none */
enum learn_noise { LEARN_UNIFORM, LEARN_NORMAL, LEARN_NORMAL_1, LEARN_EXACT, LEARN_NOISES };
static const char *const learn_noise_names[] = { "uniform", "normal", "normal 1 %", "none" };

/* Plan the next batch from count observations, LEARN_P for each batch so far. */
typedef hetpart_status learn_plan(void *ctx, const hetpart_point *seen, size_t count,
				  const double *speeds, hetpart_plan **out, hetpart_err *why);

/* Beyond a limit each item takes three times as long. */
static inline double learn_cliff(void *ctx, uint64_t n)
{
	double over = (double)n - LEARN_CLIFF_AT;

	(void)ctx;
	return (double)n + (over > 0 ? 2 * over : 0);
}

/* Beyond a limit all items take half as long again. */
static inline double learn_jump(void *ctx, uint64_t n)
{
	(void)ctx;
	return n > LEARN_CLIFF_AT ? 1.5 * (double)n : (double)n;
}

static inline hetpart_status learn_truth(hetpart_cost **out, enum learn_shape shape,
					 hetpart_err *why)
{
	switch (shape) {
	case LEARN_NLOGN:
		return hetpart_cost_nlogn(out, 1e-8, why);
	case LEARN_POWER_15:
		return hetpart_cost_power(out, 1.5, 1e-8, why);
	case LEARN_POWER_07:
		return hetpart_cost_power(out, 0.7, 1e-8, why);
	case LEARN_JUMP:
		return hetpart_cost_callback(out, learn_jump, NULL, true, 1e-8, why);
	default:
		return hetpart_cost_callback(out, learn_cliff, NULL, true, 1e-8, why);
	}
}

static inline double learn_disturbed(double cost, enum learn_noise noise, uint64_t *seed)
{
	static const double most[] = { 0.05, 0.05, 0.01, 0 };
	double u = rnd_real(seed), off = 2 * u - 1;

	if (noise != LEARN_UNIFORM)
		off = sqrt(-2 * log(1 - u)) * cos(2 * M_PI * rnd_real(seed));
	return cost * (1 + most[noise] * off);
}

/* Excess of the true makespan over the optimum, batch by batch, for speeds from 1 to 4. */
static inline hetpart_status learn_run(const hetpart_cost *truth, uint64_t seed,
				       enum learn_noise noise, learn_plan *plan, void *ctx,
				       double excess[LEARN_BATCHES], hetpart_err *why)
{
	hetpart_point seen[LEARN_BATCHES * LEARN_P];
	double k[LEARN_P], best;
	size_t count = 0;
	hetpart_plan *pl;
	hetpart_status rc;

	for (size_t i = 0; i < LEARN_P; i++)
		k[i] = 1 + 3 * rnd_real(&seed);
	rc = hetpart_share_create(&pl, LEARN_ITEMS, k, LEARN_P, truth, NULL, why);
	if (rc != HETPART_OK)
		return rc;
	best = hetpart_plan_makespan(pl);
	hetpart_plan_free(pl);
	for (size_t b = 0; b < LEARN_BATCHES; b++) {
		double worst = 0;
		rc = plan(ctx, seen, count, k, &pl, why);
		if (rc != HETPART_OK)
			return rc;
		for (size_t i = 0; i < LEARN_P; i++) {
			uint64_t n = hetpart_plan_share(pl, i);
			double f = hetpart_cost_eval(truth, n);
			worst = fmax(worst, f / k[i]);
			seen[count++] =
				(hetpart_point){ (double)n, learn_disturbed(f, noise, &seed) };
		}
		excess[b] = worst / best - 1;
		hetpart_plan_free(pl);
	}
	return HETPART_OK;
}

/* Plan by the model under test; ctx is a model that is empty at first. */
static inline hetpart_status learn_by_model(void *ctx, const hetpart_point *seen, size_t count,
					    const double *speeds, hetpart_plan **out,
					    hetpart_err *why)
{
	size_t known = count ? count - LEARN_P : 0;
	hetpart_status rc = hetpart_model_add(ctx, seen + known, count - known, why);

	*out = NULL;
	if (rc != HETPART_OK)
		return rc;
	return hetpart_model_plan(out, ctx, LEARN_ITEMS, speeds, LEARN_P, NULL, why);
}

/* Plan by straight lines between the observations, as [S4] 3.3 does. Observations of the same
 * number of items, and those between which the cost would not rise, are replaced by their mean. */
static inline hetpart_status learn_by_lines(void *ctx, const hetpart_point *seen, size_t count,
					    const double *speeds, hetpart_plan **out,
					    hetpart_err *why)
{
	hetpart_point sorted[LEARN_BATCHES * LEARN_P], at[LEARN_BATCHES * LEARN_P];
	double weight[LEARN_BATCHES * LEARN_P];
	hetpart_cost *cost;
	hetpart_status rc;
	size_t n = 0;

	(void)ctx;
	*out = NULL;
	for (size_t i = 0; i < count; i++) {
		size_t j = i;
		for (; j > 0 && sorted[j - 1].items > seen[i].items; j--)
			sorted[j] = sorted[j - 1];
		sorted[j] = seen[i];
	}
	for (size_t i = 0; i < count; i++) {
		if (sorted[i].items < 1)
			continue;
		at[n] = sorted[i];
		weight[n++] = 1;
		while (n > 1 && (at[n - 2].items >= at[n - 1].items ||
				 at[n - 2].time_s >= at[n - 1].time_s)) {
			hetpart_point *a = &at[n - 2], *b = &at[n - 1];
			double part = weight[n - 1] / (weight[n - 2] + weight[n - 1]);
			a->items += (b->items - a->items) * part;
			a->time_s += (b->time_s - a->time_s) * part;
			weight[n - 2] += weight[n - 1];
			n--;
		}
	}
	rc = n ? hetpart_cost_piecewise(&cost, at, n, 1, why) : hetpart_cost_linear(&cost, 1, why);
	if (rc != HETPART_OK)
		return rc;
	rc = hetpart_share_create(out, LEARN_ITEMS, speeds, LEARN_P, cost, NULL, why);
	hetpart_cost_free(cost);
	return rc;
}

#endif
