/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mpi_measure.c - measure how long a kernel takes on this rank while all other ranks run theirs.
 * Measure how long messages from the root to each rank take if many are sent.
 *
 * Links are measured one after another. The root sends messages of growing length, and the rank
 * answers each with an empty message. Only the last messages count: buffers, or a token bucket that
 * limits the link, accept the first ones faster.
 *
 * A measurement takes about the time that the caller allows. A link needs a buffer of at most 16
 * MiB, or of one item if this is larger. */
#include "hm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_S 0.2

/* Return the affine cost with the smallest sum of squared relative errors over the points. With
 * relative errors, a point of one item weighs as much as a point of a million. Startup and slope of
 * the result are >= 0. Items and times of the points must be > 0. Point i counts repeats[i] times;
 * NULL means once. */
static hetpart_mpi_affine fit_affine(const hetpart_point *points, const double *repeats,
				     size_t npoints)
{
	double sw = 0, sx = 0, st = 0, sxx = 0, sxt = 0; /* sums with the weights of the points */
	for (size_t i = 0; i < npoints; i++) {
		const double x = points[i].items, t = points[i].time_s;
		const double w = (repeats ? repeats[i] : 1) / (t * t);
		sw += w;
		sx += w * x;
		st += w * t;
		sxx += w * x * x;
		sxt += w * x * t;
	}
	const double det = sw * sxx - sx * sx;
	const hetpart_mpi_affine through_zero = { 0, sxt / sxx };
	if (npoints < 2 || !(det > 1e-12 * sw * sxx))
		return through_zero;
	const double slope = (sw * sxt - sx * st) / det;
	const double startup = (sxx * st - sx * sxt) / det;
	if (slope < 0)
		return (hetpart_mpi_affine){ st / sw, 0 };
	return startup < 0 ? through_zero : (hetpart_mpi_affine){ startup, slope };
}

/* Return t, but at least 1 ns: the clock may not advance between two readings. */
static double at_least_a_tick(double t)
{
	return t > 1e-9 ? t : 1e-9;
}

/* --------------------------------------------------------------------------------- the kernel */

#define REPEATS_MAX 100

typedef struct kernel_timing {
	hm h;
	hetpart_mpi_kernel_fn *fn;
	void *ctx;
	uint64_t most;
	double limit_s, spent_s;
	double repeats[HETPART_MPI_POINTS_MAX]; /* weights of the points */
	hetpart_mpi_timing out;
} kernel_timing;

/* Call the kernel once, and set *t to its time. */
static hetpart_status kernel_call(kernel_timing *k, uint64_t items, double *t)
{
	hetpart_err why = { .status = HETPART_OK };
	const double begin = hm_now_s();
	const hetpart_status st = k->fn(k->ctx, items, &why);
	*t = at_least_a_tick(hm_now_s() - begin);
	k->spent_s += *t;
	if (st != HETPART_OK && why.text[0])
		return hm_fail(&k->h, st, "%s", why.text);
	return st == HETPART_OK ? st
				: hm_fail(&k->h, st, "the kernel failed on %llu items",
					  (unsigned long long)items);
}

/* Time 1, 2, 4 ... items until the next number would probably exceed half of the time limit. The
 * time of a number is the median of up to three calls, fewer if time is short. */
static hetpart_status kernel_climb(kernel_timing *k)
{
	hetpart_status st = HETPART_OK;
	uint64_t n = 1;
	while (st == HETPART_OK) {
		double low, next;
		st = kernel_call(k, n, &low);
		double t = low, high = low;
		for (int i = 1; i < 3 && st == HETPART_OK && k->spent_s + high <= k->limit_s / 2;
		     i++) {
			st = kernel_call(k, n, &next);
			t = i == 1 ? fmin(low, next) : fmax(low, fmin(high, next));
			low = fmin(low, next);
			high = fmax(high, next);
		}
		k->repeats[k->out.npoints] = 1;
		k->out.points[k->out.npoints++] = (hetpart_point){ (double)n, t };
		if (n == k->most || k->out.npoints == HETPART_MPI_POINTS_MAX ||
		    k->spent_s + 2 * t > k->limit_s / 2)
			break;
		n = n > k->most / 2 ? k->most : 2 * n;
	}
	return st;
}

