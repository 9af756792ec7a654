/* SPDX-License-Identifier: GPL-3.0-or-later */
/* measure.c - how long a kernel takes on this rank while the others run theirs.
 * May not touch: other ranks, but to begin and to leave together. Costs the time it is given. */
#include "hm.h"

#include <math.h>
#include <string.h>

#define DEFAULT_LIMIT_S 0.2
#define REPEATS_MAX     100

struct kernel {
	hetpart_mpi_kernel_fn *fn;
	void *ctx;
	uint64_t most;
	double limit_s, spent_s;
	double runs[HETPART_MPI_POINTS_MAX]; /* behind each point */
};

/* A clock that did not move between two readings still means some time. */
static double at_least_a_tick(double t)
{
	return t > 1e-9 ? t : 1e-9;
}

static hetpart_status run(struct kernel *k, uint64_t items, double *t, hetpart_err *err)
{
	const double begin = hm_now_s();
	hetpart_status st;

	err->text[0] = 0;
	st = k->fn(k->ctx, items, err);
	*t = at_least_a_tick(hm_now_s() - begin);
	k->spent_s += *t;
	if (st != HETPART_OK && err->text[0] == 0)
		return hm_fail(err, st, "the kernel failed on %llu items",
			       (unsigned long long)items);
	return st;
}

/* The middle one of up to three runs, as many as fit into half of the time. */
static hetpart_status middle(struct kernel *k, uint64_t items, double *t, hetpart_err *err)
{
	double low, high, next;
	hetpart_status st = run(k, items, &low, err);

	high = *t = low;
	for (int i = 1; i < 3 && st == HETPART_OK && k->spent_s + high <= k->limit_s / 2; i++) {
		st = run(k, items, &next, err);
		*t = i == 1 ? fmin(low, next) : fmax(low, fmin(high, next));
		low = fmin(low, next);
		high = fmax(high, next);
	}
	return st;
}

/* 1, 2, 4 ... items, as long as the next one should fit into half of the time. */
static hetpart_status climb(struct kernel *k, hetpart_mpi_timing *out, hetpart_err *err)
{
	hetpart_status st = HETPART_OK;
	uint64_t n = 1;

	while (st == HETPART_OK) {
		double t;

		st = middle(k, n, &t, err);
		k->runs[out->npoints] = 1;
		out->points[out->npoints++] = (hetpart_point){ (double)n, t };
		if (n == k->most || out->npoints == HETPART_MPI_POINTS_MAX ||
		    k->spent_s + 2 * t > k->limit_s / 2)
			break;
		n = n > k->most / 2 ? k->most : 2 * n;
	}
	return st;
}

/* The largest number again while time lasts. Here the mean counts, not the middle: a processor that
 * others use at times, or that is stopped at times, is as slow as that. */
static hetpart_status repeat(struct kernel *k, hetpart_mpi_timing *out, hetpart_err *err)
{
	hetpart_point *top = &out->points[out->npoints - 1];
	double sum = 0, last = top->time_s;
	unsigned runs = 0;
	hetpart_status st = HETPART_OK;

	while (runs < REPEATS_MAX && k->spent_s + last <= k->limit_s && st == HETPART_OK) {
		st = run(k, (uint64_t)top->items, &last, err);
		sum += last;
		runs++;
	}
	if (runs > 0) {
		top->time_s = sum / runs;
		k->runs[out->npoints - 1] = runs;
	}
	return st;
}

/* Warm up; a kernel that is over its time with the first item is timed by that alone. */
static hetpart_status measure(struct kernel *k, hetpart_mpi_timing *out, hetpart_err *err)
{
	double first;
	hetpart_status st = run(k, 1, &first, err);

	k->runs[0] = 1;
	if (st == HETPART_OK && first > k->limit_s)
		out->points[out->npoints++] = (hetpart_point){ 1, first };
	else if (st == HETPART_OK && (st = climb(k, out, err)) == HETPART_OK)
		st = repeat(k, out, err);
	return st;
}

/* Noise may turn the line down; items are never free, so then all time is the items'. */
static hetpart_mpi_affine fit(const hetpart_mpi_timing *t, const double *runs)
{
	const hetpart_point *top = &t->points[t->npoints - 1];
	const hetpart_mpi_affine line = hm_fit(t->points, runs, t->npoints);

	if (line.per_item_s > 0)
		return line;
	return (hetpart_mpi_affine){ 0, top->time_s / top->items };
}

static hetpart_status check(const hetpart_mpi_timing *out, const struct kernel *k, hetpart_err *err)
{
	if (!out || !k->fn)
		return hm_fail(err, HETPART_EINVAL, "'%s' is NULL", out ? "kernel" : "out");
	if (k->most == 0)
		return hm_fail(err, HETPART_EINVAL, "at most '0' items: want at least 1");
	return hm_check_positive(k->limit_s, "limit_s", err);
}

hetpart_status hetpart_mpi_measure_compute(hetpart_mpi_timing *out, hetpart_mpi_kernel_fn *kernel,
					   void *ctx, uint64_t most, double limit_s, MPI_Comm comm,
					   hetpart_err *err)
{
	struct kernel k = { .fn = kernel,
			    .ctx = ctx,
			    .most = most,
			    .limit_s = limit_s == 0 ? DEFAULT_LIMIT_S : limit_s };
	struct hm h;
	hetpart_mpi_timing timing;
	hetpart_err mine;
	hetpart_status st = hm_open(&h, comm, &mine);

	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	memset(&timing, 0, sizeof timing);
	if ((st = hm_agree(&h, check(out, &k, &mine), &mine)) == HETPART_OK)
		st = hm_agree(&h, measure(&k, &timing, &mine), &mine);
	if ((st = hm_close(&h, st, &mine, err)) != HETPART_OK)
		return st;
	timing.fit = fit(&timing, k.runs);
	*out = timing;
	return st;
}
