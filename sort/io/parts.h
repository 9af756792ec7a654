/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inputs with %r in their names, and the manifests that tell how many of them belong together. */
#ifndef HETSORT_IO_PARTS_H
#define HETSORT_IO_PARTS_H

#include "base/settings.h"
#include "manifest.h"

/* parts_find - *all: the manifests name another number of parts than there are ranks, so all parts
 * are the input of all ranks. Refuses (ST_REFUSED) parts that no rank would read. */
status parts_find(const settings *o, int ranks, bool *all, err *e);

/* parts_load - the manifest of parts with such names. *name, to be freed, is that of the manifest,
 * "" where there is none. To be freed on failure too. */
status parts_load(manifest *m, const char *pattern, char **name, err *e);

#endif