/* Warm up, and time the kernel. If the first item takes longer than the time limit, its time is the
 * result. Otherwise repeat the largest number of items until the time is over, and use the mean,
 * not the median. So the time includes interruptions by other programs or by a limit of processor
 * time. */
static hetpart_status kernel_measure(kernel_timing *k)
{
	double first, sum = 0;
	unsigned calls = 0;
	hetpart_status st = kernel_call(k, 1, &first);
	k->repeats[0] = 1;
	if (st == HETPART_OK && first > k->limit_s)
		k->out.points[k->out.npoints++] = (hetpart_point){ 1, first };
	else if (st == HETPART_OK)
		st = kernel_climb(k);
	if (st != HETPART_OK)
		return st;
	hetpart_point *const top = &k->out.points[k->out.npoints - 1];
	double last = top->time_s;
	while (calls < REPEATS_MAX && k->spent_s + last <= k->limit_s && st == HETPART_OK) {
		st = kernel_call(k, (uint64_t)top->items, &last);
		sum += last;
		calls++;
	}
	if (calls > 0) {
		top->time_s = sum / calls;
		k->repeats[k->out.npoints - 1] = calls;
	}
	return st;
}

hetpart_status hetpart_mpi_measure_compute(hetpart_mpi_timing *out, hetpart_mpi_kernel_fn *kernel,
					   void *ctx, uint64_t most, double limit_s, MPI_Comm comm,
					   hetpart_err *err)
{
	kernel_timing k = { .fn = kernel,
			    .ctx = ctx,
			    .most = most,
			    .limit_s = limit_s == 0 ? DEFAULT_LIMIT_S : limit_s };
	hetpart_status st = hm_open(&k.h, comm);
	if (st != HETPART_OK)
		return hm_close(&k.h, st, err);
	if (!out || !k.fn)
		st = hm_invalid(&k.h, "'%s' is NULL", out ? "kernel" : "out");
	else if (most == 0)
		st = hm_invalid(&k.h, "at most '0' items: must be at least 1");
	else
		st = hm_check_positive(&k.h, k.limit_s, "limit_s");
	if ((st = hm_agree(&k.h, st)) == HETPART_OK)
		st = hm_agree(&k.h, kernel_measure(&k));
	if ((st = hm_close(&k.h, st, err)) != HETPART_OK)
		return st;
	const hetpart_point *const top = &k.out.points[k.out.npoints - 1];
	k.out.fit = fit_affine(k.out.points, k.repeats, k.out.npoints);
	if (!(k.out.fit.per_item_s > 0)) /* because of noise: assume no startup */
		k.out.fit = (hetpart_mpi_affine){ 0, top->time_s / top->items };
	/* hm_agree has refused NULL. NOLINTNEXTLINE(clang-analyzer-core.NullDereference) */
	*out = k.out;
	return st;
}

/* ----------------------------------------------------------------------------------- the links */

#define BYTES_MAX      (UINT64_C(16) << 20)
#define PINGS_MIN      2
#define PINGS          5
#define SHORT_BYTES    1024
#define SECOND_BYTES   (UINT64_C(64) << 10)
#define ENOUGH_BYTES   (UINT64_C(16) << 20)
#define QUICK_TRIES    10000
#define RESULT_DOUBLES 5 /* the number of points, and up to two points */

typedef struct link_timing {
	hm h;
	int root;
	uint64_t item_bytes, most; /* from the root; the buffer has `most` items */
	double limit_s;            /* for one rank */
	char *buf;
} link_timing;

/* Send items to a rank, wait for its empty answer, and set *t to the time until then. */
static hetpart_status link_ping(link_timing *l, int rank, uint64_t items, double *t)
{
	const double begin = hm_now_s();
	char none = 0;
	hetpart_status st =
		hm_send(&l->h, l->buf, (int)(items * l->item_bytes), MPI_BYTE, rank, HM_PING);
	if (st == HETPART_OK)
		st = hm_recv(&l->h, &none, 0, MPI_BYTE, rank, HM_PONG);
	*t = hm_now_s() - begin;
	return st;
}

