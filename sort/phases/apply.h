/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --apply: the places of records in the output. All functions do nothing without --apply. */
#ifndef HETSORT_PHASES_APPLY_H
#define HETSORT_PHASES_APPLY_H

#include "job.h"

/* apply_describe - look at the order. apply_count - after the records have been counted, compare
 * their number with the order. */
job_step apply_describe, apply_count;

/* apply_read - instead of reading records, make the sequence j->data of the records in this order
 * where they are. Only if j->apply.gathers. */
job_step apply_read;

/* apply_plan - plan the threads and memory of apply_read and of writing. */
void apply_plan(const job *j, sort_plan *b);

/* apply_bytes - return the memory for the places of the records that this rank reads. */
uint64_t apply_bytes(const job *j);

void apply_close(job *j);

#endif
