/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ways to process operands without sorting. Prints to standard error. */
#ifndef HETSORT_CLI_OPERANDS_H
#define HETSORT_CLI_OPERANDS_H

#include "comm/comm.h"
#include "io/manifest.h"

/* operands_clean - remove what killed jobs left next to outputs, or in workdirs; a name with %r
 * stands for one name for each of o->ranks. */
status operands_clean(const settings *o);

/* operands_check - are the parts of these manifests as stated? */
status operands_check(const settings *o);

/* manifest_check - read a manifest and all its parts, which are in its directory. The caller frees
 * said, on failure too. ST_INVALID: the job that made them failed or still runs; a part is missing,
 * does not have the records, checksum or keys stated, or is not in order, in itself or after the
 * part before. ST_REFUSED: not a manifest of hetsort. ST_IO, ST_RESOURCE. Memory: 4 MiB. */
status manifest_check(const char *path, manifest *said, err *e);

/* order_check - collective: check that the records of all inputs are in order, as one sequence.
 * Each rank looks at its part. Rank 0 prints where they are not in order, unless --check-silent was
 * asked for, and writes the report. ST_INVALID: they are not. If the comm is broken nothing is
 * printed, and the caller ends the job.
 */
status order_check(comm *c, const settings *o);

#endif
