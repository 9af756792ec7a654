/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files that operands stand for, where no rank has one of its own. */
#ifndef HETSORT_CHECK_PARTS_H
#define HETSORT_CHECK_PARTS_H

#include "base/settings.h"

typedef struct parts_list {
	char **name;
	size_t count;
} parts_list;

/* check_parts - operands in their order; a name with %r becomes the manifest of such parts, or,
 * where there is none, the part of 0 and as many more as are there. To be freed on failure too. */
status check_parts(parts_list *l, const settings *o, err *e);
/* check_parts_layout - that of the first manifest among them, if there is one. */
status check_parts_layout(const parts_list *l, layout *lay, err *e);

void check_parts_free(parts_list *l);

#endif
