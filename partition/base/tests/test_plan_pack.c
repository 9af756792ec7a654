/* SPDX-License-Identifier: GPL-3.0-or-later */
/* test_plan_pack.c - a plan as bytes and back, damaged bytes, and where each share begins. */
#include "tests/tests.h"

static hetpart_plan *plan(size_t p, uint64_t seed)
{
	double *k = calloc(p, sizeof *k);
	hetpart_cost *c;
	hetpart_plan *pl;

	for (size_t i = 0; i < p; i++)
		k[i] = 1 + rnd_real(&seed);
	OK(hetpart_cost_nlogn(&c, 1, &err));
	OK(hetpart_share_create(&pl, 100 * p + 7, k, p, c, NULL, &err));
	hetpart_cost_free(c);
	free(k);
	return pl;
}

static unsigned char *pack(const hetpart_plan *pl, size_t *bytes)
{
	*bytes = hetpart_plan_pack(pl, NULL, 0);
	unsigned char *buf = malloc(*bytes);
	assert_int_equal(hetpart_plan_pack(pl, buf, *bytes), *bytes);
	return buf;
}

static void there_and_back(void **state)
{
	(void)state;
	for (size_t p = 1; p <= 1000; p = 3 * p + 1) {
		hetpart_plan *pl = plan(p, p), *again;
		size_t bytes, same;
		unsigned char *buf = pack(pl, &bytes), *twice;

		OK(hetpart_plan_unpack(&again, buf, bytes, &err));
		assert_int_equal(hetpart_plan_hash(again), hetpart_plan_hash(pl));
		assert_string_equal(hetpart_plan_method(again), "exact, Lambert W");
		assert_true(hetpart_plan_makespan(again) == hetpart_plan_makespan(pl));
		assert_true(hetpart_plan_time(again, p - 1) == hetpart_plan_time(pl, p - 1));
		twice = pack(again, &same);
		assert_int_equal(same, bytes);
		assert_memory_equal(twice, buf, bytes);
		hetpart_plan_free(pl);
		hetpart_plan_free(again);
		free(buf);
		free(twice);
	}
}

/* Check the layout: it is promised to be the same on every machine. */
static void the_bytes(void **state)
{
	const double k[] = { 1, 2 };
	hetpart_cost *c;
	hetpart_plan *pl;
	size_t bytes;

	(void)state;
	OK(hetpart_cost_linear(&c, 1, &err));
	OK(hetpart_share_create(&pl, 3, k, 2, c, NULL, &err));
	unsigned char *buf = pack(pl, &bytes);
	assert_int_equal(bytes, 8 * (7 + 6 + 3 * 2 + 1));
	assert_memory_equal(buf, "HETPLAN1\2\0\0\0\0\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f",
			    32);
	assert_memory_equal(buf + 56, "exact, D'Hondt\0\0", 16);
	assert_memory_equal(buf + 104, "\1\0\0\0\0\0\0\0\2\0\0\0\0\0\0\0", 16);
	free(buf);
	hetpart_plan_free(pl);
	hetpart_cost_free(c);
}

static void refuse(const void *bytes, size_t size)
{
	hetpart_plan *out = (hetpart_plan *)&err;

	assert_int_equal(hetpart_plan_unpack(&out, bytes, size, &err), HETPART_EFORMAT);
	assert_null(out);
}

static void damaged(void **state)
{
	hetpart_plan *pl = plan(5, 9), *out;
	size_t bytes;
	unsigned char *buf = pack(pl, &bytes);

	(void)state;
	for (size_t i = 0; i < bytes; i++) {
		unsigned char *cut = malloc(i + 1); /* so that a sanitizer sees a read beyond it */
		memcpy(cut, buf, i);
		refuse(cut, i);
		free(cut);
		for (int bit = 0; bit < 8; bit++) {
			buf[i] ^= (unsigned char)(1 << bit);
			refuse(buf, bytes);
			buf[i] ^= (unsigned char)(1 << bit);
		}
	}
	assert_int_equal(hetpart_plan_unpack(NULL, buf, bytes, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_plan_unpack(&out, NULL, bytes, &err), HETPART_EINVAL);
	assert_int_equal(hetpart_plan_pack(NULL, buf, bytes), 0);
	memset(buf, 0x55, bytes);
	assert_int_equal(hetpart_plan_pack(pl, buf, bytes - 1), bytes); /* too small: untouched */
	assert_int_equal(buf[0], 0x55);
	free(buf);
	hetpart_plan_free(pl);
}

static void first_items(void **state)
{
	hetpart_plan *pl = plan(40, 3);
	uint64_t first[41];

	(void)state;
	hetpart_plan_offsets(pl, first);
	for (size_t i = 0; i < 40; i++) {
		assert_int_equal(first[i + 1] - first[i], hetpart_plan_share(pl, i));
		assert_int_equal(first[i], hetpart_plan_first(pl, i));
	}
	assert_int_equal(first[0], 0);
	assert_int_equal(first[40], 4007);
	assert_int_equal(hetpart_plan_first(pl, 99), 4007);
	assert_int_equal(hetpart_plan_first(NULL, 1), 0);
	hetpart_plan_offsets(NULL, first);
	hetpart_plan_offsets(pl, NULL);
	for (uint64_t item = 0, i = 0; item < 4007; item++) {
		while (item >= first[i + 1])
			i++;
		assert_int_equal(hetpart_plan_owner(pl, item), i);
	}
	assert_int_equal(hetpart_plan_owner(pl, 4007), 40);
	assert_int_equal(hetpart_plan_owner(pl, UINT64_MAX), 40);
	assert_int_equal(hetpart_plan_owner(NULL, 0), 0);
	assert_true(hetpart_plan_times(pl)[39] == hetpart_plan_time(pl, 39));
	assert_true(hetpart_plan_real_shares(pl)[39] == hetpart_plan_real_share(pl, 39));
	assert_null(hetpart_plan_times(NULL));
	assert_null(hetpart_plan_real_shares(NULL));
	hetpart_plan_free(pl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(the_bytes),
		cmocka_unit_test(damaged),
		cmocka_unit_test(first_items),
	};
	return cmocka_run_group_tests_name("plan_pack", tests, NULL, NULL);
}
