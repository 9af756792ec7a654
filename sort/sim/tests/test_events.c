/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events come by time, and events of the same time in the order in which they were added, from the
 * heap, from lanes or from the queue of the present time. */
#include "sim/events.h"
#include "base/arith.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>

#include <cmocka.h>

enum { LANES = 5, AT_FIRST = 300, EVENTS = 20000 };

static lane lanes[LANES];

static void nothing(void *arg)
{
	(void)arg;
}

/* Add an event: now, soon, or out of the order of its lane. There are few different times, so some
 * events have the same time. */
static void add_one(uint64_t *seed, double now_s)
{
	const uint64_t r = splitmix(seed);
	const double at_s = now_s + (double)(r % 7);
	if (r >> 8 & 1)
		events_add((event){ .at_s = at_s, .fn = nothing }, now_s);
	else
		events_add_in(&lanes[(r >> 16) % LANES], at_s, NULL);
}

static void come_in_order(void **state)
{
	uint64_t seed = 1, added = AT_FIRST, taken = 0;
	event last = { .at_s = -1 };
	(void)state;
	for (int i = 0; i < LANES; i++)
		lanes[i].fn = nothing;
	for (int i = 0; i < AT_FIRST; i++)
		add_one(&seed, 0);
	for (event e; events_next(&e); taken++) {
		if (e.at_s < last.at_s || (e.at_s == last.at_s && e.number < last.number))
			fail_msg("event %d at %g comes after %d at %g", (int)e.number, e.at_s,
				 (int)last.number, last.at_s);
		assert_ptr_equal(e.fn, nothing);
		last = e;
		for (uint64_t k = 1 + splitmix(&seed) % 2; k > 0 && added < EVENTS; k--, added++)
			add_one(&seed, e.at_s);
	}
	assert_int_equal(taken, added);
	assert_int_equal(taken, events_count());
	assert_int_equal(taken, EVENTS);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(come_in_order) };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
