/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_greedy.c - whole shares of very many processors are the greedy ones to the last item. No
 * item that is taken comes after one that is not, by its time, of equal ones by speed, then by
 * position. Only one plan has this property. Approximations keep the whole parts of their real
 * shares, and the items above these have it. */
#include "tests/tests.h"

#define P 40000

static double k[P];

struct item {
	double time;
	size_t proc;
};

static struct item item_of(const hetpart_cost *c, uint64_t n, size_t i)
{
	return (struct item){ hetpart_cost_eval(c, n) / k[i], i };
}

static bool before(struct item a, struct item b)
{
	if (a.time != b.time)
		return a.time < b.time;
	return k[a.proc] != k[b.proc] ? k[a.proc] > k[b.proc] : a.proc < b.proc;
}

/* Check a cost whose quotients differ as doubles wherever they differ: rounding decides no tie. */
static void check_greedy(const hetpart_cost *c, size_t p, uint64_t items, hetpart_method method,
			 const char *what)
{
	struct item last = { -1, 0 }, next = { INFINITY, 0 };
	hetpart_opts o = HETPART_OPTS_INIT;
	hetpart_plan *pl;

	o.method = method;
	OK(hetpart_share_create(&pl, items, k, p, c, &o, &err));
	for (size_t i = 0; i < p; i++) {
		uint64_t n = hetpart_plan_share(pl, i), least = 0;
		struct item after = item_of(c, n + 1, i);
		if (method != HETPART_METHOD_EXACT)
			least = (uint64_t)hetpart_plan_real_share(pl, i);
		assert_true(n >= least);
		if (n > least && before(last, item_of(c, n, i)))
			last = item_of(c, n, i);
		if (before(after, next))
			next = after;
	}
	hetpart_plan_free(pl);
	if (!before(last, next))
		fail_msg("%s, method %d, %zu processors, %" PRIu64
			 " items: %zu has its last one at %.17g, %zu could have one at %.17g",
			 what, (int)method, p, items, last.proc, last.time, next.proc, next.time);
}

static void to_the_last_item(void **state)
{
	const char *names[] = { "equal", "of 3 kinds", "powers of 2", "mixed", "far apart" };
	hetpart_cost *costs[2];
	uint64_t seed = 8;

	(void)state;
	OK(hetpart_cost_nlogn(&costs[0], 1, &err));
	OK(hetpart_cost_linear(&costs[1], 1, &err));
	for (int round = 0; round < rounds(100); round++)
		for (size_t kind = 0; kind < LEN(names); kind++) {
			size_t p = 1000 + rnd_below(&seed, 2000);
			uint64_t items = (p + 1) << rnd_below(&seed, 12);
			for (size_t i = 0; i < p; i++) {
				double r = rnd_real(&seed);
				k[i] = kind == 0   ? 1
				       : kind == 1 ? 1 + floor(3 * r)
				       : kind == 2 ? ldexp(1, (int)(4 * r))
				       : kind == 3 ? 1 + 3 * r
						   : exp(20 * r);
			}
			check_greedy(costs[round % 2], p, items + rnd_below(&seed, p),
				     HETPART_METHOD_EXACT, names[kind]);
		}
	hetpart_cost_free(costs[0]);
	hetpart_cost_free(costs[1]);
}

/* Plan for enough processors that a sample shows where the whole shares sum to the items. */
static void above_the_whole_parts(void **state)
{
	const hetpart_method method[] = { HETPART_METHOD_EXACT, HETPART_METHOD_PROPORTIONAL,
					  HETPART_METHOD_TAYLOR, HETPART_METHOD_ASYMPTOTIC };
	const double widest[] = { 0.01, 1.4, 5 };
	hetpart_cost *nlogn;
	uint64_t seed = 9;

	(void)state;
	OK(hetpart_cost_nlogn(&nlogn, 1, &err));
	for (int round = 0; round < rounds(3); round++)
		for (size_t w = 0; w < LEN(widest); w++) {
			for (size_t i = 0; i < P; i++)
				k[i] = exp(widest[w] * (round ? rnd_real(&seed) : (double)i / P));
			for (size_t m = 0; m < LEN(method); m++)
				for (int bits = 24; bits <= 36; bits += 12)
					check_greedy(nlogn, P - rnd_below(&seed, 5000),
						     (UINT64_C(1) << bits) + rnd_below(&seed, P),
						     method[m], "n ln n");
		}
	hetpart_cost_free(nlogn);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(to_the_last_item),
					    cmocka_unit_test(above_the_whole_parts) };
	return cmocka_run_group_tests_name("greedy", tests, NULL, NULL);
}
