/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How fast ranks are now, by what they have just done, and what that would change. Pure. */
#ifndef HETSORT_PHASES_ADAPT_H
#define HETSORT_PHASES_ADAPT_H

#include "base/mem.h"
#include "model/job_time.h"
#include "base/settings.h"

/* Of a rank's work: all of it, its last half, and its last quarter. */
enum { SIGHT_PARTS = 3 };

/* What a rank has done: its work in seconds of a rank of speed 1, and the seconds that each of the
 * parts took; 0: not known of this part. And the records it holds, most of which it has to send. */
typedef struct sighting {
	double work_s, took_s[SIGHT_PARTS];
	uint64_t held;
} sighting;

/* What the speeds are worth. */
typedef struct prospect {
	double gain;    /* of the time that is left, 0 to 1 */
	double saved_s; /* in seconds */
	bool worth;     /* more than the rule asks for */
} prospect;

/* adapt_plan - what p ranks should write now, by the planner library, so that all end together: a
 * rank that turned slow also has to send what it holds, and writes the less for it.
 * o        strategy, record size and the rule count.
 * planned  speeds, and written: the shares by the plan so far, p entries each.
 * rate     p entries, of which links and disks count.
 * now      receives the present speeds, share the shares that they call for. Both are the planned
 *          ones where no rank shows a speed. */
status adapt_plan(mem *m, const settings *o, const sighting *s, const double *planned,
		  const rates *rate, const uint64_t *written, size_t p, double *now,
		  uint64_t *share, prospect *out, err *e);

#endif
