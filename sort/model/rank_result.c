/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of the phases, as reports and messages have them, and when they were. */
#include "rank_result.h"

const char *phase_name(phase p)
{
	static const char *const name[PHASES] = { "describe", "plan",  "read",     "sort",
						  "sample",   "split", "exchange", "merge",
						  "write",    "sync",  "commit" };
	return (unsigned)p < PHASES ? name[p] : "unknown"; /* another rank may have said it */
}

const char *phase_doing(phase p)
{
	static const char *const doing[PHASES] = { "opening",  "planning",  "reading",    "sorting",
						   "sampling", "splitting", "exchanging", "merging",
						   "writing",  "syncing",   "finishing" };
	return (unsigned)p < PHASES ? doing[p] : "working";
}

void result_span(rank_result *r, phase p, double begin_s, double end_s)
{
	if (r->spans > 0 && r->span[r->spans - 1].phase == (int32_t)p)
		r->span[r->spans - 1].end_s = end_s;
	else if (r->spans < SPANS)
		r->span[r->spans++] = (phase_span){ (int32_t)p, begin_s, end_s };
}
