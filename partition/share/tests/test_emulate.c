/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_emulate.c - process emulation against its reference values and brute force; self-scheduling
 * against small cases by hand, and its invariants. */
#include "tests/tests.h"

static void reference(void **state)
{
	double r[] = { 0.46, 0.65, 1.61, 1.61 };
	struct {
		uint64_t m;
		const char *percent;
	} row[] = { { 11, "82.6" }, { 10, "93.0" }, { 13, "96.7" } };
	uint64_t eleven[] = { 1, 2, 4, 4 };

	(void)state;
	for (size_t i = 0; i < LEN(row); i++) {
		hetpart_plan *pl;
		char got[16];
		OK(hetpart_emulate_create(&pl, r, 4, row[i].m, &err));
		snprintf(got, sizeof got, "%.1f", 100 * hetpart_emulate_efficiency(pl, r));
		assert_string_equal(got, row[i].percent);
		if (row[i].m == 11)
			assert_memory_equal(hetpart_plan_shares(pl), eleven, sizeof eleven);
		hetpart_plan_free(pl);
	}
	hetpart_plan *best;
	OK(hetpart_emulate_best(&best, r, 4, 13, &err));
	assert_int_equal(hetpart_plan_items(best), 13);
	hetpart_plan_free(best);
	OK(hetpart_emulate_best(&best, r, 4, 12, &err));
	assert_int_equal(hetpart_plan_items(best), 10);
	hetpart_plan_free(best);
}

/* Return the smallest max m_i/r_i over all divisions of m. */
static double brute(uint64_t m, const double *r, size_t p)
{
	double best = INFINITY;

	if (p == 1)
		return (double)m / *r;
	for (uint64_t e = 0; e <= m; e++)
		best = fmin(best, fmax((double)e / *r, brute(m - e, r + 1, p - 1)));
	return best;
}

static void optimal_by_brute_force(void **state)
{
	uint64_t seed = 31;

	(void)state;
	for (int round = 0; round < rounds(400); round++) {
		double r[4], sum = 0, best = 0;
		size_t p = 1 + rnd_below(&seed, 4);
		uint64_t most = 1 + rnd_below(&seed, 12);
		hetpart_plan *pl;
		for (size_t i = 0; i < p; i++)
			sum += r[i] =
				round % 2 ? 1 + (double)rnd_below(&seed, 5) : 0.1 + rnd_real(&seed);
		for (uint64_t m = 1; m <= most; m++) {
			double t = brute(m, r, p);
			OK(hetpart_emulate_create(&pl, r, p, m, &err));
			NEAR(hetpart_plan_makespan(pl), t, 1e-14);
			NEAR(hetpart_emulate_efficiency(pl, r), (double)m / (sum * t), 1e-14);
			best = fmax(best, hetpart_emulate_efficiency(pl, r));
			hetpart_plan_free(pl);
		}
		OK(hetpart_emulate_best(&pl, r, p, most, &err));
		NEAR(hetpart_emulate_efficiency(pl, r), best, 1e-11);
		hetpart_plan_free(pl);
	}
}

static void perfect(void **state)
{
	double r[] = { 2, 3, 5 };
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_emulate_best(&pl, r, 3, 1000, &err));
	assert_int_equal(hetpart_plan_items(pl), 10); /* the smallest, not 20 */
	NEAR(hetpart_emulate_efficiency(pl, r), 1, 1e-15);
	hetpart_plan_free(pl);
}

static hetpart_cost *affine(double startup, double per_item)
{
	hetpart_cost *c;

	OK(hetpart_cost_affine(&c, startup, per_item, 1, &err));
	return c;
}

static hetpart_plan *farm(uint64_t n, const hetpart_worker *w, size_t p, hetpart_chunk_rule rule,
			  uint64_t chunk)
{
	hetpart_plan *pl;

	OK(hetpart_farm_create(&pl, n, w, p, rule, chunk, &err));
	return pl;
}

/* Simulate two workers, sending 1, computing 2 and 4 for each item, chunks of 1:
 * A gets 0-1, computes to 3; B gets 1-2, to 6; A 3-4, to 6; A and B tie at 6, A first: 6-7, to 9;
 * B 7-8, to 12. */
