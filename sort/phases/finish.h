/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The written records of a rank, for phases that read or move them again. */
#ifndef HETSORT_PHASES_FINISH_H
#define HETSORT_PHASES_FINISH_H

#include "job.h"

/* output_read_again - inspect the first `recs` records of this rank's part in the open output file.
 * direct: when to bypass the page cache. ST_INVALID, without a message, if out of order. */
status output_read_again(job *j, uint64_t recs, direct_io direct, err *e);

/* output_move - move bytes of this rank's records from one offset of the output to another, towards
 * the front. */
status output_move(job *j, uint64_t from, uint64_t to, uint64_t bytes);

/* part_summary_at - return the summary of a rank from the summaries of all; *first_key receives the
 * address of its two keys. */
part_summary part_summary_at(const unsigned char *all, int rank, const layout *l,
			     const unsigned char **first_key);
void verified_free(mem *m, verified *v);

#endif
