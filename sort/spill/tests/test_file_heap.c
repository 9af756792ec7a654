/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first file of the heap is the least of all files, after any insertions, changes and removals.
 * Few files are compared to find it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/arith.h"
#include "spill/file_heap.h"

enum { MOST = 4096, STEPS = 20000 };

typedef struct model {
	uint64_t key[MOST];
	bool in[MOST];
	uint64_t compared;
} model;

static bool model_before(const void *model_, uint32_t a, uint32_t b)
{
	model *m = (model *)(uintptr_t)model_;
	m->compared++;
	return m->key[a] < m->key[b] || (m->key[a] == m->key[b] && a < b);
}

static bool first_of_all(const model *m, uint32_t files, uint32_t *first)
{
	bool any = false;
	for (uint32_t i = 0; i < files; i++)
		if (m->in[i] && (!any || m->key[i] < m->key[*first])) {
			*first = i;
			any = true;
		}
	return any;
}

static void check_first(const file_heap *h, const model *m, uint32_t files)
{
	uint32_t wanted = 0, got = 0;
	const bool any = first_of_all(m, files, &wanted);
	assert_int_equal(file_heap_first(h, &got), any);
	assert_int_equal(got, wanted);
}

static void put(file_heap *h, model *m, uint32_t file, uint64_t key, bool in)
{
	m->key[file] = key;
	m->in[file] = in;
	file_heap_put(h, file, in);
}

static void test_against_model(void **state)
{
	static model m;
	const uint32_t sizes[] = { 1, 2, 3, 7, 8, 100 };
	uint64_t seed = 5;
	(void)state;
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		mem acc = { 0 };
		err e = { ST_OK, "" };
		file_heap h;
		m = (model){ 0 };
		assert_int_equal(file_heap_open(&h, &acc, sizes[s], model_before, &m, &e), ST_OK);
		check_first(&h, &m, sizes[s]);
		for (int i = 0; i < STEPS; i++) {
			const uint32_t file = (uint32_t)(splitmix(&seed) % sizes[s]);
			put(&h, &m, file, splitmix(&seed) % 50, splitmix(&seed) % 3 > 0);
			check_first(&h, &m, sizes[s]);
		}
		file_heap_close(&h, &acc);
	}
}

/* Count the comparisons of each change: at most three for each of 12 levels. */
static void test_compares_few(void **state)
{
	static model m;
	mem acc = { 0 };
	err e = { ST_OK, "" };
	file_heap h;
	uint64_t seed = 6;
	uint32_t first;
	(void)state;
	assert_int_equal(file_heap_open(&h, &acc, MOST, model_before, &m, &e), ST_OK);
	for (uint32_t i = 0; i < MOST; i++)
		put(&h, &m, i, splitmix(&seed), true);
	for (int i = 0; i < STEPS; i++) {
		assert_true(file_heap_first(&h, &first));
		m.compared = 0;
		put(&h, &m, first, splitmix(&seed), true);
		assert_true(m.compared <= 3 * 12);
	}
	file_heap_close(&h, &acc);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_model),
		cmocka_unit_test(test_compares_few),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
