/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted sequences in files: runs on disk, and sorted input files. */
#ifndef HETSORT_SPILL_SORTED_FILES_H
#define HETSORT_SPILL_SORTED_FILES_H

#include "io/input.h"
#include "io/reader.h"
#include "sorted.h"
#include "spill.h"

/* Runs on disk. Samples of each run are in memory. The rank sends them as samples of its keys, and
 * they narrow the search for a place to one stride of a run. */
typedef struct sorted_disk {
	sorted s;
	spill *spill; /* closed with it */
	/* items of every stride-th record of a run, with the place as position: the samples of run
	 * k are sample[sample_at[k] .. sample_at[k + 1]) */
	unsigned char *sample;
	size_t *sample_at; /* [count + 1] */
	size_t stride;
	unsigned char *raw;
	spill_view view; /* in raw: the block that was read last */
} sorted_disk;

/* sorted_disk_open - allocate the memory to look up records, after s->spill is open. s->s has no
 * runs yet. */
status sorted_disk_open(sorted_disk *s, mem *m, const layout *l, uint32_t rank,
			const uint64_t *start, err *e);
void sorted_disk_close(sorted_disk *s, mem *m);

/* sorted_files_open - make a sequence of the files of `in`, which outlives it: each file with
 * records is a run. Any number of threads read them at any place; none writes them. Only some are
 * open at a time, so there may be more of them than a process can open. All `ranks` ranks of this
 * process read the files. p has the layout and the way to read; first and n are not used. Close it
 * after a failure too. */
status sorted_files_open(sorted **out, mem *m, const input *in, const reader_plan *p, size_t ranks,
			 err *e);
void sorted_files_close(sorted *s);

/* sorted_files_cut - find the place in each file, cut[0 .. files), after the first `before` records
 * of all files. The order is the order of --merge: by key, then file, then place. The cuts are
 * exact, and found by a bisection that reads only a few records of each file. With whole_keys, they
 * are moved after all records that have the key of the last one. ST_REFUSED if a record at a cut
 * belongs before its predecessor. */
status sorted_files_cut(sorted *s, uint64_t before, bool whole_keys, uint64_t *cut, err *e);

/* sorted_files_crossed - report a file in which the cuts of two ranks are in the wrong order.
 * Search it for the first record that belongs before its predecessor, and return ST_REFUSED. Return
 * ST_IO if the file has no such record, because then it has changed. */
status sorted_files_crossed(sorted *s, size_t file, err *e);

#endif
