/* SPDX-License-Identifier: GPL-3.0-or-later */
/* File names with the rank in them: %r, %3r with leading zeros, %% for a percent sign. */
#ifndef HETSORT_IO_NAME_H
#define HETSORT_IO_NAME_H

#include "base/status.h"

/* name_is_per_rank - does the pattern hold a %r? */
bool name_is_per_rank(const char *pattern);

/* name_expand - the pattern with `rank` (a number, or any text: then without zeros) for each %r, a
 * fresh string; NULL with e filled where % is followed by anything else, or without memory. */
char *name_expand(const char *pattern, int rank, err *e);
char *name_expand_text(const char *pattern, const char *text, err *e);

#endif
