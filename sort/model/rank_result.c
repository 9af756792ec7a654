/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The names of the phases, as reports and messages have them. */
#include "rank_result.h"

const char *phase_name(phase p)
{
	static const char *const name[PHASES] = { "describe", "plan",  "read",     "sort",
						  "sample",   "split", "exchange", "merge",
						  "write",    "sync",  "commit" };
	return (unsigned)p < PHASES ? name[p] : "unknown"; /* another rank may have said it */
}
