/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted sequences in files: runs on disk, and sorted input files. */
#ifndef HETSORT_SPILL_SORTED_FILES_H
#define HETSORT_SPILL_SORTED_FILES_H

#include "io/input.h"
#include "io/reader.h"
#include "sorted.h"
#include "spill.h"

/* Runs on disk. Samples of each run are in memory. The rank sends these samples to find splitters.
 * They also narrow the search for a place to one stride of a run. */
typedef struct sorted_disk {
	sorted s;
	spill *spill;      /* closed with it */
	uint64_t *start;   /* of s */
	spill_name *names; /* of the files of runs; NULL: these have no names */
	size_t kept;       /* runs that an earlier job left, and their records */
	uint64_t kept_recs;
	/* items of every stride-th record of a run, with the place as position: the samples of run
	 * k are sample[sample_at[k] .. sample_at[k + 1]) */
	unsigned char *sample;
	size_t *sample_at; /* [count + 1] */
	size_t stride;
	unsigned char *raw;
	spill_view view; /* in raw: the block that was read last */
} sorted_disk;

/* sorted_disk_open - allocate the memory to look up records in s->spill. Keep s->s.count. */
status sorted_disk_open(sorted_disk *s, mem *m, const layout *l, uint32_t rank, err *e);
void sorted_disk_close(sorted_disk *s, mem *m);

/* sorted_files_open - make a sequence of the files of `in`, which outlives it: each file with
 * records is a run. Any number of threads may read the sequence; no thread writes it. Only some
 * files are open at a time, so there may be more than a process can open. All `ranks` ranks of this
 * process read the files. Of p, first and n are not used. Close *out after a failure too. */
status sorted_files_open(sorted **out, mem *m, const input *in, const reader_plan *p, size_t ranks,
			 err *e);
void sorted_files_close(sorted *s);

/* sorted_files_cut - cut the files after the first `before` records of their merge: set cut[k] to
 * the place in file k. The order is the order of --merge: by key, then file, then place. The cuts
 * are exact; a bisection finds them with a few reads of each file. With whole_keys, the cuts are
 * after all records with the last key. ST_REFUSED if a file is not sorted at its cut. */
status sorted_files_cut(sorted *s, uint64_t before, bool whole_keys, uint64_t *cut, err *e);

/* sorted_files_crossed - report a file in which the cuts of two ranks are in the wrong order.
 * Search the file for the first record that belongs before its predecessor, and return ST_REFUSED.
 * Return ST_IO if the file has no such record, because it must have changed. */
status sorted_files_crossed(sorted *s, size_t file, err *e);

#endif
