/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The present speeds of the ranks, from what they have just done, and the shares that follow.
 * Pure. */
#ifndef HETSORT_PHASES_ADAPT_H
#define HETSORT_PHASES_ADAPT_H

#include "base/mem.h"
#include "model/job_time.h"
#include "base/settings.h"

/* Parts of a rank's work: all of it, its last half, and its last quarter. */
enum { SIGHT_PARTS = 3 };

/* The past work of a rank, in seconds of a rank of speed 1, and the seconds that each of its parts
 * took; 0 if unknown. held: the records of the rank, most of which it has to send. */
typedef struct sighting {
	double work_s, took_s[SIGHT_PARTS];
	uint64_t held;
} sighting;

/* The gain of new shares. */
typedef struct prospect {
	double gain;    /* of the time that is left, 0 to 1 */
	double saved_s; /* in seconds */
	bool worth;     /* as large as the rule requires */
} prospect;

/* adapt_plan - find by the planner library what p ranks should write now, so that all end together.
 * A rank that turned slow also has to send the records that it holds, so it writes even less.
 * o        strategy, record size and the rule count.
 * planned  p planned speeds. written: p planned shares.
 * rate     p entries, of which links and disks count.
 * now      receives the present speeds. share: receives the shares that follow from them. Both
 *          are the planned ones if no rank shows a speed. */
status adapt_plan(mem *m, const settings *o, const sighting *s, const double *planned,
		  const rates *rate, const uint64_t *written, size_t p, double *now,
		  uint64_t *share, prospect *out, err *e);

#endif
