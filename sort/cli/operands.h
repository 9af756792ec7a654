/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done with the operands instead of a sort. Prints to standard error. */
#ifndef HETSORT_CLI_OPERANDS_H
#define HETSORT_CLI_OPERANDS_H

#include "base/settings.h"
#include "io/manifest.h"

/* operands_clean - remove what killed jobs left next to outputs, or in workdirs; a name with %r
 * stands for one name for each of o->ranks. */
status operands_clean(const settings *o);

/* operands_check - are the parts of these manifests as stated? */
status operands_check(const settings *o);

/* manifest_check - read a manifest and all parts, which are in its directory. said is to be freed,
 * on failure too. ST_INVALID: the job that made them did not end, or is not over; a part is
 * missing, or does not have the records, checksum or keys stated, or is not in order, in itself or
 * with the one before; ST_REFUSED: no manifest of ours; ST_IO, ST_RESOURCE. Memory: 4 MiB. */
status manifest_check(const char *path, manifest *said, err *e);

#endif
