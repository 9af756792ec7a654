/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The manifest of an output of several files. */
#ifndef HETSORT_PHASES_MANIFEST_H
#define HETSORT_PHASES_MANIFEST_H

#include "values.h"

/* manifest_write - on rank 0, after all parts stand under their final names: names, and counts,
 * first and last key and checksum of each as phase_verify has seen them. A complete output has one,
 * and no other has. */
status manifest_write(rank_env *env, output *out, uint64_t total, const verified *v);

#endif
