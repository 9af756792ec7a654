/* SPDX-License-Identifier: GPL-3.0-or-later */
/* library_test.c - tests the public calls over ranks. The answer is right for every layout, size,
 * distribution, spread, speeds and mode, also over a communicator of some ranks. */
#include "check.h"

#include "../cases.h"

#include <hetsort.h>

/* The case, which is the same on all ranks. */
typedef struct test_case {
	shape s;
	size_t distribution;
	uint64_t n;
	enum spread in_how, out_how; /* of hetsort_sort_counts() */
	uint32_t exchange_threads;
	const double *speeds;
} test_case;

static MPI_Comm over = MPI_COMM_NULL; /* the communicator under test */
static int me, ranks;

static hetsort_opts options(const test_case *t)
{
	hetsort_opts o = HETSORT_OPTS_INIT;
	o.record_bytes = t->s.record_bytes;
	o.key_off = t->s.key_off;
	o.key_bytes = t->s.key_bytes;
	o.exchange_threads = t->exchange_threads;
	o.threads = 1 + (uint32_t)me % 2;
	o.speeds = t->speeds;
	return o;
}

static const char *name(const test_case *t)
{
	static char text[200];
	snprintf(text, sizeof text,
		 "records of %u, key of %u at %u, %s, n %" PRIu64 ", %d > %d, %u threads",
		 t->s.record_bytes, t->s.key_bytes, t->s.key_off, distributions[t->distribution],
		 t->n, (int)t->in_how, (int)t->out_how, t->exchange_threads);
	return text;
}

static void is_part(const test_case *t, const unsigned char *out, const unsigned char *answer,
		    uint64_t first, uint64_t n)
{
	const uint64_t bytes = t->s.record_bytes;
	CHECK(border_holds(out, n * bytes), "%s: written outside the output", name(t));
	CHECK(memcmp(out + BORDER, answer + first * bytes, n * bytes) == 0, "%s: wrong", name(t));
}

/* Check shares by speed: no rank could take one more record and still end before the last rank. */
static void are_fair(const test_case *t, const uint64_t *share)
{
	double last = 0;
	for (int i = 0; i < ranks; i++) {
		const double s = t->speeds ? t->speeds[i] : 1;
		if ((double)share[i] / s > last)
			last = (double)share[i] / s;
	}
	for (int i = 0; i < ranks; i++)
		CHECK(((double)share[i] + 1) / (t->speeds ? t->speeds[i] : 1) >= last * (1 - 1e-9),
		      "%s: the share of rank %d could be larger", name(t), i);
	CHECK(before(share, (size_t)ranks) == t->n, "%s: the shares' sum", name(t));
}

static void by_share(const test_case *t, const unsigned char *in, const unsigned char *answer,
		     const uint64_t *in_count, uint64_t *share)
{
	const hetsort_opts o = options(t);
	const uint64_t first = before(in_count, (size_t)me), brought = in_count[me];
	uint64_t n = 77, got = 77;
	hetsort_err err = { HETSORT_OK, "" };
	CHECK(hetsort_share(brought, &n, &o, over, &err) == HETSORT_OK, "%s: %s", name(t),
	      err.text);
	CHECK(hetsort_share_f(brought, &got, &o, MPI_Comm_c2f(over), &err) == HETSORT_OK &&
		      got == n,
	      "%s: %s", name(t), err.text);
	CHECK(MPI_Allgather(&n, 1, MPI_UINT64_T, share, 1, MPI_UINT64_T, over) == MPI_SUCCESS, "!");
	are_fair(t, share);
	unsigned char *out = bordered(n * o.record_bytes);
	const unsigned char *mine = in + first * o.record_bytes;
	CHECK(out && (t->n % 2 ? hetsort_sort(mine, brought, out + BORDER, n, &got, &o, over, &err)
			       : hetsort_sort_f(mine, brought, out + BORDER, n, &got, &o,
						MPI_Comm_c2f(over), &err)) == HETSORT_OK,
	      "%s: %s", name(t), err.text);
	CHECK(got == n, "%s: %" PRIu64 " came, %" PRIu64 " were announced", name(t), got, n);
	is_part(t, out, answer, before(share, (size_t)me), n);
	free(out);
}

