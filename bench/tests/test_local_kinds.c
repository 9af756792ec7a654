/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kinds of keys that bench/local_bench.c measures have the properties of their names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "../local_kinds.c"

enum { N = 5000 };

static unsigned char keys[N][KEY_MOST_BYTES];

static int by_key(const void *a, const void *b)
{
	return memcmp(a, b, KEY_MOST_BYTES);
}

/* Make N sorted keys of a kind. Return the number of distinct ones. */
static size_t make(const char *name)
{
	const key_kind *k = KINDS;
	size_t distinct = 1;
	while (k->name && strcmp(k->name, name) != 0)
		k++;
	assert_non_null(k->name);
	for (size_t i = 0; i < N; i++)
		k->key(i, N, keys[i]);
	qsort(keys, N, sizeof keys[0], by_key);
	for (size_t i = 1; i < N; i++)
		distinct += by_key(keys[i], keys[i - 1]) != 0;
	return distinct;
}

static void no_name_twice(void **state)
{
	(void)state;
	for (const key_kind *k = KINDS; k->name; k++)
		for (const key_kind *other = KINDS; other < k; other++)
			assert_string_not_equal(k->name, other->name);
}

static void dense_is_a_permutation(void **state)
{
	(void)state;
	assert_int_equal(make("dense"), N);
	for (size_t i = 0; i < N; i++) {
		unsigned char want[KEY_MOST_BYTES];
		kind_set(want, i, 0);
		assert_memory_equal(keys[i], want, sizeof want);
	}
}

static void few_values(void **state)
{
	(void)state;
	assert_int_equal(make("few-distinct"), 16);
	assert_in_range(make("1000-values"), 900, 1000);
	assert_int_equal(make("all-equal"), 1);
}

static void exponential_numbers(void **state)
{
	double sum = 0;
	(void)state;
	make("exponential");
	for (size_t i = 0; i < N; i++)
		sum += keys[i][5] * 65536.0 + keys[i][6] * 256.0 + keys[i][7];
	assert_in_range((int)(sum / N), 900, 1100);
}

static void text_is_words(void **state)
{
	(void)state;
	assert_in_range(make("text"), N / 2, N);
	for (size_t i = 0; i < N; i++) {
		assert_int_not_equal(keys[i][0], ' ');
		for (size_t j = 0; j < KEY_MOST_BYTES; j++)
			assert_true(keys[i][j] == ' ' || (keys[i][j] >= 'a' && keys[i][j] <= 'z'));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_name_twice), cmocka_unit_test(dense_is_a_permutation),
		cmocka_unit_test(few_values),    cmocka_unit_test(exponential_numbers),
		cmocka_unit_test(text_is_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
