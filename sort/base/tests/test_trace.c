/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace stays small for any number of spans. Spans stay in order, apart, and in their phase. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "base/pool.h"
#include "base/trace.h"

enum { ROWS = 400, SPANS = 20000 };

static rank_progress counts;

static void record(trace_kind kind)
{
	const double t = trace_begin();
	trace_end(kind, t);
}

static unsigned rows_of(const trace_row *r, trace_type type, unsigned thread, uint64_t *spans)
{
	unsigned n = 0;
	uint64_t end_us = 0;
	*spans = 0;
	for (unsigned i = 0; i < ROWS; i++) {
		if (r[i].type != type || r[i].thread != thread)
			continue;
		assert_true(r[i].at_us >= end_us);
		end_us = r[i].at_us + r[i].length_us;
		*spans += r[i].spans;
		n++;
	}
	return n;
}

static void without_a_trace_no_span_is_recorded(void **state)
{
	trace_row row[ROWS];
	(void)state;
	record(TRACE_READ);
	trace_rows(NULL, row, ROWS, now_s());
	for (unsigned i = 0; i < ROWS; i++)
		assert_int_equal(row[i].type, TRACE_NONE);
	assert_int_equal(trace_ranks(), 0);
}

/* Check that two phases stay apart, although spans within each phase are merged. */
static void it_stays_small(void **state)
{
	static trace_row row[ROWS];
	uint64_t spans, phases;
	(void)state;
	trace *t = trace_open(3, &counts, ROWS, now_s());
	assert_non_null(t);
	assert_int_equal(trace_ranks(), 4);
	for (int p = 1; p < 3; p++) {
		trace_phase(t, p, now_s());
		for (int i = 0; i < SPANS; i++)
			record(i % 2 ? TRACE_READ : TRACE_SORT);
		trace_phase(t, -1, now_s());
	}
	trace_rows(t, row, ROWS, now_s());
	const unsigned n = rows_of(row, TRACE_SPAN, TRACE_MAIN, &spans);
	assert_true(n >= 2 && n <= ROWS);
	assert_int_equal(spans, 2 * SPANS);
	assert_int_equal(rows_of(row, TRACE_PHASE, TRACE_MAIN, &phases), 2);
	const trace_row *border = row + 1;
	assert_int_equal(border->type, TRACE_PHASE);
	for (unsigned i = 0; i < ROWS; i++)
		if (row[i].type == TRACE_SPAN)
			assert_true(row[i].at_us + row[i].length_us <= border->at_us ||
				    row[i].at_us >= border->at_us);
	trace_close(t);
	assert_int_equal(trace_ranks(), 0);
}

static void a_span_within_a_span_is_its_part(void **state)
{
	static trace_row row[ROWS];
	uint64_t spans;
	(void)state;
	trace *t = trace_open(0, &counts, ROWS, now_s());
	const double outer = trace_begin(), inner = trace_begin();
	trace_end(TRACE_READ, inner);
	trace_end(TRACE_SEND, outer);
	trace_rows(t, row, ROWS, now_s());
	assert_int_equal(rows_of(row, TRACE_SPAN, TRACE_MAIN, &spans), 1);
	for (unsigned i = 0; i < ROWS; i++)
		if (row[i].type == TRACE_SPAN)
			assert_int_equal(row[i].kind, TRACE_SEND);
	trace_close(t);
}

static void *work(void *unused)
{
	(void)unused;
	progress_add(PROGRESS_READ, 1000);
	record(TRACE_MERGE);
	return NULL;
}

/* Threads that work one after the other use one lane, and count for their rank. */
static void threads_take_the_place_of_those_before(void **state)
{
	static trace_row row[ROWS];
	uint64_t spans, read = 0;
	unsigned threads = 0;
	(void)state;
	memset(&counts, 0, sizeof counts);
	progress_join(&counts);
	trace *t = trace_open(0, &counts, ROWS, now_s());
	for (int i = 0; i < 200; i++) {
		pthread_t p;
		assert_int_equal(thread_start(&p, "worker", work, NULL), 0);
		pthread_join(p, NULL);
	}
	trace_rows(t, row, ROWS, now_s());
	for (unsigned i = 0; i < ROWS; i++) {
		threads += row[i].type == TRACE_THREAD && strcmp(row[i].name, "worker") == 0;
		read = row[i].type == TRACE_COUNTS ? row[i].counter[0] : read;
	}
	assert_int_equal(threads, 1);
	rows_of(row, TRACE_SPAN, 1, &spans);
	assert_int_equal(spans, 200);
	assert_int_equal(read, 200000);
	trace_close(t);
	progress_join(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_trace_no_span_is_recorded),
		cmocka_unit_test(it_stays_small),
		cmocka_unit_test(a_span_within_a_span_is_its_part),
		cmocka_unit_test(threads_take_the_place_of_those_before),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
