/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranges of hosts: which ranges are valid, and which hosts they contain. Numbers for hosts in a
 * file: names with and without a domain, and in another case, stand for the only host that they
 * fit. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include "model/rank_speeds.h"

#define LEN(a) (sizeof(a) / sizeof *(a))

static void brackets_hold_numbers(void **state)
{
	static const char *const sound[] = { "",
					     "node",
					     "n]",
					     "n[1]",
					     "n[1-48]",
					     "n[1-1,7,10-20]x",
					     "r[0-9]n[01-24]",
					     "n[999999999999999999]" };
	static const char *const bad[] = { "[",      "n[",    "n[]",
					   "n[1",    "n[1-",  "n[1-]",
					   "n[-1]",  "n[1,]", "n[,1]",
					   "n[2-1]", "n[a]",  "n[1-2-3]",
					   "n[1][",  "n[1 ]", "n[1000000000000000000]" };
	(void)state;
	for (size_t i = 0; i < LEN(sound); i++)
		assert_true(speeds_range_is_sound(sound[i], strlen(sound[i])));
	for (size_t i = 0; i < LEN(bad); i++)
		assert_false(speeds_range_is_sound(bad[i], strlen(bad[i])));
	assert_true(speeds_range_is_sound("n[1]x[", 5)); /* reads only the given length */
}

static void hosts_are_in_ranges(void **state)
{
	static const struct {
		const char *range, *host;
		host_match is;
	} of[] = {
		{ "node", "node", HOST_SAME },
		{ "node", "node1", HOST_OTHER },
		{ "node1", "node", HOST_OTHER },
		{ "", "", HOST_SAME },
		{ "n[1-48]", "n1", HOST_SAME },
		{ "n[1-48]", "n48", HOST_SAME },
		{ "n[1-48]", "n49", HOST_OTHER },
		{ "n[1-48]", "n0", HOST_OTHER },
		{ "n[1-48]", "n", HOST_OTHER },
		{ "n[1-48]", "n07", HOST_OTHER },
		{ "n[1-48]", "n7x", HOST_OTHER },
		{ "n[1-48]", "m7", HOST_OTHER },
		{ "n[1-48]", "n1000000000000000000000", HOST_OTHER },
		{ "n[0-3]", "n0", HOST_SAME },
		{ "n[01-24]", "n07", HOST_SAME },
		{ "n[01-24]", "n7", HOST_OTHER },
		{ "n[01-24]", "n007", HOST_OTHER },
		{ "n[098-102]", "n101", HOST_SAME },
		{ "n[1,3-4]", "n2", HOST_OTHER },
		{ "n[1,3-4]", "n3", HOST_SAME },
		{ "rack[1-2]n[01-24].edu", "rack2n24.edu", HOST_SAME },
		{ "rack[1-2]n[01-24].edu", "rack2n25.edu", HOST_OTHER },
		{ "rack[1-2]n[01-24].edu", "rack2n24", HOST_ALIKE },
		{ "node", "NODE", HOST_ALIKE },
		{ "node", "node.edu", HOST_ALIKE },
		{ "Node.EDU", "node", HOST_ALIKE },
		{ "node", "node-1", HOST_OTHER },
		{ "node.", "node", HOST_ALIKE },
		{ "node.a", "node.b", HOST_OTHER },
		{ "node.a", "node.a.edu", HOST_ALIKE },
		{ "n[1-48]", "N7.edu", HOST_ALIKE },
		{ "n[1-48]", "n49.edu", HOST_OTHER },
		{ "n[1-48].edu", "n7", HOST_ALIKE },
		{ "n[1-48].edu", "n7.com", HOST_OTHER },
		{ "n[1-48]", "n7x.edu", HOST_OTHER },
		{ ".", "", HOST_OTHER },
	};
	(void)state;
	assert_int_equal(speeds_range_match("n\0x", 3, "n"), HOST_OTHER);
	for (size_t i = 0; i < LEN(of); i++)
		assert_int_equal(speeds_range_match(of[i].range, strlen(of[i].range), of[i].host),
				 of[i].is);
}

/* The speeds that text gives to ranks on these hosts, or the end of the message. */
typedef struct named {
	const char *host[4], *text, *says;
	double speed[4];
} named;

