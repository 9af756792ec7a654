/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted sequences that lie in files: runs on disk, and inputs that are sorted already. */
#ifndef HETSORT_SPILL_SORTED_FILES_H
#define HETSORT_SPILL_SORTED_FILES_H

#include "io/input.h"
#include "sorted.h"
#include "spill.h"

/* Runs on disk. Samples of each run are in memory: they are what a rank sends of its keys, and
 * narrow the search for a place to one stride of a run. */
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
} sorted_disk;

/* sorted_disk_open - allocate what looking up records takes, once s->spill is open; s->s counts
 * runs from there on. */
status sorted_disk_open(sorted_disk *s, mem *m, const layout *l, uint32_t rank,
			const uint64_t *start, err *e);
void sorted_disk_close(sorted_disk *s, mem *m);

/* sorted_files_open - make a sequence of the files of `in`, which outlives it, that have records:
 * each is a run. They are read where they lie, at any place by any number of threads, and never
 * written to. Only some are open at a time: there may be more of them than a process can have open.
 * ranks: of this process, all of which read the files. To be closed on failure too. */
status sorted_files_open(sorted **out, mem *m, const input *in, const layout *l, size_t ranks,
			 direct_io direct, io_backend *io, err *e);
void sorted_files_close(sorted *s);

/* sorted_files_cut - find the place in each file, cut[0 .. files), after the first `before` records
 * of all, in the order of --merge: by key, then file, then place. Exact by bisection over the files
 * as they lie, without reading more than some records of each. whole_keys: after all records with
 * the key of the last of them as well. ST_REFUSED: a record at a cut belongs before the one before
 * it. */
status sorted_files_cut(sorted *s, uint64_t before, bool whole_keys, uint64_t *cut, err *e);

/* sorted_files_crossed - report on a file where a cut lies before the one of a rank before:
 * ST_REFUSED with its first record that belongs before the one before it, which is looked for;
 * ST_IO, where there is none, as the file has changed. */
status sorted_files_crossed(sorted *s, size_t file, err *e);

#endif
