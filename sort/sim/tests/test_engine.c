/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulated time: threads that share processors, threads that wait for each other, and messages
 * between hosts. Each test is a simulation of its own. */
#include "sim/engine.h"

#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { HOSTS = 3 };

static double began_s;
static platform p;

/* Clocks continue from one test to the next. */
static int set_up(void **state)
{
	err e = { ST_OK, "" };
	(void)state;
	if (platform_parse(&p, "2 x net 8M lat 1ms\n1 x cores 2 speed 0.5", "p", &e) != ST_OK ||
	    engine_open(&p, 20e-6, &e) != ST_OK)
		return 1;
	for (int i = 0; i < HOSTS; i++)
		engine_host(i)->advanced_s = engine_now_s();
	began_s = engine_now_s();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (int i = 0; i < HOSTS; i++)
		assert_int_equal(engine_host(i)->actors, 0);
	free(engine_host(0));
	platform_free(&p);
	return 0;
}

static void is_about(double s, double wanted)
{
	if (fabs(s - wanted) > 1e-9)
		fail_msg("%.9f s, not %.9f s", s, wanted);
}

static double since(void)
{
	return engine_now_s() - began_s;
}

/* ------------------------------------------------------------------------------- processors */

static void *compute(void *seconds)
{
	actor_compute(*(const double *)seconds);
	*(double *)seconds = since();
	return NULL;
}

static void threads_share_a_processor(void **state)
{
	double a = 1, b = 3;
	(void)state;
	actor_start(engine_process(0), compute, &a);
	actor_start(engine_process(0), compute, &b);
	assert_int_equal(engine_run(), 0);
	is_about(a, 2); /* half of it while both compute */
	is_about(b, 4);
	is_about(engine_host(0)->busy_s, 4);
}

static void each_has_one_of_two(void **state)
{
	double a = 1, b = 3;
	(void)state;
	actor_start(engine_process(2), compute, &a);
	actor_start(engine_process(2), compute, &b);
	assert_int_equal(engine_run(), 0);
	is_about(a, 2); /* at half the speed */
	is_about(b, 6);
	is_about(engine_host(2)->busy_s, 8);
}

static void *owe(void *seconds)
{
	for (int i = 0; i < 1000; i++)
		actor_owe(1e-6);
	actor_pay();
	is_about(actor_cpu_s(), 1e-3);
	*(double *)seconds = since();
	return NULL;
}

static void owed_work_is_paid(void **state)
{
	double s;
	(void)state;
	actor_start(engine_process(0), owe, &s);
	assert_int_equal(engine_run(), 0);
	is_about(s, 1e-3);
}

/* ----------------------------------------------------------------------------------- waiting */

typedef struct meeting {
	bool there;
	double at_s[3];
	bool woken[3];
} meeting;

static void *wait_in_queue(void *meeting_)
{
	meeting *m = meeting_;
	const int i = m->woken[0] + m->woken[1];
	m->woken[i] = true; /* the order in which they came */
	const bool woken = actor_wait_for(m, began_s + 5);
	m->at_s[i] = since();
	m->woken[i] = woken;
	return NULL;
}

static void *wake_one(void *meeting_)
{
	actor_sleep(began_s + 1);
	assert_true(actor_wake_one(meeting_));
	return NULL;
}

static void queues_are_in_order(void **state)
{
	meeting m = { .there = false };
	(void)state;
	actor_start(engine_process(0), wait_in_queue, &m);
	actor_start(engine_process(1), wait_in_queue, &m);
	actor_start(engine_process(2), wake_one, &m);
	assert_int_equal(engine_run(), 0);
	assert_true(m.woken[0] && !m.woken[1]);
	is_about(m.at_s[0], 1);
	is_about(m.at_s[1], 5);
}

static void *look_and_nap(void *meeting_)
{
	meeting *m = meeting_;
	actor_nap(200e-6); /* nothing yet */
	while (!m->there) {
		actor_compute(2e-3); /* the news comes during this look */
		actor_nap(200e-6);
	}
	m->at_s[0] = since();
	return NULL;
}

static void *come(void *meeting_)
{
	meeting *m = meeting_;
	actor_sleep(began_s + 1e-3); /* while the other looks after its first nap */
	m->there = true;
	return NULL;
}

/* Work of a thread during another one's look around ends the nap that follows. */
static void naps_miss_nothing(void **state)
{
	meeting m = { .there = false };
	(void)state;
	actor_start(engine_process(0), look_and_nap, &m);
	actor_start(engine_process(0), come, &m);
	assert_int_equal(engine_run(), 0);
	assert_true(m.at_s[0] > 1e-3 && m.at_s[0] < 3e-3);
}

