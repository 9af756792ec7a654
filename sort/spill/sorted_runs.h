/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs that are sorted already, as the runs of a merge: nothing is sorted, and nothing written.
 * Only samples are read here. Their merge looks at the order of all records, and takes their
 * checksum, when it has them (merge_slice.h). */
#ifndef HETSORT_SPILL_SORTED_RUNS_H
#define HETSORT_SPILL_SORTED_RUNS_H

#include "read_runs.h"

/* sorted_runs_open - of an input with records; p->threads read samples, one for each `stride`
 * records. out is to be freed on failure too. ST_REFUSED: the samples of a file are not in order;
 * the message names the record that is not. */
status sorted_runs_open(const input *in, const read_runs_plan *p, size_t stride, mem *m,
			read_runs *out, err *e);

#endif
