/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sorter's layout of a random key. It is not in key_oracle.h, which shares no code with the
 * sorter. The includer has included cmocka.h. */
#ifndef HETSORT_KERNEL_TESTS_KEY_LAYOUT_H
#define HETSORT_KERNEL_TESTS_KEY_LAYOUT_H

#include "base/layout.h"
#include "key_oracle.h"

/* Make a layout from the fields of the oracle. */
static inline layout oracle_layout(const oracle *o, uint64_t *s)
{
	layout l = { .record_bytes = o->record_bytes };
	err e = { ST_OK, "" };
	for (unsigned i = 0; i < o->fields; i++) {
		char text[ORACLE_TEXT_BYTES];
		oracle_field_text(&o->field[i], oracle_below(s, 2), text);
		assert_null(layout_add_field(&l, text));
	}
	assert_int_equal(layout_settle(&l, o->reverse, &e), ST_OK);
	return l;
}

#endif
