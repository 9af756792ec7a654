/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorted sequence of runs on disk. Samples of each run are in memory: they are what a rank
 * sends of its keys, and narrow the search for a place to one stride of a run. */
#ifndef HETSORT_SPILL_SORTED_DISK_H
#define HETSORT_SPILL_SORTED_DISK_H

#include "sorted.h"
#include "spill.h"

typedef struct sorted_disk {
	sorted s;
	spill *spill; /* closed with it */
	/* an item for each stride-th record of a run, with its place for a position; those of run k
	 * are sample[sample_at[k] .. sample_at[k + 1]) */
	unsigned char *sample;
	size_t *sample_at; /* [count + 1] */
	size_t stride;
	unsigned char *raw;
	spill_view view; /* in raw: the block that was looked at last */
	item *it;
} sorted_disk;

/* sorted_disk_open - what looking up records takes, once s->spill is open; s->s counts runs from
 * there on. */
status sorted_disk_open(sorted_disk *s, mem *m, const layout *l, uint32_t rank,
			const uint64_t *start, err *e);
void sorted_disk_close(sorted_disk *s, mem *m);

#endif
