/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs with %r in their names, and the manifests that tell how many of them belong together. */
#ifndef HETSORT_IO_PARTS_H
#define HETSORT_IO_PARTS_H

#include "base/settings.h"

/* parts_find - *all: the manifests name another number of parts than there are ranks, so all parts
 * are the input of all ranks. Refuses (ST_REFUSED) parts that no rank would read. */
status parts_find(const settings *o, int ranks, bool *all, err *e);

/* parts_check_own - has the rank's part, of so many bytes, the size that the manifest beside it
 * states? Nothing to say where there is none. *header: the bytes that are to precede the records of
 * an input; becomes what this part has of them. */
status parts_check_own(const char *pattern, int rank, const layout *l, uint64_t bytes,
		       uint64_t *header, err *e);

#endif
