/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The report of reading. */
#ifndef HETSORT_PHASES_READ_H
#define HETSORT_PHASES_READ_H

#include "job.h"

/* read_note - report that this rank has read `in` records. */
void read_note(job *j, uint64_t in);

#endif