static void by_counts(const test_case *t, const unsigned char *in, const unsigned char *answer,
		      const uint64_t *in_count, uint64_t *out_count)
{
	const hetsort_opts o = options(t);
	spread(t->out_how, t->n, (size_t)ranks, out_count);
	const uint64_t n = out_count[me];
	hetsort_err err = { HETSORT_OK, "" };
	unsigned char *out = bordered(n * o.record_bytes);
	const unsigned char *mine = in + before(in_count, (size_t)me) * o.record_bytes;
	CHECK(out && (t->n % 2 ? hetsort_sort_counts(mine, in_count[me], out + BORDER, n, &o, over,
						     &err)
			       : hetsort_sort_counts_f(mine, in_count[me], out + BORDER, n, &o,
						       MPI_Comm_c2f(over), &err)) == HETSORT_OK,
	      "%s: %s", name(t), err.text);
	is_part(t, out, answer, before(out_count, (size_t)me), n);
	free(out);
}

/* Sort the numbers of the records, and apply them to the records, which sorts these too. */
static void by_order(const test_case *t, const unsigned char *in, const unsigned char *answer,
		     const uint64_t *in_count, const uint64_t *share)
{
	const hetsort_opts o = options(t);
	const uint64_t n = share[me], brought = in_count[me], bytes = o.record_bytes;
	uint64_t got = 77, *order = calloc(n + 1, sizeof *order);
	hetsort_err err = { HETSORT_OK, "" };
	const unsigned char *mine = in + before(in_count, (size_t)me) * bytes;
	unsigned char *out = bordered(n * bytes);
	if (!out || !order)
		exit(1);
	order[n] = 77;
	CHECK((t->n % 2 ? hetsort_argsort(mine, brought, order, n, &got, &o, over, &err)
			: hetsort_argsort_f(mine, brought, order, n, &got, &o, MPI_Comm_c2f(over),
					    &err)) == HETSORT_OK,
	      "%s: %s", name(t), err.text);
	CHECK(got == n && order[n] == 77, "%s: %" PRIu64 " numbers came", name(t), got);
	CHECK((t->n % 2 ? hetsort_apply(order, n, mine, brought, out + BORDER, o.record_bytes, &o,
					over, &err)
			: hetsort_apply_f(order, n, mine, brought, out + BORDER, o.record_bytes,
					  NULL, MPI_Comm_c2f(over), &err)) == HETSORT_OK,
	      "%s: %s", name(t), err.text);
	is_part(t, out, answer, before(share, (size_t)me), n);
	free(out);
	free(order);
}

static void locally(const test_case *t, const unsigned char *in, const unsigned char *answer)
{
	const hetsort_opts o = options(t);
	hetsort_err err = { HETSORT_OK, "" };
	unsigned char *out = bordered(t->n * o.record_bytes);
	CHECK(out && hetsort_sort_local(in, t->n, out + BORDER, &o, &err) == HETSORT_OK, "%s: %s",
	      name(t), err.text);
	is_part(t, out, answer, 0, t->n);
	free(out);
}

static void one(const test_case *t)
{
	unsigned char *in = make_input(&t->s, t->distribution, t->n);
	unsigned char *kept = make_input(&t->s, t->distribution, t->n);
	unsigned char *answer = in ? make_answer(in, &t->s, t->n) : NULL;
	uint64_t *in_count = calloc((size_t)ranks, sizeof *in_count);
	uint64_t *out_count = calloc((size_t)ranks, sizeof *out_count);
	if (!answer || !kept || !in_count || !out_count)
		exit(1);
	spread(t->in_how, t->n, (size_t)ranks, in_count);
	by_share(t, in, answer, in_count, out_count);
	by_order(t, in, answer, in_count, out_count);
	by_counts(t, in, answer, in_count, out_count);
	locally(t, in, answer);
	CHECK(memcmp(in, kept, t->n * t->s.record_bytes) == 0, "%s: the input changed", name(t));
	free(in);
	free(kept);
	free(answer);
	free(in_count);
	free(out_count);
}

