/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of streams, so that their size is known. */
#ifndef HETSORT_PHASES_STREAM_COPY_H
#define HETSORT_PHASES_STREAM_COPY_H

#include "job.h"

/* copy_streams - copy streams to files without a name, which all ranks of the process read, and
 * count the records of the input again. A single stream of a single rank is not copied. */
job_step copy_streams;

#endif
