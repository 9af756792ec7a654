/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where sorted files are cut so that several ranks merge them, each its own records of all files:
 * exact by bisection over the files as they lie, without reading more than some records of each. */
#ifndef HETSORT_SPILL_SORTED_CUT_H
#define HETSORT_SPILL_SORTED_CUT_H

#include "base/mem.h"
#include "sorted_files.h"

/* sorted_cut - how many records of each file, cut[0 .. files), are among the first `before` of all,
 * in the order of --merge: by key, then file, then place. whole_keys: all records with the key of
 * the last of them as well. ST_REFUSED: a record at a cut belongs before the one before it. */
status sorted_cut(sorted_files *s, mem *m, uint64_t before, bool whole_keys, uint64_t *cut, err *e);

/* sorted_cut_crossed - of a file where a cut lies before the one of a rank before: ST_REFUSED with
 * its first record that belongs before the one before it, which is looked for; ST_IO, where there
 * is none, as the file has changed. */
status sorted_cut_crossed(sorted_files *s, mem *m, size_t file, err *e);

#endif
