/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The cuts of a rank. */
#ifndef HETSORT_PHASES_SPLIT_H
#define HETSORT_PHASES_SPLIT_H

#include "job.h"

/* cuts_count - return how many records of this rank each rank gets, to be freed, or NULL. */
uint64_t *cuts_count(job *j);

#endif
