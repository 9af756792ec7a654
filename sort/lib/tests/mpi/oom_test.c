/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oom_test.c - lets each allocation of every call fail in turn, on each rank. That rank returns
 * HETSORT_ENOMEM, all others HETSORT_EPEER. Nothing leaks, and the next call works. Threads that
 * cannot be started are done without, and so is memory that ranks cannot share. The shim refuses
 * what libhetsort and libhetpart ask of the system, not what MPI asks. */
#include "../../../../scripts/shim.h"

#ifndef SHIM_CANNOT

#	include "check.h"
#	include "../cases.h"

#	include <hetsort.h>

static long refused; /* calls that failed without memory */

/* Each rank has a slice of one input, and knows the whole answer. */
static const shape usual = { 100, 0, 10 };
static uint64_t n_all, n_mine, first;
static unsigned char *in, *answer, *out;

static bool right(uint64_t n)
{
	return n == n_mine && memcmp(out, answer + first * 100, n * 100) == 0;
}

static hetsort_status sort(hetsort_err *err)
{
	hetsort_opts o = HETSORT_OPTS_INIT;
	uint64_t n = 7;
	o.exchange_threads = size < 3 ? (uint32_t)size - 1 : 2;
	const hetsort_status st =
		hetsort_sort(in + first * 100, n_mine, out, n_mine, &n, &o, MPI_COMM_WORLD, err);
	CHECK(st == HETSORT_OK ? right(n) : n == 0, "n_out %d", (int)n);
	return st;
}

/* The entries of this layout do not fit into its output. */
static hetsort_status sort_to_last(hetsort_err *err)
{
	const bool last = rank == size - 1;
	return hetsort_sort_counts(in + first * 100, n_mine, out, last ? n_all : 0, NULL,
				   MPI_COMM_WORLD, err);
}

/* Numbers, and the records with these numbers. */
static hetsort_status argsort(hetsort_err *err)
{
	uint64_t *order = (uint64_t *)(void *)out, n = 7;
	const hetsort_status st = hetsort_argsort(in + first * 100, n_mine, order, n_mine, &n, NULL,
						  MPI_COMM_WORLD, err);
	for (uint64_t i = 0; st == HETSORT_OK && i < n_mine; i += 997)
		CHECK(memcmp(in + order[i] * 100, answer + (first + i) * 100, 100) == 0, "wrong");
	return st;
}

static hetsort_status apply(hetsort_err *err)
{
	static uint64_t order[1000];
	for (uint64_t i = 0; i < 1000; i++)
		order[i] = i * 7919 % n_all;
	const hetsort_status st = hetsort_apply(order, 1000, in + first * 100, n_mine, out, 100,
						NULL, MPI_COMM_WORLD, err);
	for (uint64_t i = 0; st == HETSORT_OK && i < 1000; i++)
		CHECK(memcmp(in + order[i] * 100, out + i * 100, 100) == 0, "wrong");
	return st;
}

static hetsort_status share(hetsort_err *err)
{
	uint64_t n;
	return hetsort_share(n_mine, &n, NULL, MPI_COMM_WORLD, err);
}

static hetsort_status local(hetsort_err *err)
{
	hetsort_opts o = HETSORT_OPTS_INIT;
	o.threads = 2;
	const hetsort_status st = hetsort_sort_local(in, n_all, out, &o, err);
	CHECK(st != HETSORT_OK || memcmp(out, answer, n_all * 100) == 0, "wrong");
	return st;
}

typedef struct test_call {
	const char *name;
	hetsort_status (*run)(hetsort_err *);
	bool single;  /* needs a single rank */
	bool threads; /* it starts threads; it works without them and their memory */
} test_call;

/* Check that all ranks succeed, or that the chosen rank is out of memory. */
static bool one(const test_call *c, int who, long n)
{
	const long before_it = shim.live;
	hetsort_err err = { HETSORT_OK, "" };
	shim.until = rank == who ? n : -1;
	shim.not_shared = false;
	const hetsort_status st = c->run(&err);
	const int mine[] = { rank == who && shim.until < 0, st != HETSORT_OK,
			     c->threads || shim.not_shared };
	int any[3];
	shim.until = -1;
	CHECK(shim.live == before_it, "%s, allocation %ld: %ld leaked", c->name, n,
	      shim.live - before_it);
	if (MPI_Allreduce(mine, any, 3, MPI_INT, MPI_MAX, MPI_COMM_WORLD) != MPI_SUCCESS)
		exit(1);
	refused += st == HETSORT_ENOMEM;
	const hetsort_status wanted = !any[0]       ? HETSORT_OK
				      : rank == who ? HETSORT_ENOMEM
						    : HETSORT_EPEER;
	CHECK(st == wanted || (any[2] && !any[1]), "%s, allocation %ld of rank %d: '%s' %s",
	      c->name, n, who, hetsort_strerror(st), err.text);
	return any[0];
}

static void prepare(uint64_t n)
{
	uint64_t *count = calloc((size_t)size, sizeof *count);
	n_all = n;
	in = make_input(&usual, 0, n);
	answer = in ? make_answer(in, &usual, n) : NULL;
	out = malloc(n * 100 + 1);
	if (!count || !answer || !out)
		exit(1);
	for (int i = 0; i < size; i++)
		count[i] = n / (uint64_t)size;
	n_mine = count[rank];
	first = before(count, (size_t)rank);
	free(count);
}

static void give_back(void)
{
	free(in);
	free(answer);
	free(out);
}

static void without_threads(void)
{
	hetsort_err err = { HETSORT_OK, "" };
	shim.no_threads = true;
	CHECK(sort(&err) == HETSORT_OK, "%s", err.text);
	CHECK(local(&err) == HETSORT_OK && memcmp(out, answer, n_all * 100) == 0, "%s", err.text);
	shim.no_threads = false;
}

int main(int argc, char **argv)
{
	const test_call calls[] = {
		{ "sort", sort, false, true },       { "sort_counts", sort_to_last, false, false },
		{ "argsort", argsort, false, true }, { "apply", apply, false, false },
		{ "share", share, false, false },    { "sort_local", local, true, true }
	};
	int level;
	SHIM_OURS;
	if (MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level) != MPI_SUCCESS ||
	    MPI_Comm_rank(MPI_COMM_WORLD, &rank) != 0 || MPI_Comm_size(MPI_COMM_WORLD, &size) != 0)
		return 1;
	/* so large that some arrays come from mmap() */
	prepare(36000 * (uint64_t)size);
	for (size_t c = 0; c < sizeof calls / sizeof *calls; c++)
		for (int who = 0; who < size; who++) {
			long k = 0;
			if (calls[c].single && size > 1)
				continue;
			refused = 0;
			while (k < 1000 && one(&calls[c], who, k))
				k++;
			CHECK(k > 0 && k < 1000, "%s: %ld allocations", calls[c].name, k);
			/* a call works without threads that cannot be started, and without their
			 * memory */
			CHECK(rank != who || refused + calls[c].threads > k / 2,
			      "%s: %ld of %ld refused", calls[c].name, refused, k);
		}
	without_threads();
	give_back();
	CHECK(shim.live == 0, "%ld live", shim.live);
	return finish();
}
#endif
