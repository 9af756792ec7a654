/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_chunks.c - chunks by each rule: the sizes of small cases, sums and bounds of all others, and
 * invalid arguments. */
#include "tests.h"

static void sizes(hetpart_chunk_rule rule, uint64_t chunk, const uint64_t *want, size_t n)
{
	hetpart_chunks c = { .rule = rule, .nprocs = 2, .chunk = chunk, .left = 16 };

	for (size_t i = 0; i < n; i++)
		assert_int_equal(hetpart_chunks_next(&c), want[i]);
	assert_int_equal(c.left, 0);
	assert_int_equal(hetpart_chunks_next(&c), 0);
}

static void small_cases(void **state)
{
	const uint64_t fixed[] = { 5, 5, 5, 1 }, guided[] = { 8, 4, 3, 1 };
	const uint64_t factoring[] = { 4, 4, 3, 3, 2 };

	(void)state;
	sizes(HETPART_CHUNK_FIXED, 5, fixed, 4);
	sizes(HETPART_CHUNK_GUIDED, 3, guided, 4);
	sizes(HETPART_CHUNK_FACTORING, 3, factoring, 5);
	sizes((hetpart_chunk_rule)99, 5, fixed, 4);
}

/* Check that all items are handed out and no chunk is larger than the one before. Only the last
 * may be smaller than the smallest size. */
static void invariants(void **state)
{
	uint64_t seed = 1;

	(void)state;
	for (int t = 0; t < 3000; t++) {
		const uint64_t items = rnd(&seed) % 10000, chunk = rnd(&seed) % 20;
		hetpart_chunks c = { .rule = (hetpart_chunk_rule)(t % 3),
				     .nprocs = 1 + rnd(&seed) % 50,
				     .chunk = chunk,
				     .left = items };
		uint64_t sum = 0, size, before = UINT64_MAX;
		while ((size = hetpart_chunks_next(&c)) > 0) {
			assert_true(size <= before);
			assert_true(size >= chunk || c.left == 0);
			before = size;
			sum += size;
			assert_int_equal(sum + c.left, items);
		}
		assert_int_equal(sum, items);
	}
}

static void next_is(void *ctx, const hetpart_chunk *chunk)
{
	assert_int_equal(hetpart_chunks_next((hetpart_chunks *)ctx), chunk->items);
}

static void as_the_simulated_farm(void **state)
{
	hetpart_cost *c;
	hetpart_plan *pl;

	(void)state;
	OK(hetpart_cost_linear(&c, 1, &err));
	const hetpart_worker worker[] = { { c, NULL }, { c, c }, { c, c } };
	for (int rule = HETPART_CHUNK_FIXED; rule <= HETPART_CHUNK_FACTORING; rule++) {
		hetpart_chunks chunks = {
			.rule = (hetpart_chunk_rule)rule, .nprocs = 3, .chunk = 7, .left = 1000
		};
		OK(hetpart_farm_trace(&pl, 1000, worker, 3, chunks.rule, 7, next_is, &chunks,
				      &err));
		assert_int_equal(chunks.left, 0);
		hetpart_plan_free(pl);
	}
	hetpart_cost_free(c);
}

static void senseless(void **state)
{
	hetpart_chunks c = { .rule = HETPART_CHUNK_GUIDED, .chunk = 1, .left = 9 };

	(void)state;
	assert_int_equal(hetpart_chunks_next(NULL), 0);
	assert_int_equal(hetpart_chunks_next(&c), 0);
	assert_int_equal(c.left, 9);
	c = (hetpart_chunks){ .nprocs = 1, .left = HETPART_ITEMS_MAX };
	assert_int_equal(hetpart_chunks_next(&c), 1); /* a chunk of 0 counts as 1 */
	assert_true(c.left == HETPART_ITEMS_MAX - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_cases),
		cmocka_unit_test(invariants),
		cmocka_unit_test(as_the_simulated_farm),
		cmocka_unit_test(senseless),
	};

	return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
