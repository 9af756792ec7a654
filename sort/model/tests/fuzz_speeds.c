/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the speeds parser. It must refuse any bytes with a message, or fill all speeds with finite
 * numbers above zero. These numbers, written as a list and by host, must be parsed to the same
 * values. The first byte is the number of ranks, which are on five hosts. */
#include "../../../scripts/fuzz.h"
#include "model/rank_speeds.h"

#include <math.h>
#include <stdio.h>

enum { HOSTS = 5, NUMBER_BYTES = 32 };

/* Check that the numbers are parsed to the same values from a list, or from lines of hosts with the
 * number of their first rank. */
static void check_again(const speeds_want *w, const double *speed, bool by_host)
{
	err e = { ST_OK, "" };
	double again[256];
	char text[256 * NUMBER_BYTES];
	size_t at = 0;
	const size_t rows = by_host && w->n > HOSTS ? HOSTS : w->n;
	for (size_t i = 0; i < rows; i++)
		at += (size_t)snprintf(text + at, sizeof text - at,
				       by_host ? "%s %.17g\r\n" : "%s%.17g",
				       by_host ? speeds_host(w, i)
				       : i     ? ","
					       : "",
				       speed[i]);
	fuzz_check(at < sizeof text && speeds_parse(text, at, "again", w, again, &e) == ST_OK);
	for (size_t i = 0; i < w->n; i++)
		fuzz_check(again[i] == speed[by_host ? i % HOSTS : i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double speed[256];
	err e = { ST_OK, "" };
	if (size == 0)
		return 0;
	const size_t n = data[0];
	static const char hosts[HOSTS][4] = { "a", "b.x", "B.y", "c1", "C1z" };
	static char name[256][4];
	for (size_t i = 0; i < n; i++)
		memcpy(name[i], hosts[i % HOSTS], sizeof name[i]);
	const speeds_want want = { "speed", n, *name, sizeof *name };
	memset(speed, 0, sizeof speed);
	/* a copy of exactly this length, so that one byte too far is seen */
	char *text = malloc(size > 1 ? size - 1 : 1);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	const status rc = speeds_parse(text, size - 1, "fuzz", &want, speed, &e);
	free(text);
	fuzz_check(rc == e.code && (rc == ST_OK) == !e.text[0] && fuzz_clean(e.text));
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		fuzz_check(isfinite(speed[i]) && speed[i] > 0);
	if (rc == ST_OK && n > 0) {
		check_again(&want, speed, false);
		check_again(&want, speed, true);
	}
	return 0;
}
