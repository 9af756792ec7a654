/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of the phases for reports and messages, and their spans. */
#include "rank_result.h"

const char *phase_name(phase p)
{
	static const char *const name[PHASES] = { "describe", "plan",  "read",     "sort",
						  "sample",   "split", "exchange", "merge",
						  "write",    "sync",  "commit" };
	return (unsigned)p < PHASES ? name[p] : "unknown"; /* it may come from another rank */
}

const char *phase_doing(phase p)
{
	static const char *const doing[PHASES] = { "opening",  "planning",  "reading",    "sorting",
						   "sampling", "splitting", "exchanging", "merging",
						   "writing",  "syncing",   "finishing" };
	return (unsigned)p < PHASES ? doing[p] : "working";
}

void result_span(rank_result *r, const phase_span *step)
{
	phase_span *last = r->spans > 0 ? &r->span[r->spans - 1] : NULL;
	if (last && last->phase == step->phase) {
		last->end_s = step->end_s;
		last->wait_s += step->wait_s;
	} else if (r->spans < SPANS) {
		r->span[r->spans++] = *step;
	}
}
