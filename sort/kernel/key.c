/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys that are shorter than a prefix: apart from the loops over the usual ones, which they would
 * slow down if the compiler inlined them. Pure. */
#include "key.h"

key_prefix key_prefix_of_short(const layout *l, const unsigned char *rec)
{
	unsigned char filled[KEY_PREFIX_BYTES] = { 0 };
	memcpy(filled, key_at(l, rec), l->key_bytes);
	return key_prefix_read(filled);
}
