/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that are sorted already, as runs on disk: they are read where they lie, at any place by
 * any number of threads, and never written to. Only some are open at a time: there may be more of
 * them than a process can have open. */
#ifndef HETSORT_SPILL_SORTED_FILES_H
#define HETSORT_SPILL_SORTED_FILES_H

#include "base/mem.h"
#include "io/input.h"
#include "io/io_fd.h"

typedef struct sorted_files sorted_files;

/* sorted_files_open - the files of `in`, which outlives it, that have records: each is a run.
 * ranks: of this process, all of which read the files. */
status sorted_files_open(sorted_files **out, mem *m, const input *in, const layout *l, size_t ranks,
			 direct_io direct, io_backend *io, err *e);

size_t sorted_files_count(const sorted_files *s);
uint64_t sorted_files_recs(const sorted_files *s, size_t run);
const layout *sorted_files_layout(const sorted_files *s);

/* sorted_files_read - bytes of the run's records, from `offset` of them on. */
status sorted_files_read(sorted_files *s, size_t run, void *buf, size_t bytes, uint64_t offset,
			 err *e);

/* sorted_files_note_read - n records of the run were read, and have this checksum. */
void sorted_files_note_read(const sorted_files *s, size_t run, size_t n, checksum sum);

/* sorted_files_disorder - the sentence for a record that belongs before the one before it:
 * ST_REFUSED. */
status sorted_files_disorder(const sorted_files *s, size_t run, uint64_t rec, err *e);

/* sorted_files_changed - the sentence for a run that is not what it was: ST_IO. */
status sorted_files_changed(const sorted_files *s, size_t run, err *e);

/* sorted_files_check - has any of the files changed since it was described? (ST_IO) */
status sorted_files_check(sorted_files *s, err *e);

void sorted_files_close(sorted_files *s);

#endif
