/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of a rank: how it is opened and inspected. */
#ifndef HETSORT_PHASES_OPEN_OUTPUT_H
#define HETSORT_PHASES_OPEN_OUTPUT_H

#include "job.h"

/* output_most - return how many records this rank may write: --top less the records of earlier
 * ranks. With --unique their number is not known yet, so each rank may write --top records. */
uint64_t output_most(const job *j);

/* output_order - return the order that the records of a part must have. */
inspect_order output_order(const settings *o);

/* output_part_open - prepare j->part for inspecting records. */
status output_part_open(job *j, err *e);

/* output_open - collective: create the output; *to receives where this rank writes. Close it after
 * a failure too. */
status output_open(job *j, io_fd *to);
void output_close(const io_fd *to);

#endif
