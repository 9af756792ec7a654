/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzzer of the speeds parser: whatever the bytes, it either refuses with a sentence or fills all
 * speeds with finite numbers above zero, and those, written as a list and by host, are read as
 * the same. The first byte chooses how many are wanted; the ranks are on hosts a, b, c, ... */
#include "../../../scripts/fuzz.h"
#include "model/speeds.h"

#include <math.h>
#include <stdio.h>

enum { HOSTS = 5, NUMBER_BYTES = 32 };

/* The numbers as a list, or by host those of its first rank; parsed, they are the same. */
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
	static char name[256][2];
	for (size_t i = 0; i < n; i++)
		name[i][0] = (char)('a' + i % HOSTS);
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
