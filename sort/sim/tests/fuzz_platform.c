/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzz the parser of platforms. It must refuse any text with a message, or return hosts that can be
 * simulated: finite numbers in their ranges, and changes only of hosts that exist. */
#include "../../../scripts/fuzz.h"
#include "sim/platform.h"

#include <math.h>

static void check_host(const sim_host *h)
{
	fuzz_check(isfinite(h->speed) && h->speed > 0);
	fuzz_check(h->cores >= 1 && h->cores <= SIM_MOST_CORES);
	fuzz_check(h->ranks >= 1 && h->ranks <= SIM_MOST_CORES);
	fuzz_check(h->disk_bytes_per_s > 0 && h->net_bytes_per_s > 0);
	fuzz_check(isfinite(h->latency_s) && h->latency_s >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	platform p;
	err e = { ST_OK, "" };
	char *text = malloc(size + 1);
	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	text[size] = '\0';
	const status rc = platform_parse(&p, text, "fuzz", &e);
	free(text);
	fuzz_check(rc == e.code && (rc == ST_OK) == !e.text[0] && fuzz_clean(e.text));
	if (rc == ST_OK) {
		fuzz_check(p.hosts >= 1 && p.hosts <= SIM_MOST_HOSTS && p.switch_bytes_per_s > 0);
		int ranks = 0;
		for (int i = 0; i < p.hosts; i++) {
			check_host(&p.host[i]);
			ranks += (int)p.host[i].ranks;
		}
		fuzz_check(p.ranks == ranks && ranks <= SIM_MOST_HOSTS);
		for (size_t i = 0; i < p.changes; i++)
			fuzz_check(p.change[i].host < p.hosts && p.change[i].at_s >= 0 &&
				   isfinite(p.change[i].value));
		fuzz_check(p.rates.sort_s > 0 && p.rates.message_s > 0);
	}
	platform_free(&p);
	return 0;
}