/* Test each value of each dimension, and all shapes with all sizes. */
static void all(double *speeds)
{
	const uint64_t p = (uint64_t)ranks, n[] = { 0, 1, p - 1, p, p + 1, 1000, 30011 };
	size_t k = 0;
	for (int i = 0; i < ranks; i++)
		speeds[i] = 1 + 0.75 * (i % 3);
	for (size_t s = 0; s < LEN(shapes); s++)
		for (size_t i = 0; i < LEN(n); i++, k++) {
			const test_case t = { .s = shapes[s],
					      .distribution = k % LEN(distributions),
					      .n = n[i],
					      .in_how = (enum spread)(k % SPREADS),
					      .out_how = (enum spread)((k + i) % SPREADS),
					      .exchange_threads = (uint32_t)(k / 2 % 3),
					      .speeds = k % 4 < 2 ? speeds : NULL };
			one(&t);
		}
}

static void on(MPI_Comm comm)
{
	over = comm;
	if (MPI_Comm_rank(comm, &me) != MPI_SUCCESS || MPI_Comm_size(comm, &ranks) != MPI_SUCCESS)
		exit(1);
	double *speeds = calloc((size_t)ranks, sizeof *speeds);
	if (!speeds)
		exit(1);
	all(speeds);
	free(speeds);
}

/* The largest record is all key. */
static void large(void)
{
	const test_case t = { .s = { HETSORT_RECORD_BYTES_MAX, 0, HETSORT_RECORD_BYTES_MAX },
			      .distribution = 5,
			      .n = 61,
			      .in_how = EVERY_SECOND };
	one(&t);
}

/* Test every other rank, in reverse: both halves sort at the same time. */
static void on_halves(void)
{
	MPI_Comm half;
	CHECK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half) == MPI_SUCCESS, "split");
	on(half);
	CHECK(MPI_Comm_free(&half) == MPI_SUCCESS, "free");
}

static void versions(void)
{
	char text[32];
	snprintf(text, sizeof text, "%d.%d.%d", HETSORT_VERSION_MAJOR, HETSORT_VERSION_MINOR,
		 HETSORT_VERSION_PATCH);
	CHECK(!strcmp(text, HETSORT_VERSION) && !strcmp(text, hetsort_version()), "versions");
	for (int st = HETSORT_OK; st <= HETSORT_EINTERNAL; st++)
		CHECK(strcmp(hetsort_strerror((hetsort_status)st), "unknown status") != 0, "%d",
		      st);
	CHECK(!strcmp(hetsort_strerror((hetsort_status)99), "unknown status"), "99");
}

/* Take the thread level to request, 0 to 3, as an argument. Below MPI_THREAD_SERIALIZED no thread
 * of the library calls MPI. */
int main(int argc, char **argv)
{
	const int levels[] = { MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, MPI_THREAD_SERIALIZED,
			       MPI_THREAD_MULTIPLE };
	const int wanted = argc > 1 ? atoi(argv[1]) & 3 : 2;
	int level;
	if (MPI_Init_thread(&argc, &argv, levels[wanted], &level) != MPI_SUCCESS ||
	    MPI_Comm_rank(MPI_COMM_WORLD, &rank) != 0 || MPI_Comm_size(MPI_COMM_WORLD, &size) != 0)
		return 1;
	versions();
	on(MPI_COMM_WORLD);
	large();
	on_halves();
	return finish();
}
