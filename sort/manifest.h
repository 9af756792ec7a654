/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifest of an output of several files. */
#ifndef HETSORT_MANIFEST_H
#define HETSORT_MANIFEST_H

#include "job.h"

/* manifest_write - collective, after all parts stand under their final names: rank 0 writes names,
 * counts, first and last key and checksum of each. A complete output has one, and no other has. */
status manifest_write(job *j);

#endif
