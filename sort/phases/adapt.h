/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The speeds, disks and links that ranks show while they read, and the shares of writing that
 * follow. */
#ifndef HETSORT_PHASES_ADAPT_H
#define HETSORT_PHASES_ADAPT_H

#include "job.h"

/* Parts of a rank's work: all of it, its last half, and its last quarter. */
enum { SIGHT_PARTS = 3 };

/* The observations of a rank while it read. */
typedef struct sighting {
	double expected_s;          /* for the work of its processors, by the planned rates */
	double busy_s[SIGHT_PARTS]; /* that its processors had or wanted for the parts of this work;
				     * 0: unknown */
	double input_s;     /* per byte of the input's disk; 0: the disk was not the limit */
	uint64_t same_disk; /* 1: the output goes to that disk, too */
	uint64_t held;      /* records, most of which it has to send */
} sighting;

/* The gain of new shares. */
typedef struct prospect {
	double gain;    /* the saved part of the remaining time, 0 to 1 */
	double saved_s; /* the saved seconds */
	bool worth;     /* both are at least what the settings require */
} prospect;

/* adapt_plan - compute how many records each rank should write, so that all end together, with the
 * rates that they show now.
 * b        the ranks, with the planned rates; in_fixed must be set.
 * seen     [p] the sightings.
 * written  [p] planned shares.
 * now      [p] receives the present rates; link_s must be filled in before.
 * slower   [p] receives the factors by which the work of processors takes longer than planned,
 *          compared with the other ranks. 1: as planned, or unknown.
 * share    [p] receives the new shares. */
status adapt_plan(const bound_ranks *b, const sighting *seen, const uint64_t *written, rates *now,
		  double *slower, uint64_t *share, prospect *out, err *e);

#endif
