/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small functions of base/: binary search, large arrays, and the processors of machines of any
 * size.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/arith.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/status.h"

#include <errno.h>
#include <sched.h>
#include <string.h>

/* ------------------------------------------------------------------------- processors */

static struct machine {
	size_t least_bytes; /* of a set that the kernel accepts; 0: it accepts none */
	size_t cpu[3];      /* that the thread may use */
	size_t calls;
} machine;

/* Replace the function of the C library. */
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
	assert_int_equal(pid, 0);
	machine.calls++;
	errno = machine.least_bytes ? EINVAL : ENOSYS;
	if (machine.least_bytes == 0 || bytes < machine.least_bytes)
		return -1;
	memset(set, 0, bytes);
	for (size_t i = 0; i < 3; i++)
		CPU_SET_S(machine.cpu[i], bytes, set);
	return 0;
}

static void a_set_grows_to_the_machine(void **state)
{
	(void)state;
	machine = (struct machine){ 512, { 1, 1023, 4000 }, 0 };
	const processors large = processors_find();
	assert_int_equal(large.count, 3);
	assert_int_equal(machine.calls, 3);
	assert_int_equal(processors_count(), 3);
	machine.cpu[2] = 4001;
	assert_true(processors_find().set_hash != large.set_hash);
	assert_true(large.online >= 1);
	assert_int_equal(large.online, 3); /* no file was read to count them */
}

static void one_call_is_enough_for_a_small_machine(void **state)
{
	(void)state;
	machine = (struct machine){ 8, { 0, 2, 5 }, 0 };
	const processors p = processors_find();
	assert_int_equal(p.count, 3);
	assert_int_equal(machine.calls, 1);
	assert_true(processors_find().set_hash == p.set_hash);
}

static void all_processors_count_if_the_kernel_refuses(void **state)
{
	(void)state;
	machine = (struct machine){ 0, { 0 }, 0 };
	const processors p = processors_find();
	assert_int_equal(p.count, 0);
	assert_true(p.online >= 1);
	assert_int_equal(processors_count(), p.online);
	machine = (struct machine){ SIZE_MAX, { 0 }, 0 };
	assert_int_equal(processors_count(), p.online);
	assert_int_equal(processors_usable(&(processors){ 0, 0, 0 }), 1);
}

/* ------------------------------------------------------------------------------ search */

static uint64_t search(const unsigned *a, uint64_t lo, uint64_t hi, unsigned x, unsigned *looks)
{
	lower_bound b = { .lo = lo, .hi = hi };
	while (lower_bound_open(&b)) {
		assert_true(b.mid >= lo && b.mid < hi);
		++*looks;
		lower_bound_step(&b, a[b.mid] < x);
	}
	return b.lo;
}

static void search_finds_the_first_place(void **state)
{
	(void)state;
	enum { N = 40 };
	unsigned a[N];
	for (unsigned i = 0; i < N; i++)
		a[i] = 10 + i / 3 * 2; /* each three times, and gaps */
	for (uint64_t lo = 0; lo <= N; lo++)
		for (uint64_t hi = lo; hi <= N; hi++)
			for (unsigned x = 8; x < 40; x++) {
				unsigned looks = 0;
				uint64_t first = lo;
				while (first < hi && a[first] < x)
					first++;
				assert_int_equal(search(a, lo, hi, x, &looks), first);
				assert_true(looks <= 6);
			}
}

static void search_takes_any_range(void **state)
{
	(void)state;
	lower_bound b = { .lo = 1, .hi = UINT64_MAX };
	while (lower_bound_open(&b))
		lower_bound_step(&b, b.mid < UINT64_MAX - 1);
	assert_true(b.lo == UINT64_MAX - 1);
	b = (lower_bound){ .lo = 1, .hi = 0 }; /* empty */
	assert_false(lower_bound_open(&b));
	assert_int_equal(b.lo, 1);
}

static void smaller_and_larger(void **state)
{
	(void)state;
	assert_true(u64_min(3, UINT64_MAX) == 3 && u64_min(4, 2) == 2);
	assert_true(u64_max(3, UINT64_MAX) == UINT64_MAX && u64_max(4, 2) == 4);
	assert_true(size_min(3, SIZE_MAX) == 3 && size_min(4, 2) == 2);
	assert_true(size_max(3, SIZE_MAX) == SIZE_MAX && size_max(4, 2) == 4);
	assert_true(stream_is_standard("-"));
	assert_false(stream_is_standard("--") || stream_is_standard("") ||
		     stream_is_standard("/dev/stdin"));
}

/* ------------------------------------------------------------------------------- memory */

/* Arrays that are not much larger than a huge page begin at one, after the page of the header. */
static void large_arrays_begin_at_huge_pages(void **state)
{
	enum { HUGE_PAGE = 2 << 20, PAGE = 4096, ARRAYS = 8 };
	const size_t bytes[ARRAYS] = { HUGE_PAGE - PAGE, HUGE_PAGE, 2113536, 2113536,
				       2113536,          5000001,   5000001, 2 * HUGE_PAGE };
	unsigned char *p[ARRAYS];
	mem m = { 0 };
	err e = { 0 };
	(void)state;
	for (int i = 0; i < ARRAYS; i++) {
		p[i] = mem_array(&m, 1, bytes[i], "array", &e);
		assert_non_null(p[i]);
		assert_int_equal((uintptr_t)p[i] % HUGE_PAGE, PAGE);
		memset(p[i], i + 1, bytes[i]);
	}
	for (int i = 0; i < ARRAYS; i++) {
		assert_int_equal(p[i][0], i + 1);
		assert_int_equal(p[i][bytes[i] - 1], i + 1);
		mem_free(&m, p[i]);
	}
	assert_int_equal(m.now_bytes, 0);
	assert_null(mem_array(&m, 1, SIZE_MAX - 2 * PAGE, "array", &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_set_grows_to_the_machine),
		cmocka_unit_test(one_call_is_enough_for_a_small_machine),
		cmocka_unit_test(all_processors_count_if_the_kernel_refuses),
		cmocka_unit_test(search_finds_the_first_place),
		cmocka_unit_test(search_takes_any_range),
		cmocka_unit_test(smaller_and_larger),
		cmocka_unit_test(large_arrays_begin_at_huge_pages),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