static void by_hand(void **state)
{
	hetpart_cost *send = affine(0, 1), *fast = affine(0, 2), *slow = affine(0, 4);
	hetpart_worker w[] = { { fast, send }, { slow, send } },
		       own[] = { { fast, send }, { slow, NULL } };
	hetpart_plan *pl = farm(5, w, 2, HETPART_CHUNK_FIXED, 1);

	(void)state;
	assert_int_equal(hetpart_plan_share(pl, 0), 3);
	NEAR(hetpart_plan_time(pl, 0), 9, 0);
	NEAR(hetpart_plan_time(pl, 1), 12, 0);
	NEAR(hetpart_plan_makespan(pl), 12, 0);
	hetpart_plan_free(pl);
	pl = farm(4, own, 2, HETPART_CHUNK_FIXED, 1); /* the root's own: 0-4, 4-8 */
	assert_int_equal(hetpart_plan_share(pl, 1), 2);
	NEAR(hetpart_plan_time(pl, 0), 6, 0);
	NEAR(hetpart_plan_time(pl, 1), 8, 0);
	hetpart_plan_free(pl);
	hetpart_worker free_[] = { { fast, NULL }, { fast, NULL } };
	pl = farm(100, free_, 2, HETPART_CHUNK_GUIDED, 1); /* 50, 25; 13 and on to the second */
	NEAR(hetpart_plan_makespan(pl), 100, 0);
	assert_int_equal(hetpart_plan_share(pl, 0), 50);
	hetpart_plan_free(pl);
	pl = farm(100, free_, 2, HETPART_CHUNK_FACTORING, 1); /* 25 25 13 13 6 6 3 3 2 2 1 1 */
	assert_int_equal(hetpart_plan_share(pl, 0), 50);
	NEAR(hetpart_plan_makespan(pl), 100, 0);
	hetpart_plan_free(pl);
	hetpart_cost_free(send);
	hetpart_cost_free(fast);
	hetpart_cost_free(slow);
}

/* Check that no farm beats the possible: the work over all speeds, or the port's time. */
static void bounds(void **state)
{
	uint64_t seed = 32;

	(void)state;
	for (int round = 0; round < rounds(200); round++) {
		hetpart_worker w[6];
		hetpart_cost *c[12];
		size_t p = 1 + rnd_below(&seed, 6);
		uint64_t n = rnd_below(&seed, 5000), sum = 0;
		double speed = 0, port = INFINITY;
		for (size_t i = 0; i < p; i++) {
			double a = 0.1 + rnd_real(&seed), b = rnd_real(&seed);
			w[i] = (hetpart_worker){ c[2 * i] = affine(0, a),
						 c[2 * i + 1] = affine(0, b) };
			speed += 1 / a;
			port = fmin(port, b);
		}
		for (int rule = 0; rule < 3; rule++) {
			hetpart_plan *pl =
				farm(n, w, p, (hetpart_chunk_rule)rule, 1 + rnd(&seed) % 9);
			double t = hetpart_plan_makespan(pl) * (1 + 1e-12);
			assert_true(t >= (double)n / speed && t >= (double)n * port);
			sum = 0;
			for (size_t i = 0; i < p; i++)
				sum += hetpart_plan_share(pl, i);
			assert_int_equal(sum, n);
			hetpart_plan_free(pl);
		}
		for (size_t i = 0; i < 2 * p; i++)
			hetpart_cost_free(c[i]);
	}
}

/* Check that chunks even out what a plan cannot foresee: with free links all rules end within one
 * chunk. */
static void evens_out(void **state)
{
	double per_item[] = { 1, 2, 3 };
	hetpart_cost *c[3];
	hetpart_worker w[3];

	(void)state;
	for (size_t i = 0; i < 3; i++)
		w[i] = (hetpart_worker){ c[i] = affine(0, per_item[i]), NULL };
	for (int rule = 0; rule < 3; rule += 2) {
		hetpart_plan *pl = farm(60000, w, 3, (hetpart_chunk_rule)rule, 10);
		NEAR(hetpart_plan_makespan(pl), 60000 / (1 + 0.5 + 1 / 3.0), 5e-3);
		hetpart_plan_free(pl);
	}
	for (size_t i = 0; i < 3; i++)
		hetpart_cost_free(c[i]);
}

static double nan_cost(void *ctx, uint64_t n)
{
	(void)ctx;
	return n > 2 ? NAN : 0;
}

struct trace {
	uint64_t items[4];
	double done[4], port;
	size_t chunks;
};

/* Check that one message is sent at a time, and a processor's chunks follow each other. */
static void watch(void *ctx, const hetpart_chunk *c)
{
	struct trace *t = ctx;

	assert_true(c->proc < 4 && c->items > 0);
	assert_true(c->sent >= t->done[c->proc] && c->arrived >= c->sent && c->done > c->arrived);
	if (c->arrived > c->sent) {
		assert_true(c->sent >= t->port);
		t->port = c->arrived;
	}
	t->items[c->proc] += c->items;
	t->done[c->proc] = c->done;
	t->chunks++;
}

