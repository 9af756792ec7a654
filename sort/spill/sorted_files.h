/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sorted sequences in files: runs on disk, and sorted input files. */
#ifndef HETSORT_SPILL_SORTED_FILES_H
#define HETSORT_SPILL_SORTED_FILES_H

#include "io/input.h"
#include "sorted.h"
#include "spill.h"

/* Runs on disk. Samples of each run are in memory: the rank sends them as samples of its keys, and
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
 * records is a run. Any number of threads read them at any place; nothing writes them. Only some
 * are open at a time, so there may be more of them than a process can open. ranks: the ranks of
 * this process, which all read the files. Close it after a failure too. */
status sorted_files_open(sorted **out, mem *m, const input *in, const layout *l, size_t ranks,
			 direct_io direct, io_backend *io, err *e);
void sorted_files_close(sorted *s);

/* sorted_files_cut - find the place in each file, cut[0 .. files), after the first `before` records
 * of all files in the order of --merge: by key, then file, then place. The cuts are exact, found by
 * bisection that reads only a few records of each file. whole_keys: move the cuts after all records
 * that have the key of the last one. ST_REFUSED: a record at a cut belongs before its predecessor.
 */
status sorted_files_cut(sorted *s, uint64_t before, bool whole_keys, uint64_t *cut, err *e);

/* sorted_files_crossed - report a file in which the cuts of two ranks are in the wrong order.
 * ST_REFUSED with the first record that belongs before its predecessor, which is searched for;
 * ST_IO if the file has no such record, because then it has changed. */
status sorted_files_crossed(sorted *s, size_t file, err *e);

#endif
