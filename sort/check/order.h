/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How keys order, for whom judges what was sorted: each field is read as the number that it is.
 * Shares nothing with kernel/key.h, which the sort goes by: what is wrong there shows here. Pure.
 */
#ifndef HETSORT_CHECK_ORDER_H
#define HETSORT_CHECK_ORDER_H

#include "base/layout.h"

#include <stddef.h>

/* order_compare - below 0, 0 or above 0, as record a belongs before, with or behind b. */
int order_compare(const layout *l, const unsigned char *a, const unsigned char *b)
	__attribute__((pure));

/* order_wrong - may a record that compares so to the one behind it not stand before it? unique: no
 * two have one key. */
static inline bool order_wrong(int order, bool unique)
{
	return unique ? order >= 0 : order > 0;
}

/* What is seen of records that follow each other. */
typedef struct order_seen {
	size_t wrong; /* the first that may not follow the one before it; if there is none, so many
			 as were looked at */
	size_t equal; /* so many have the key of the one before */
} order_seen;

/* order_look - at n records; the first of them has none before it. */
order_seen order_look(const layout *l, const unsigned char *recs, size_t n, bool unique);

#endif