/* Check that the chunks add up to the plan. */
static void traced(void **state)
{
	hetpart_cost *c[] = { affine(0, 1), affine(1, .25), affine(0, 4) };
	hetpart_worker w[] = { { c[0], c[1] }, { c[2], c[1] }, { c[2], NULL } };
	hetpart_plan *pl;

	(void)state;
	for (int rule = HETPART_CHUNK_FIXED; rule <= HETPART_CHUNK_FACTORING; rule++) {
		struct trace t = { .chunks = 0 };
		OK(hetpart_farm_trace(&pl, 1000, w, LEN(w), (hetpart_chunk_rule)rule, 3, watch, &t,
				      &err));
		for (size_t i = 0; i < LEN(w); i++) {
			assert_int_equal(t.items[i], hetpart_plan_share(pl, i));
			NEAR(t.done[i], hetpart_plan_time(pl, i), 0);
		}
		assert_true(t.chunks >= 3);
		hetpart_plan_free(pl);
	}
	for (size_t i = 0; i < LEN(c); i++)
		hetpart_cost_free(c[i]);
}

static void refusals(void **state)
{
	double r[] = { 1, 2 }, bad[] = { 1, 0 }, tab[] = { 0, 1 };
	hetpart_cost *c = affine(0, 1), *broken, *table;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_callback(&broken, nan_cost, NULL, true, 1, &err));
	OK(hetpart_cost_table(&table, tab, 2, 1, &err));
	hetpart_worker w[] = { { c, c }, { c, NULL } }, hole[] = { { c, c }, { NULL, c } },
		       nan_[] = { { c, broken }, { c, c } }, inf[] = { { table, c }, { c, c } };
#define NO(want, call)                              \
	do {                                        \
		pl = (hetpart_plan *)&err;          \
		assert_int_equal(call, want);       \
		assert_null(pl);                    \
		assert_int_equal(err.status, want); \
	} while (0)
	NO(HETPART_EINVAL, hetpart_emulate_create(&pl, NULL, 2, 5, &err));
	NO(HETPART_EINVAL, hetpart_emulate_create(&pl, r, 0, 5, &err));
	NO(HETPART_EINVAL, hetpart_emulate_create(&pl, bad, 2, 5, &err));
	NO(HETPART_ERANGE, hetpart_emulate_create(&pl, r, 2, UINT64_MAX, &err));
	NO(HETPART_EINVAL, hetpart_emulate_best(&pl, NULL, 2, 5, &err));
	NO(HETPART_EINVAL, hetpart_emulate_best(&pl, bad, 2, 5, &err));
	NO(HETPART_ERANGE, hetpart_emulate_best(&pl, r, 2, 0, &err));
	NO(HETPART_ERANGE, hetpart_emulate_best(&pl, r, 2, UINT64_MAX, &err));
	NO(HETPART_EINVAL, hetpart_farm_create(&pl, 9, NULL, 2, HETPART_CHUNK_FIXED, 1, &err));
	NO(HETPART_EINVAL, hetpart_farm_create(&pl, 9, w, 0, HETPART_CHUNK_FIXED, 1, &err));
	NO(HETPART_EINVAL, hetpart_farm_create(&pl, 9, w, 2, HETPART_CHUNK_FIXED, 0, &err));
	NO(HETPART_EINVAL, hetpart_farm_create(&pl, 9, w, 2, (hetpart_chunk_rule)7, 1, &err));
	NO(HETPART_EINVAL, hetpart_farm_create(&pl, 9, hole, 2, HETPART_CHUNK_FIXED, 1, &err));
	NO(HETPART_EINVAL, hetpart_farm_create(&pl, 9, nan_, 2, HETPART_CHUNK_FIXED, 3, &err));
	NO(HETPART_ERANGE, hetpart_farm_create(&pl, 9, inf, 2, HETPART_CHUNK_FIXED, 3, &err));
	NO(HETPART_ERANGE, hetpart_farm_create(&pl, INT64_MAX, w, 2, HETPART_CHUNK_FIXED, 1, &err));
	NO(HETPART_ERANGE,
	   hetpart_farm_create(&pl, UINT64_MAX, w, 2, HETPART_CHUNK_GUIDED, 1, &err));
	assert_int_equal(hetpart_emulate_create(NULL, r, 2, 5, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_emulate_best(NULL, r, 2, 5, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_farm_create(NULL, 9, w, 2, HETPART_CHUNK_FIXED, 1, &err),
			 HETPART_EINVAL);
	assert_true(isnan(hetpart_emulate_efficiency(NULL, r)));
	hetpart_plan_free(farm(INT64_MAX, w, 2, HETPART_CHUNK_FACTORING, 1));
	hetpart_plan_free(farm(0, w, 2, HETPART_CHUNK_GUIDED, 1));
	hetpart_cost_free(c);
	hetpart_cost_free(broken);
	hetpart_cost_free(table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reference), cmocka_unit_test(optimal_by_brute_force),
		cmocka_unit_test(perfect),   cmocka_unit_test(by_hand),
		cmocka_unit_test(bounds),    cmocka_unit_test(evens_out),
		cmocka_unit_test(traced),    cmocka_unit_test(refusals),
	};
	return cmocka_run_group_tests_name("emulate", tests, NULL, NULL);
}