/* Find the shortest time of PINGS messages. If the time is over, stop after PINGS_MIN long
 * messages.
 */
static hetpart_status link_best(link_timing *l, int rank, uint64_t items, double until,
				double *best)
{
	hetpart_status st = link_ping(l, rank, items, best);
	for (int i = 1; i < PINGS && st == HETPART_OK; i++) {
		double t;
		if (i >= PINGS_MIN && items * l->item_bytes > SHORT_BYTES &&
		    hm_now_s() + *best > until)
			break;
		st = link_ping(l, rank, items, &t);
		if (t < *best)
			*best = t;
	}
	return st;
}

/* Send volleys of messages, each volley with twice the bytes of the one before. The length of the
 * messages doubles up to the limit, then their number doubles. Set *items and *t to the items and
 * the mean time of a message of the last volley. */
static hetpart_status link_volleys(link_timing *l, int rank, uint64_t *items, double *t)
{
	const uint64_t first = SECOND_BYTES / l->item_bytes;
	uint64_t sent = 0, messages = 1;
	double took = 0; /* time of the messages only */
	*items = first < 1 ? 1 : first < l->most ? first : l->most;
	*t = 0;
	for (;;) {
		const double before = *t / (double)*items;
		hetpart_status st = HETPART_OK;
		double sum = 0;
		for (uint64_t i = 0; i < messages && st == HETPART_OK; i++) {
			st = link_ping(l, rank, *items, t);
			sum += *t;
		}
		*t = sum / (double)messages;
		sent += *items * l->item_bytes * messages;
		took += *t * (double)messages;
		if (st != HETPART_OK || took > l->limit_s)
			return st;
		if (sent >= ENOUGH_BYTES && fabs(*t / (double)*items - before) < 0.05 * before)
			return st;
		if (*items <= l->most / 2)
			*items *= 2;
		else
			messages *= 2;
	}
}

/* Time messages to one rank: { points, items, time, items, time }. */
static hetpart_status link_time_rank(link_timing *l, int rank, double *result)
{
	const double until = hm_now_s() + l->limit_s;
	double empty, one, many;
	uint64_t items = 1;
	hetpart_status st = link_best(l, rank, 0, until, &one); /* discarded: it wakes the rank */
	if (st == HETPART_OK)
		st = link_best(l, rank, 0, until, &empty);
	if (st == HETPART_OK)
		st = link_volleys(l, rank, &items, &many);
	if (st == HETPART_OK && items > 1)
		st = link_best(l, rank, 1, until, &one);
	if (st != HETPART_OK)
		return st;
	const double all = at_least_a_tick(many - empty / 2), share = all / (double)items;
	const double single = at_least_a_tick(one - empty / 2);
	result[0] = items > 1 ? 2 : 1;
	result[1] = 1;
	result[2] = single > share ? single : share; /* a bucket may accept one item faster */
	result[2 * (size_t)result[0] - 1] = (double)items;
	result[2 * (size_t)result[0]] = all;
	return st;
}

/* Measure all ranks from the root, and send each its result. */
static hetpart_status link_measure_all(link_timing *l)
{
	hetpart_status st = HETPART_OK;
	l->h.quick = QUICK_TRIES;
	for (int rank = 0; rank < l->h.size && st == HETPART_OK; rank++) {
		double result[RESULT_DOUBLES] = { 0 };
		if (rank == l->root)
			continue;
		st = link_time_rank(l, rank, result);
		if (st == HETPART_OK)
			st = hm_send(&l->h, l->buf, 0, MPI_BYTE, rank, HM_END);
		if (st == HETPART_OK)
			st = hm_send(&l->h, result, RESULT_DOUBLES, MPI_DOUBLE, rank, HM_RESULT);
	}
	return st;
}

/* Answer the root's messages, and receive the result. Sleep while waiting for the first message,
 * but hardly after it, because naps would be measured, too. */
