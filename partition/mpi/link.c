/* SPDX-License-Identifier: GPL-3.0-or-later */
/* link.c - how long messages from the root to each rank take in the long run: one rank after the
 * other gets more and more in messages of growing length, and answers each with an empty one. Only
 * the last ones count, when buffers, or a bucket of tokens that limits the link, take nothing more
 * at once. May not touch: the caller's messages. Costs the time it is given and a buffer of 16 MiB
 * at most, or one item. */
#include "hm.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT_S 0.2
#define BYTES_MAX       (UINT64_C(16) << 20)
#define REPEATS_MIN     2
#define REPEATS         5
#define SHORT_BYTES     1024
#define SECOND_BYTES    (UINT64_C(64) << 10)
#define ENOUGH_BYTES    (UINT64_C(16) << 20)
#define RESULT_DOUBLES  5 /* a number of points, and up to two */

struct link {
	struct hm h;
	int root;
	uint64_t item_bytes, most; /* the root's; most is the number that fits */
	double limit_s;            /* for one rank */
	char *buf;
};

/* --------------------------------------------------------------------------------- the root */

/* There with that many items, and back with none. */
static hetpart_status ping(struct link *l, int rank, uint64_t items, double *t, hetpart_err *err)
{
	const double begin = hm_now_s();
	char none = 0;
	hetpart_status st =
		hm_send(&l->h, l->buf, (int)(items * l->item_bytes), MPI_BYTE, rank, HM_PING, err);

	if (st == HETPART_OK)
		st = hm_recv(&l->h, &none, 0, MPI_BYTE, rank, HM_PONG, err);
	*t = hm_now_s() - begin;
	return st;
}

/* The best of a few short ones, and as time allows of long ones. */
static hetpart_status best_ping(struct link *l, int rank, uint64_t items, double until,
				double *best, hetpart_err *err)
{
	hetpart_status st = ping(l, rank, items, best, err);

	for (int i = 1; i < REPEATS && st == HETPART_OK; i++) {
		double t;

		if (i >= REPEATS_MIN && items * l->item_bytes > SHORT_BYTES &&
		    hm_now_s() + *best > until)
			break;
		st = ping(l, rank, items, &t, err);
		if (t < *best)
			*best = t;
	}
	return st;
}

static double one_way(double there_and_back, double empty)
{
	const double t = there_and_back - empty / 2;

	return t > 1e-9 ? t : 1e-9;
}

/* So many messages one after the other: the time of each. */
static hetpart_status volley(struct link *l, int rank, uint64_t items, uint64_t messages, double *t,
			     hetpart_err *err)
{
	hetpart_status st = HETPART_OK;
	double sum = 0;

	for (uint64_t i = 0; i < messages && st == HETPART_OK; i++) {
		st = ping(l, rank, items, t, err);
		sum += *t;
	}
	*t = sum / (double)messages;
	return st;
}

/* Volleys of twice the bytes each, in messages of up to *items; the last one counts. Where a bucket
 * of tokens limits the link, or a buffer is on the way, the first ones go faster than the rest. */