static void names_stand_for_the_host_that_they_fit(void **state)
{
	static const named of[] = {
		{ { "n1.edu", "n2.edu" }, "n1 1\nn2 2\n", NULL, { 1, 2 } },
		{ { "n1", "n2" }, "n1.edu 1\nn2.edu 2\n", NULL, { 1, 2 } },
		{ { "N1.edu", "n2" }, "n1.EDU 1\nN2 2\n", NULL, { 1, 2 } },
		{ { "n2.edu", "n1.edu", "n2.edu", "n1.edu" },
		  "n1 1\nn2 2\n",
		  NULL,
		  { 2, 1, 2, 1 } },
		{ { "N1.edu", "n2.edu", "n3" }, "n[1-9] 1\n", NULL, { 1, 1, 1 } },
		{ { "n1", "n2" }, "N[1-9].edu,1\n", NULL, { 1, 1 } },
		/* exact names count first, wherever they are */
		{ { "n1", "n1.edu" }, "n1.edu 2\nn1 1\n", NULL, { 1, 2 } },
		{ { "n1", "n1.edu" }, "n1 1\nn1.edu 2\n", NULL, { 1, 2 } },
		{ { "n1", "N1", "n1.edu" }, "N1 2\nn1 1\nN1.EDU 3\n", NULL, { 1, 2, 3 } },
		{ { "n1", "n2.edu" }, "n[1-2] 1\n", NULL, { 1, 1 } },
		{ { "n1.a", "n1.b" }, "n1.b 2\nn1 1\n", NULL, { 1, 2 } },
		{ { "n1.edu", "n2.edu" }, "n2.edu 2\nn[1-2] 1\n", NULL, { 1, 2 } },
		/* what fits several hosts, or is said twice */
		{ { "n1.a", "n1.b" },
		  "n1 1\n",
		  "line 1: host 'n1' may be 'n1.a' or 'n1.b': write the whole name",
		  { 0 } },
		{ { "n1", "N1" },
		  "n1.edu 1\n",
		  "line 1: host 'n1.edu' may be 'N1' or 'n1': write the whole name",
		  { 0 } },
		{ { "n1.a", "n2", "n1.b" },
		  "n2 1\nn[1,3] 1\n",
		  "line 2: host 'n[1,3]' may be 'n1.a' or 'n1.b': write the whole name",
		  { 0 } },
		{ { "n1" },
		  "n1.a 1\nn1.b 2\n",
		  "line 2: host 'n1.b' and an earlier line both name 'n1'",
		  { 0 } },
		{ { "n1", "n1.edu" }, "n[1-2] 1\n", "do not name host 'n1.edu' of rank 1", { 0 } },
		{ { "n1" }, "n1 1\n\nn1 2\n", "line 3: host 'n1' is listed twice", { 0 } },
		{ { "n1" },
		  "n1 1\nN1 2\n",
		  "line 2: host 'N1' has no rank; hosts with ranks: 'n1'",
		  { 0 } },
		{ { "n1.a" },
		  "n1.b 1\n",
		  "line 1: host 'n1.b' has no rank; hosts with ranks: 'n1.a'",
		  { 0 } },
		{ { "b", "a", "b", "c.x" },
		  "a 1\nd 1\n",
		  "line 2: host 'd' has no rank; hosts with ranks: 'a', 'b', 'c.x'",
		  { 0 } },
	};
	(void)state;
	for (size_t i = 0; i < LEN(of); i++) {
		char host[4][HOST_BYTES] = { "" };
		double speed[4] = { 0 };
		err e = { ST_OK, "" };
		size_t n = 0;
		for (; n < 4 && of[i].host[n]; n++)
			strcpy(host[n], of[i].host[n]);
		const speeds_want w = { "speed", n, *host, sizeof *host };
		const status rc =
			speeds_parse(of[i].text, strlen(of[i].text), "file", &w, speed, &e);
		const char *says = of[i].says ? of[i].says : "", *at = strstr(e.text, says);
		assert_int_equal(rc, of[i].says ? ST_REFUSED : ST_OK);
		assert_string_equal(at ? at : e.text, says);
		for (size_t k = 0; k < n && rc == ST_OK; k++)
			assert_float_equal(speed[k], of[i].speed[k], 0);
	}
}

static void many_hosts_are_counted(void **state)
{
	enum { HOSTS = 1000 };
	static char host[HOSTS][HOST_BYTES];
	double speed[HOSTS];
	err e = { ST_OK, "" };
	(void)state;
	for (int i = 0; i < HOSTS; i++)
		snprintf(host[i], sizeof host[i], "n%03d.edu", i);
	const speeds_want w = { "link", HOSTS, *host, sizeof *host };
	assert_int_equal(speeds_parse("m 1", 3, "file", &w, speed, &e), ST_REFUSED);
	assert_non_null(strstr(e.text, "hosts with ranks: 'n000.edu', 'n001.edu', "));
	assert_string_equal(strstr(e.text, " and "), " and 989 more");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(brackets_hold_numbers), cmocka_unit_test(hosts_are_in_ranges),
		cmocka_unit_test(names_stand_for_the_host_that_they_fit),
		cmocka_unit_test(many_hosts_are_counted)
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