static hetpart_status link_answer_all(link_timing *l, hetpart_mpi_timing *timing)
{
	const int bytes = (int)(l->most * l->item_bytes);
	int tag = HM_PING;
	hetpart_status st = HETPART_OK;
	while (st == HETPART_OK && tag == HM_PING) {
		MPI_Request req;
		MPI_Status got;
		int done = 0;
		unsigned tries = 0;
		st = hm_mpi(
			&l->h,
			MPI_Irecv(l->buf, bytes, MPI_BYTE, l->root, MPI_ANY_TAG, l->h.comm, &req),
			"MPI_Irecv");
		while (st == HETPART_OK && !done) {
			st = hm_mpi(&l->h, MPI_Test(&req, &done, &got), "a message");
			if (!done)
				hm_nap(&l->h, &tries);
		}
		if (st == HETPART_OK)
			tag = got.MPI_TAG;
		l->h.quick = QUICK_TRIES;
		if (st == HETPART_OK && tag == HM_PING)
			st = hm_send(&l->h, l->buf, 0, MPI_BYTE, l->root, HM_PONG);
	}
	double result[RESULT_DOUBLES];
	if (st == HETPART_OK)
		st = hm_recv(&l->h, result, RESULT_DOUBLES, MPI_DOUBLE, l->root, HM_RESULT);
	if (st != HETPART_OK)
		return st;
	timing->npoints = (size_t)result[0];
	for (size_t i = 0; i < timing->npoints; i++)
		timing->points[i] = (hetpart_point){ result[2 * i + 1], result[2 * i + 2] };
	timing->fit = fit_affine(timing->points, NULL, timing->npoints);
	return st;
}

static hetpart_status link_check(link_timing *l, const hetpart_mpi_timing *out)
{
	const hetpart_status st = hm_check_root(&l->h, l->root);
	if (st != HETPART_OK)
		return st;
	if (!out)
		return hm_invalid(&l->h, "'out' is NULL");
	if (l->h.rank != l->root)
		return HETPART_OK;
	if (l->item_bytes < 1 || l->item_bytes > INT_MAX)
		return hm_invalid(&l->h, "items of '%llu' bytes: must be 1 to %d",
				  (unsigned long long)l->item_bytes, INT_MAX);
	if (l->most == 0)
		return hm_invalid(&l->h, "at most '0' items: must be at least 1");
	return hm_check_positive(&l->h, l->limit_s, "limit_s");
}

/* Broadcast the root's sizes, and allocate a buffer for the longest message on every rank. */
static hetpart_status link_prepare(link_timing *l)
{
	const uint64_t fit = l->item_bytes ? BYTES_MAX / l->item_bytes : 0;
	uint64_t head[2] = { l->item_bytes, l->most < fit ? l->most : fit };
	hetpart_status st = hm_bcast(&l->h, head, 2, MPI_UINT64_T, l->root);
	if (st == HETPART_OK) {
		l->item_bytes = head[0];
		l->most = head[1] ? head[1] : 1;
		l->buf = (char *)calloc(l->most, l->item_bytes);
		if (!l->buf)
			st = hm_fail(&l->h, HETPART_ENOMEM, "no memory for a message of %llu items",
				     (unsigned long long)l->most);
	}
	if (l->h.size > 1)
		l->limit_s /= l->h.size - 1;
	return hm_agree(&l->h, st);
}

hetpart_status hetpart_mpi_measure_link(hetpart_mpi_timing *out, uint64_t item_bytes, uint64_t most,
					double limit_s, int root, MPI_Comm comm, hetpart_err *err)
{
	link_timing l = { .root = root,
			  .item_bytes = item_bytes,
			  .most = most,
			  .limit_s = limit_s == 0 ? DEFAULT_LIMIT_S : limit_s };
	hetpart_mpi_timing timing = { .npoints = 0 };
	hetpart_status st = hm_open(&l.h, comm);
	if (st != HETPART_OK)
		return hm_close(&l.h, st, err);
	const unsigned quick = l.h.quick;
	if ((st = hm_enter(&l.h, root, link_check(&l, out))) == HETPART_OK)
		st = link_prepare(&l);
	if (st == HETPART_OK)
		st = l.h.rank == root ? link_measure_all(&l) : link_answer_all(&l, &timing);
	l.h.quick = quick;
	st = hm_agree(&l.h, st);
	free(l.buf);
	if ((st = hm_close(&l.h, st, err)) == HETPART_OK)
		*out = timing;
	return st;
}
