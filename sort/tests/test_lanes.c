/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Jobs of 1 to 9 ranks with 1 to 8 lanes, which may differ between ranks, in memory and with runs
 * on disk. Each part has exactly its share of an independent stable sort. A job that is stopped
 * after reading is resumed with other numbers of ranks and lanes. Sizes are 0, 1, p - 1, p, p + 1
 * and more, and some shares are 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/arith.h"
#include "comm/comm.h"
#include "job.h"

enum { RECORD = 24, KEY_AT = 4, KEY = 4, INDEX_AT = 16, MOST_RANKS = 9, MOST_LANES = 8 };

typedef enum kind { RANDOM, FEW, SAME, IN_ORDER, REVERSED, KINDS } kind;

typedef struct trial {
	int ranks;
	size_t lanes; /* of rank 0 */
	size_t step;  /* each rank has this number of lanes more than the one before, modulo 8 */
	size_t n;
	kind keys;
	bool spills, zero; /* zero: every second rank has a share of 0 */
	const char *workdir;
	bool resume, stops; /* stops: SIGUSR1 comes after reading */
	atomic_bool stop;
	uint64_t kept_bytes;
	unsigned char *in, *want;
} trial;

static int by_key_and_index(const void *a, const void *b)
{
	const unsigned char *x = a, *y = b;
	const int c = memcmp(x + KEY_AT, y + KEY_AT, KEY);
	uint64_t i, k;
	memcpy(&i, x + INDEX_AT, sizeof i);
	memcpy(&k, y + INDEX_AT, sizeof k);
	return c ? c : (i > k) - (i < k);
}