static void *look_again_and_again(void *there)
{
	while (!*(bool *)there) {
		actor_owe(30e-6); /* more than is charged together */
		actor_nap(200e-6);
	}
	return NULL;
}

static void *come_late(void *there)
{
	actor_sleep(began_s + 100);
	*(bool *)there = true;
	return NULL;
}

/* Looking around ends no nap of others. Otherwise two threads would wake each other for ever. */
static void looking_wakes_no_one(void **state)
{
	bool there = false;
	const uint64_t before = events_count();
	(void)state;
	actor_start(engine_process(0), look_again_and_again, &there);
	actor_start(engine_process(0), look_again_and_again, &there);
	actor_start(engine_process(0), come_late, &there);
	assert_int_equal(engine_run(), 0);
	assert_true(since() >= 100 && since() < 100.001);
	assert_true(events_count() - before < 2000);
}

static void *wait_for_ever(void *unused)
{
	actor_wait(INFINITY);
	return unused;
}

static void waiting_for_ever_is_reported(void **state)
{
	actor *a;
	(void)state;
	a = actor_start(engine_process(1), wait_for_ever, NULL);
	assert_int_equal(engine_run(), 1);
	actor_wake(a, engine_now_s());
	assert_int_equal(engine_run(), 0);
}

/* ---------------------------------------------------------------------------------- messages */

static double sent_s[2], landed_s[2];

static void note_time(void *at_s)
{
	*(double *)at_s = since();
}

static void send(const int *i, int from, int to, double bytes)
{
	const delivery d = { engine_host(from), engine_host(to), bytes,
			     note_time,         &sent_s[*i],     &landed_s[*i] };
	assert_int_equal(network_send(&d, engine_now_s()), ST_OK);
}

static void *stay(void *seconds)
{
	actor_sleep(began_s + *(double *)seconds);
	return NULL;
}

/* Send two messages of a megabyte over a link of a megabyte per second. */
static void a_link_takes_one_at_a_time(void **state)
{
	int first = 0, second = 1;
	double long_s = 10;
	(void)state;
	actor_start(engine_process(2), stay, &long_s);
	send(&first, 0, 1, 1e6);
	send(&second, 0, 1, 1e6);
	assert_int_equal(engine_run(), 0);
	is_about(sent_s[0], 1);
	is_about(sent_s[1], 2);
	is_about(landed_s[0], 1.001);
	is_about(landed_s[1], 2.001);
}

static void a_packet_waits_for_no_long_message(void **state)
{
	int first = 0, second = 1;
	double long_s = 10;
	(void)state;
	actor_start(engine_process(2), stay, &long_s);
	send(&first, 0, 1, 1e6);
	send(&second, 0, 1, 1000);
	assert_int_equal(engine_run(), 0);
	is_about(landed_s[0], 1.001);
	is_about(landed_s[1], 0.002);
}

static void a_message_inside_a_host_takes_no_time(void **state)
{
	int first = 0, second = 1;
	double long_s = 10;
	(void)state;
	actor_start(engine_process(2), stay, &long_s);
	send(&first, 0, 1, 1e6);
	send(&second, 0, 0, 1e6);
	assert_int_equal(engine_run(), 0);
	is_about(sent_s[0], 1);
	is_about(sent_s[1], 0);
	is_about(landed_s[1], 0);
}

static void a_switch_takes_one_at_a_time(void **state)
{
	int first = 0, second = 1;
	double long_s = 10;
	(void)state;
	p.switch_bytes_per_s = 0.5e6;
	actor_start(engine_process(2), stay, &long_s);
	send(&first, 0, 1, 1e6);
	send(&second, 1, 0, 1e6);
	assert_int_equal(engine_run(), 0);
	is_about(landed_s[0], 2.001);
	is_about(landed_s[1], 4.001);
}

int main(void)
{
	const char *sanitizer = getenv("SANITIZER");
	if (sanitizer && *sanitizer && strcmp(sanitizer, "coverage") != 0)
		return 77; /* sanitizers do not follow coroutines */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(threads_share_a_processor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_has_one_of_two, set_up, tear_down),
		cmocka_unit_test_setup_teardown(owed_work_is_paid, set_up, tear_down),
		cmocka_unit_test_setup_teardown(queues_are_in_order, set_up, tear_down),
		cmocka_unit_test_setup_teardown(naps_miss_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(looking_wakes_no_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(waiting_for_ever_is_reported, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_link_takes_one_at_a_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_packet_waits_for_no_long_message, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_message_inside_a_host_takes_no_time, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_switch_takes_one_at_a_time, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
