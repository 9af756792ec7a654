/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Do the names of the input lead all ranks to the same files, and to those that manifests state? */
#ifndef HETSORT_PHASES_SAME_INPUT_H
#define HETSORT_PHASES_SAME_INPUT_H

#include "comm/rank_env.h"
#include "io/input.h"

/* same_input - collective, for files that all ranks read: refuses (ST_PEER) on ranks that see other
 * files than rank 0. sample: not all ranks are on one host, so contents are compared as well. */
status same_input(rank_env *env, const input *in, bool sample);

/* same_as_stated - collective, when all is read: refuses (ST_IO) a file whose records, as the ranks
 * have read them, do not have the checksum that its manifest states. Files that were not read to
 * the end are not judged. What was read is forgotten. */
status same_as_stated(rank_env *env, const input *in);

#endif
