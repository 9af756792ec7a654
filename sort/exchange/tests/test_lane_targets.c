/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lanes of ranks with different numbers of lanes: every rank has as many as it uses, one after
 * the other, and ranks with few lanes take turns, so that the lanes of a sender have similar
 * work. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include "base/arith.h"
#include "exchange/lanes.h"

enum { MOST_RANKS = 40 };

typedef struct cluster {
	size_t ranks, lanes;
	uint32_t used[MOST_RANKS];
	uint64_t share[MOST_RANKS];
	uint64_t target[MOST_RANKS * EXCHANGE_MOST_LANES];
} cluster;

/* Return the records of a lane of a rank. */
static uint64_t width(const cluster *c, size_t rank, size_t lane)
{
	const size_t at = rank * c->lanes + lane;
	return c->target[at] - (at ? c->target[at - 1] : 0);
}

static cluster draw(uint64_t *seed)
{
	cluster c = { .ranks = 1 + splitmix(seed) % MOST_RANKS,
		      .lanes = 1 + splitmix(seed) % EXCHANGE_MOST_LANES };
	for (size_t i = 0; i < c.ranks; i++) {
		c.used[i] = (uint32_t)(1 + splitmix(seed) % c.lanes);
		c.share[i] = splitmix(seed) % 3 ? splitmix(seed) % 1000000 : 0;
	}
	return c;
}

static void each_rank_has_its_lanes(void **state)
{
	uint64_t seed = 1;
	(void)state;
	for (int round = 0; round < 2000; round++) {
		cluster c = draw(&seed);
		lanes_targets(c.share, c.used, c.ranks, c.lanes, c.target);
		for (size_t i = 0; i < c.ranks; i++) {
			uint64_t all = 0, least = UINT64_MAX, most = 0;
			size_t filled = 0;
			for (size_t k = 0; k < c.lanes; k++) {
				const uint64_t n = width(&c, i, k);
				all += n;
				filled += n > 0;
				least = n ? u64_min(least, n) : least;
				most = u64_max(most, n);
			}
			assert_true(all == c.share[i]);
			assert_true(filled <= c.used[i]);
			assert_true(all < c.used[i] || filled == c.used[i]);
			assert_true(filled == 0 || most - least <= 1);
		}
	}
}

static void spreading_only_adds_lanes(void **state)
{
	uint64_t seed = 2;
	(void)state;
	for (int round = 0; round < 2000; round++) {
		cluster c = draw(&seed);
		cluster before = c;
		lanes_spread(c.used, c.share, c.ranks, c.lanes);
		for (size_t i = 0; i < c.ranks; i++)
			assert_true(c.used[i] >= before.used[i] && c.used[i] <= c.lanes);
	}
}

/* Two kinds of ranks with equal shares: no lane of a sender has much more than the mean. Without
 * spreading, one lane would have up to 15 times the mean. */
static void lanes_have_similar_work(void **state)
{
	(void)state;
	for (size_t few = 1; few < 20; few++)
		for (size_t many = 1; many < 20; many++)
			for (uint32_t small = 1; small < EXCHANGE_MOST_LANES; small++) {
				cluster c = { .ranks = few + many, .lanes = EXCHANGE_MOST_LANES };
				uint64_t most = 0, all = 0;
				for (size_t i = 0; i < c.ranks; i++) {
					c.used[i] = i < few ? small : EXCHANGE_MOST_LANES;
					c.share[i] = 1000000;
				}
				lanes_spread(c.used, c.share, c.ranks, c.lanes);
				lanes_targets(c.share, c.used, c.ranks, c.lanes, c.target);
				for (size_t k = 0; k < c.lanes; k++) {
					uint64_t sum = 0;
					for (size_t i = 0; i < c.ranks; i++)
						sum += width(&c, i, k);
					all += sum;
					most = u64_max(most, sum);
				}
				assert_true((double)most * (double)c.lanes < 1.25 * (double)all);
			}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_rank_has_its_lanes),
		cmocka_unit_test(spreading_only_adds_lanes),
		cmocka_unit_test(lanes_have_similar_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