static void make_input(trial *t)
{
	uint64_t state = t->n * KINDS + t->keys;
	t->in = calloc(t->n + 1, RECORD);
	t->want = calloc(t->n + 1, RECORD);
	assert_true(t->in && t->want);
	for (uint64_t i = 0; i < t->n; i++) {
		const uint64_t r = splitmix(&state);
		const uint32_t key = (uint32_t)(t->keys == RANDOM     ? r
						: t->keys == FEW      ? r % 5
						: t->keys == SAME     ? 7
						: t->keys == IN_ORDER ? i
								      : t->n - i);
		for (int b = 0; b < KEY; b++)
			t->in[i * RECORD + KEY_AT + (size_t)b] =
				(unsigned char)(key >> (8 * (KEY - 1 - b)));
		memcpy(t->in + i * RECORD + INDEX_AT, &i, sizeof i);
	}
	memcpy(t->want, t->in, t->n * RECORD);
	qsort(t->want, t->n, RECORD, by_key_and_index);
	FILE *f = fopen("in", "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(t->in, RECORD, t->n, f), t->n);
	assert_int_equal(fclose(f), 0);
}

static void free_input(trial *t)
{
	free(t->in);
	free(t->want);
	assert_int_equal(unlink("in"), 0);
}

/* Ask the job to stop as soon as a rank has read its records. */
static const struct comm_ops *real_ops;
static trial *stopped;

static status collective(comm *c, const comm_call *k)
{
	if (stopped && atomic_load(&c->phase) >= PH_SAMPLE)
		atomic_store(&stopped->stop, true);
	return real_ops->collective(c, k);
}

static status run_rank(comm *c, void *trial_)
{
	trial *t = trial_;
	static const char *const inputs[] = { "in" };
	const test_sizes sizes = {
		.bucket_recs = 16,
		.run_recs = t->spills ? t->n / (size_t)t->ranks / 3 + 1 : 0,
		.lanes = 1 + (t->lanes - 1 + (size_t)c->rank * t->step) % MOST_LANES,
	};
	char speeds[8 * MOST_RANKS] = "";
	for (int i = 0; i < t->ranks; i++)
		strcat(speeds, i == 0 ? "1" : i % 2 ? ",1e-12" : ",1");
	const settings o = { .inputs = inputs,
			     .ninputs = 1,
			     .output = "out.%r",
			     .plan = t->zero ? PLAN_LINEAR : PLAN_EQUAL,
			     .speeds = t->zero ? speeds : NULL,
			     .lay = LAYOUT_BYTES(RECORD, KEY_AT, KEY),
			     .exchange_threads = (unsigned)(t->lanes % 3),
			     .threads = 2,
			     .test_sizes = &sizes,
			     .workdir = t->workdir,
			     .resume = t->resume,
			     .stop = &t->stop,
			     .stable = true,
			     .force = true };
	job_result res = { .status = ST_OK };
	struct comm_ops ops = *c->ops;
	const struct comm_ops *was = c->ops;
	if (t->stops) {
		ops.collective = collective;
		ops.meet = NULL;
		c->ops = &ops;
	}
	const status rc = job_execute(c, &o, &res);
	c->ops = was;
	if (c->rank == 0)
		for (int i = 0; rc == ST_OK && i < res.size; i++)
			t->kept_bytes += res.rank[i].kept_bytes;
	if (rc != ST_OK && !t->stops && c->rank == 0)
		print_message("%s\n", res.size ? res.rank->text : "");
	job_result_free(&res);
	return rc;
}

static status learn_ops(comm *c, void *none)
{
	(void)none;
	real_ops = c->ops;
	return ST_OK;
}

/* Check that each part has its share of the wanted records. */
static void check_parts(const trial *t)
{
	size_t at = 0;
	for (int i = 0; i < t->ranks; i++) {
		const size_t p = (size_t)t->ranks, share = t->n / p + ((size_t)i < t->n % p);
		char name[16];
		struct stat st;
		snprintf(name, sizeof name, "out.%d", i);
		assert_int_equal(stat(name, &st), 0);
		const size_t n = (size_t)st.st_size / RECORD;
		unsigned char *got = calloc(n + 1, RECORD);
		FILE *f = fopen(name, "rb");
		assert_true(got && f && at + n <= t->n);
		assert_int_equal(fread(got, RECORD, n + 1, f), n);
		assert_int_equal(fclose(f), 0);
		assert_memory_equal(got, t->want + at * RECORD, n * RECORD);
		if (t->zero && i % 2)
			assert_int_equal(n, 0);
		else if (!t->zero)
			assert_int_equal(n, share);
		free(got);
		at += n;
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(at, t->n);
	assert_int_equal(unlink("out.manifest"), 0);
}

static void run(trial *t)
{
	err e = { ST_OK, "" };
	const status rc = comm_local_run(t->ranks, run_rank, t, &e);
	if (rc != ST_OK)
		print_message("%d ranks, %zu lanes, step %zu, %zu records, keys %d, spills %d\n",
			      t->ranks, t->lanes, t->step, t->n, t->keys, t->spills);
	assert_int_equal(rc, ST_OK);
	check_parts(t);
	free_input(t);
}

static void parts_are_exact(void **state)
{
	(void)state;
	for (int p = 1; p <= MOST_RANKS; p++)
		for (size_t lanes = 1; lanes <= MOST_LANES; lanes++) {
			const size_t few = (size_t)p;
			const size_t sizes[] = { 0, 1, few - 1, few, few + 1, 100, 3000 };
			for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
				trial t = { .ranks = p,
					    .lanes = lanes,
					    .step = (lanes + i) % 3,
					    .n = sizes[i],
					    .keys = (kind)((lanes + i + few) % KINDS),
					    .spills = sizes[i] > few && (lanes + few) % 4 == 0,
					    .zero = p > 1 && (lanes + i) % 5 == 0 };
				make_input(&t);
				run(&t);
			}
		}
}

/* Stop a job after reading, and resume it with other numbers of ranks and lanes. */
static void resumed_with_other_lanes(void **state)
{
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(comm_local_run(1, learn_ops, NULL, &e), ST_OK);
	for (int was = 2; was <= MOST_RANKS; was += 2)
		for (int is = 1; is <= MOST_RANKS; is += 3) {
			trial first = { .ranks = was,
					.lanes = 1 + (size_t)was % MOST_LANES,
					.step = 1,
					.n = 2000,
					.keys = (kind)(was + is) % KINDS,
					.spills = true,
					.workdir = "work",
					.stops = true };
			make_input(&first);
			stopped = &first;
			const status rc = comm_local_run(was, run_rank, &first, &e);
			stopped = NULL;
			assert_int_equal(rc, ST_SIGNAL + SIGUSR1);
			trial then = first;
			then.ranks = is;
			then.lanes = 1 + (size_t)(was + is) % MOST_LANES;
			then.step = 2;
			then.stops = false;
			then.resume = true;
			then.stop = false;
			run(&then);
			assert_true(then.kept_bytes > 0);
			(void)rmdir("work");
		}
}

/* A rank waits for others only if all of its lanes do, or have ended. */
static void a_lane_that_waits_hides_no_other(void **state)
{
	comm c = { .lanes = 3 };
	(void)state;
	comm_wait_begin(&c);
	comm_wait_begin(&c);
	assert_false(comm_is_waiting(&c));
	comm_wait_begin(&c);
	assert_true(comm_is_waiting(&c));
	(void)comm_wait_end(&c, ST_OK);
	assert_false(comm_is_waiting(&c));
	c.lanes = 0; /* only the main thread */
	assert_true(comm_is_waiting(&c));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lane_that_waits_hides_no_other),
		cmocka_unit_test(parts_are_exact),
		cmocka_unit_test(resumed_with_other_lanes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
