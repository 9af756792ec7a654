/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Platforms: their contents, and the errors that are refused with the line. */
#include "sim/platform.h"

#include <math.h>
#include <stdarg.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

static void groups_and_defaults(void **state)
{
	platform p;
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(
		platform_parse(&p,
			       "# a cluster\n"
			       "2 x speed 0.5 cores 4 ranks 3 mem 2G disk 100M/s net 10G lat 5us\n"
			       "\n"
			       "1 x\t# all as usual\n"
			       "switch 40G\r\n"
			       "rates sort 5ns message 1us",
			       "p", &e),
		ST_OK);
	assert_int_equal(p.hosts, 3);
	assert_int_equal(p.ranks, 7);
	assert_true(p.host[1].ranks == 3 && p.host[2].ranks == 1);
	assert_true(p.host[1].speed == 0.5 && p.host[1].cores == 4);
	assert_int_equal(p.host[1].mem_bytes, UINT64_C(2) << 30);
	assert_true(p.host[1].disk_bytes_per_s == 100e6 && p.host[1].net_bytes_per_s == 1.25e9);
	assert_true(fabs(p.host[1].latency_s - 5e-6) < 1e-12);
	assert_true(p.host[2].speed == 1 && isinf(p.host[2].disk_bytes_per_s));
	assert_true(p.switch_bytes_per_s == 5e9);
	assert_true(fabs(p.rates.sort_s - 5e-9) < 1e-15 && fabs(p.rates.message_s - 1e-6) < 1e-12);
	assert_true(p.rates.copy_s > 0);
	platform_free(&p);
}

static void changes(void **state)
{
	platform p;
	err e = { ST_OK, "" };
	(void)state;
	assert_int_equal(platform_parse(&p,
					"4 x speed 1\nat 2s host 3 stop\nat 1.5ms host 0 net 0\n"
					"at 0 host 1 speed 0.1\nat 1s host 2 disk 1M/s",
					"p", &e),
			 ST_OK);
	assert_int_equal(p.changes, 4);
	assert_true(p.change[0].what == SIM_STOP && p.change[0].host == 3 && p.change[0].at_s == 2);
	assert_true(p.change[1].what == SIM_NET && p.change[1].value == 0);
	assert_true(p.change[2].what == SIM_SPEED && p.change[2].at_s == 0);
	assert_true(p.change[3].what == SIM_DISK && p.change[3].value == 1e6);
	platform_free(&p);
}

static void refused(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "'p' has no hosts" },
		{ "# nothing\n", "'p' has no hosts" },
		{ "x", "'p', line 1: 'hosts' needs a number, not 'x'" },
		{ "4", "'p', line 1: hosts must be 'COUNT x PROPERTY VALUE...'" },
		{ "0 x", "'p', line 1: hosts must be 'COUNT x PROPERTY VALUE...'" },
		{ "1.5 x", "'p', line 1: 'hosts' must be a whole number up to 65536" },
		{ "65537 x", "'p', line 1: 'hosts' must be a whole number up to 65536" },
		{ "65000 x\n537 x", "'p', line 2: more than 65536 hosts" },
		{ "1 x colour 3", "'p', line 1: a host has no property 'colour'" },
		{ "1 x speed", "'p', line 1: 'speed' needs a number, not ''" },
		{ "1 x lat 10001s", "'p', line 1: 'lat' must be from 0s to 10000s, not '10001s'" },
		{ "1 x\nrates sort 2s", "'p', line 2: 'sort' must be from 1e-12s to 1s, not '2s'" },
		{ "1 x\nat 0 host 0 net 0.0001K",
		  "'p', line 2: 'net' must be 0, or at least 0.001K" },
		{ "1 x speed 0", "'p', line 1: 'speed' must be from 1e-12 to 1e+15, not '0'" },
		{ "1 x speed 1G", "'p', line 1: 'speed' does not have the unit 'G'" },
		{ "1 x cores 0", "'p', line 1: 'cores' must be at least 1" },
		{ "1 x ranks 0", "'p', line 1: 'ranks' must be at least 1" },
		{ "1 x ranks 1025", "'p', line 1: 'ranks' must be a whole number up to 1024" },
		{ "1 x ranks 1.5", "'p', line 1: 'ranks' must be a whole number up to 1024" },
		{ "64 x ranks 1000\n1 x\n2 x ranks 1000", "'p', line 3: more than 65536 ranks" },
		{ "1 x disk 100M", "'p', line 1: 'disk' does not have the unit 'M'" },
		{ "1 x net 100M/s", "'p', line 1: 'net' does not have the unit 'M/s'" },
		{ "1 x lat 5", "'p', line 1: 'lat' does not have the unit ''" },
		{ "1 x mem much", "'p', line 1: 'mem' 'much': " },
		{ "at 1s host 0 stop\n1 x", "'p', line 1: there is no host 0 before this line" },
		{ "1 x\n\nat 1s host 0 fly",
		  "'p', line 3: a host can 'stop', or change its 'speed', 'disk' or 'net'" },
		{ "1 x\nat 1s rank 0 stop",
		  "'p', line 2: a change must be 'at TIME host NUMBER WHAT'" },
		{ "1 x\nat 1s host 0 stop now", "'p', line 2: unexpected word 'now'" },
		{ "1 x\nrates shout 1ns", "'p', line 2: there is no rate 'shout'" },
		{ "1 x\nswitch 0", "'p', line 2: 'switch' must be from 0.001K to 8e+12K, not '0'" },
		{ "1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6 7 8 9 1 2 3 4 5 6",
		  "'p', line 1: more than 32 words" },
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		platform p;
		err e = { ST_OK, "" };
		assert_int_equal(platform_parse(&p, bad[i].text, "p", &e), ST_REFUSED);
		e.text[strlen(bad[i].why)] = '\0'; /* size_parse writes the rest */
		assert_string_equal(e.text, bad[i].why);
		platform_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_and_defaults),
		cmocka_unit_test(changes),
		cmocka_unit_test(refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
