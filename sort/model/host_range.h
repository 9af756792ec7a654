/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of many hosts in one, as batch systems write them: node[1-48], rack[1-2,7]n[01-24]. Numbers
 * with zeros before them are that wide. */
#ifndef HETSORT_MODEL_HOST_RANGE_H
#define HETSORT_MODEL_HOST_RANGE_H

#include <stdbool.h>
#include <stddef.h>

/* host_range_is_sound - of len bytes: do the brackets hold numbers, or pairs of them in order? */
bool host_range_is_sound(const char *range, size_t len);

/* host_range_has - is the host one of a range that is sound? Without brackets: the only one. */
bool host_range_has(const char *range, size_t len, const char *host);

#endif
