/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of keys for the check of sorted records: each field is read as the number that it is.
 * It shares no code with kernel/key.h, which the sort uses, so that a fault there shows here. Pure.
 */
#ifndef HETSORT_CHECK_ORDER_H
#define HETSORT_CHECK_ORDER_H

#include "base/layout.h"

#include <stddef.h>

/* order_compare - return a number below 0, 0 or above 0 if a sorts before, equal to or after b. */
int order_compare(const layout *l, const unsigned char *a, const unsigned char *b)
	__attribute__((pure));

/* order_wrong - is this result of order_compare wrong for a record and the next one? unique: equal
 * keys are wrong. */
static inline bool order_wrong(int order, bool unique)
{
	return unique ? order >= 0 : order > 0;
}

typedef struct order_seen {
	size_t wrong; /* the first record that is wrong after the one before it; n: none */
	size_t equal; /* records with the key of the one before */
} order_seen;

/* order_look - look at n consecutive records. */
order_seen order_look(const layout *l, const unsigned char *recs, size_t n, bool unique);

#endif
