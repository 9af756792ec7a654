/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every rank gets a partner to measure its link, for any placement of ranks on hosts. The ranks are
 * threads, whose processors may be busier than their links, so a rate may be unknown.
 * sim/tests/test_link_rates.sh checks the rates of simulated links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <string.h>
#include "model/rank_speeds.h"
#include "model/rank_result.h"

enum { MOST = 8 };

/* The hosts of ranks, a letter each, and the rates measured at rank 0. */
typedef struct situation {
	const char *hosts;
	double link_s[MOST];
} situation;

static status measure(comm *c, void *situation_)
{
	situation *t = situation_;
	const settings o = { .lay = LAYOUT_BYTES(100, 0, 10) };
	rank_result stats = { 0 };
	rank_env env = { .c = c, .o = &o, .stats = &stats };
	placement at[MOST] = { 0 };
	for (int i = 0; i < c->size; i++)
		at[i].host_id = (uint64_t)t->hosts[i]; /* all have one name */
	size_t order[MOST];
	rank_speeds g = { .p = c->rank == 0 ? (size_t)c->size : 0,
			  .placement = at,
			  .order = order };
	rank_speeds_sort(&g);
	rates rate[MOST] = { { 0 } };
	for (int i = 0; i < MOST; i++)
		rate[i] = job_time_nominal(1, 1);
	const share_plan s = { .records = 1000000, .rate = rate };
	memset(t->link_s, 0, c->rank == 0 ? sizeof t->link_s : 0);
	const status rc = link_rates_measure(&env, &g, &s, t->link_s);
	assert_int_equal(env.m.now_bytes, 0);
	return rc;
}

static situation measured(const char *hosts)
{
	situation t = { .hosts = hosts };
	err e = { ST_OK, "" };
	for (int i = 0; i < MOST; i++)
		t.link_s[i] = -1;
	assert_int_equal(comm_local_run((int)strlen(hosts), measure, &t, &e), ST_OK);
	return t;
}

static void ranks_of_a_host_share_its_link(void **state)
{
	static const char *const all[] = { "ab",     "aab",    "aaab",   "abab",
					   "aabbcc", "abcabc", "abbbbbb" };
	(void)state;
	for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
		const situation t = measured(all[k]);
		for (size_t i = 0; all[k][i]; i++) {
			assert_true(t.link_s[i] >= 0 && isfinite(t.link_s[i]));
			for (size_t j = 0; j < i; j++)
				if (all[k][i] == all[k][j])
					assert_true(fabs(t.link_s[i] - t.link_s[j]) <=
						    1e-9 * t.link_s[j]);
		}
	}
}

static void one_host_has_no_link(void **state)
{
	(void)state;
	const situation t = measured("aaaa");
	for (int i = 0; i < 4; i++)
		assert_true(fabs(t.link_s[i]) <= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranks_of_a_host_share_its_link),
		cmocka_unit_test(one_host_has_no_link),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
