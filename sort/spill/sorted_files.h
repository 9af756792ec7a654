/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorted sequence of inputs that are sorted already: they are read where they lie, at any place
 * by any number of threads, and never written to. Only some are open at a time: there may be more
 * of them than a process can have open. */
#ifndef HETSORT_SPILL_SORTED_FILES_H
#define HETSORT_SPILL_SORTED_FILES_H

#include "io/input.h"
#include "io/io_fd.h"
#include "sorted.h"

/* sorted_files_open - the files of `in`, which outlives it, that have records: each is a run.
 * ranks: of this process, all of which read the files. To be closed on failure too. */
status sorted_files_open(sorted **out, mem *m, const input *in, const layout *l, size_t ranks,
			 direct_io direct, io_backend *io, err *e);
void sorted_files_close(sorted *s);

/* sorted_files_cut - the place in each file, cut[0 .. files), behind the first `before` records of
 * all, in the order of --merge: by key, then file, then place. Exact by bisection over the files as
 * they lie, without reading more than some records of each. whole_keys: behind all records with the
 * key of the last of them as well. ST_REFUSED: a record at a cut belongs before the one before it.
 */
status sorted_files_cut(sorted *s, uint64_t before, bool whole_keys, uint64_t *cut, err *e);

/* sorted_files_crossed - of a file where a cut lies before the one of a rank before: ST_REFUSED
 * with its first record that belongs before the one before it, which is looked for; ST_IO, where
 * there is none, as the file has changed. */
status sorted_files_crossed(sorted *s, size_t file, err *e);

#endif