static hetpart_status long_run(struct link *l, int rank, uint64_t *items, double *t,
			       hetpart_err *err)
{
	const uint64_t first = SECOND_BYTES / l->item_bytes;
	uint64_t sent = 0, messages = 1;
	double before, took = 0; /* on the way, whatever else the machine did meanwhile */
	hetpart_status st;

	*items = first < 1 ? 1 : first < l->most ? first : l->most;
	*t = 0;
	for (;;) {
		before = *t / (double)*items;
		st = volley(l, rank, *items, messages, t, err);
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

/* The times of messages to one rank: { points, items, time, items, time }. */
static hetpart_status time_rank(struct link *l, int rank, double *result, hetpart_err *err)
{
	const double until = hm_now_s() + l->limit_s;
	double empty, one, many;
	uint64_t items = 1;
	hetpart_status st = best_ping(l, rank, 0, until, &one, err); /* wakes it up, too */

	if (st == HETPART_OK)
		st = best_ping(l, rank, 0, until, &empty, err);
	if (st == HETPART_OK)
		st = long_run(l, rank, &items, &many, err);
	if (st == HETPART_OK && items > 1)
		st = best_ping(l, rank, 1, until, &one, err);
	if (st != HETPART_OK)
		return st;
	const double all = one_way(many, empty), share = all / (double)items;
	const double single = one_way(one, empty);

	result[0] = items > 1 ? 2 : 1;
	result[1] = 1;
	result[2] = single > share ? single : share; /* alone it may find tokens left */
	result[2 * (size_t)result[0] - 1] = (double)items;
	result[2 * (size_t)result[0]] = all;
	return st;
}

static hetpart_status measure_all(struct link *l, hetpart_err *err)
{
	hetpart_status st = HETPART_OK;

	for (int rank = 0; rank < l->h.size && st == HETPART_OK; rank++) {
		double result[RESULT_DOUBLES] = { 0 };

		if (rank == l->root)
			continue;
		st = time_rank(l, rank, result, err);
		if (st == HETPART_OK)
			st = hm_send(&l->h, l->buf, 0, MPI_BYTE, rank, HM_END, err);
		if (st == HETPART_OK)
			st = hm_send(&l->h, result, RESULT_DOUBLES, MPI_DOUBLE, rank, HM_RESULT,
				     err);
	}
	return st;
}

/* ------------------------------------------------------------------------------- the others */

/* The next message's tag. Waits with naps until the first, then in earnest. */
static hetpart_status next_tag(struct link *l, int bytes, int *tag, hetpart_err *err)
{
	MPI_Request req;
	MPI_Status got;
	int rc = MPI_Irecv(l->buf, bytes, MPI_BYTE, l->root, MPI_ANY_TAG, l->h.comm, &req);
	int flag = 0;
	unsigned tries = 0;
	hetpart_status st = hm_mpi(rc, "MPI_Irecv", err);

	while (st == HETPART_OK && !flag) {
		rc = MPI_Test(&req, &flag, &got);
		st = hm_mpi(rc, "a message", err);
		if (!flag)
			hm_nap(&l->h, &tries);
	}
	if (st == HETPART_OK)
		*tag = got.MPI_TAG;
	return st;
}

static hetpart_status answer_all(struct link *l, hetpart_mpi_timing *timing, hetpart_err *err)
{
	double result[RESULT_DOUBLES];
	int tag = HM_PING;
	hetpart_status st = HETPART_OK;

	while (st == HETPART_OK && tag == HM_PING) {
		st = next_tag(l, (int)(l->most * l->item_bytes), &tag, err);
		l->h.quick = 10000;
		if (st == HETPART_OK && tag == HM_PING)
			st = hm_send(&l->h, l->buf, 0, MPI_BYTE, l->root, HM_PONG, err);
	}
	if (st == HETPART_OK)
		st = hm_recv(&l->h, result, RESULT_DOUBLES, MPI_DOUBLE, l->root, HM_RESULT, err);
	if (st != HETPART_OK)
		return st;
	timing->npoints = (size_t)result[0];
	for (size_t i = 0; i < timing->npoints; i++)
		timing->points[i] = (hetpart_point){ result[2 * i + 1], result[2 * i + 2] };
	timing->fit = hm_fit(timing->points, NULL, timing->npoints);
	return st;
}

/* --------------------------------------------------------------------------------- the call */

static hetpart_status check(struct link *l, const hetpart_mpi_timing *out, hetpart_err *err)
{
	const hetpart_status st = hm_check_root(&l->h, l->root, err);

	if (st != HETPART_OK)
		return st;
	if (!out)
		return hm_fail(err, HETPART_EINVAL, "'out' is NULL");
	if (l->h.rank != l->root)
		return HETPART_OK;
	if (l->item_bytes < 1 || l->item_bytes > INT_MAX)
		return hm_fail(err, HETPART_EINVAL, "items of '%llu' bytes: want 1 to %d",
			       (unsigned long long)l->item_bytes, INT_MAX);
	if (l->most == 0)
		return hm_fail(err, HETPART_EINVAL, "at most '0' items: want at least 1");
	return hm_check_positive(l->limit_s, "limit_s", err);
}

/* Every rank learns the sizes and has a buffer for the longest message. */
static hetpart_status prepare(struct link *l, hetpart_err *err)
{
	const uint64_t fit = l->item_bytes ? BYTES_MAX / l->item_bytes : 0;
	uint64_t head[2] = { l->item_bytes, l->most < fit ? l->most : fit };
	hetpart_status st = hm_bcast(&l->h, head, 2, MPI_UINT64_T, l->root, err);

	if (st == HETPART_OK) {
		l->item_bytes = head[0];
		l->most = head[1] ? head[1] : 1;
		l->buf = (char *)calloc(l->most, l->item_bytes);
		if (!l->buf)
			st = hm_fail(err, HETPART_ENOMEM, "no memory for a message of %llu items",
				     (unsigned long long)l->most);
	}
	if (l->h.size > 1)
		l->limit_s /= l->h.size - 1;
	return hm_agree(&l->h, st, err);
}

hetpart_status hetpart_mpi_measure_link(hetpart_mpi_timing *out, uint64_t item_bytes, uint64_t most,
					double limit_s, int root, MPI_Comm comm, hetpart_err *err)
{
	struct link l = { .root = root, .item_bytes = item_bytes, .most = most };
	hetpart_mpi_timing timing;
	hetpart_err mine;
	hetpart_status st = hm_open(&l.h, comm, &mine);

	if (st != HETPART_OK)
		return hm_refuse(st, &mine, err);
	memset(&timing, 0, sizeof timing);
	l.limit_s = limit_s == 0 ? DEFAULT_LIMIT_S : limit_s;
	if ((st = hm_enter(&l.h, root, check(&l, out, &mine), &mine)) == HETPART_OK)
		st = prepare(&l, &mine);
	if (st == HETPART_OK && l.h.rank == root) {
		l.h.quick = 10000;
		st = measure_all(&l, &mine);
		l.h.quick = 200;
	} else if (st == HETPART_OK) {
		st = answer_all(&l, &timing, &mine);
		l.h.quick = 200;
	}
	st = hm_agree(&l.h, st, &mine);
	free(l.buf);
	if ((st = hm_close(&l.h, st, &mine, err)) == HETPART_OK)
		*out = timing;
	return st;
}
