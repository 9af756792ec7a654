/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzzer of the speeds parser: whatever the bytes, it either refuses with a sentence or fills all
 * speeds with finite numbers above zero. The first byte chooses how many are wanted; the ranks are
 * on hosts a, b, c, ... */
#include "speeds.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	double speed[256];
	err e = { ST_OK, "" };
	if (size == 0)
		return 0;
	const size_t n = data[0];
	static char name[256][2];
	const char *host[256];
	for (size_t i = 0; i < n; i++) {
		name[i][0] = (char)('a' + i % 5);
		host[i] = name[i];
	}
	const speeds_want want = { "speed", n, host };
	memset(speed, 0, sizeof speed);
	/* a copy of exactly this length, so that one byte too far is seen */
	char *text = malloc(size > 1 ? size - 1 : 1);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	const status rc = speeds_parse(text, size - 1, "fuzz", &want, speed, &e);
	free(text);
	if ((rc == ST_OK) != (e.code == ST_OK) || (rc != ST_OK && !e.text[0]))
		abort();
	for (size_t i = 0; rc == ST_OK && i < n; i++)
		if (!isfinite(speed[i]) || !(speed[i] > 0))
			abort();
	return 0;
}
