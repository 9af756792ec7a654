/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The place of the key in a record, and its order. The key is one piece of bytes, or several
 * fields. A field is bytes or a number, ascending or descending. kernel/key.h compares keys by the
 * layout. */
#ifndef HETSORT_BASE_LAYOUT_H
#define HETSORT_BASE_LAYOUT_H

#include "status.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	DEFAULT_RECORD_BYTES = 100,
	DEFAULT_KEY_BYTES = 10,
	MAX_RECORD_BYTES = 65536,
	KEY_FIELDS_MAX = 16,
	KEY_FIELDS_BYTES_MAX = 256, /* of all fields together */
	KEY_NUMBER_BYTES_MAX = 8,
	KEY_TEXT_BYTES = KEY_FIELDS_MAX * 24, /* of layout_key_text */
};

typedef enum key_type {
	KEY_TYPE_BYTES,
	KEY_TYPE_UNSIGNED,
	KEY_TYPE_SIGNED,
	KEY_TYPE_FLOAT
} key_type;

/* Members have no gaps between them: ranks compare a hash of the whole layout. */
typedef struct key_field {
	uint32_t off;
	uint32_t bytes;
	uint8_t type; /* a key_type */
	uint8_t little;
	uint8_t desc;
	uint8_t unused; /* 0 */
} key_field;

/* How a number is read, so that it compares as an unsigned number. A shift brings the
 * number to the top of 8 bytes of the record; then bits are flipped. */
typedef struct key_lead {
	uint64_t flip;     /* always these bits, */
	uint64_t negative; /* and these if the topmost is set */
	uint32_t at;
	uint8_t down, up;
	uint8_t little;
	uint8_t bytes; /* 0: no number */
} key_lead;

typedef struct layout {
	uint32_t record_bytes;
	uint32_t key_off;   /* of the first field */
	uint32_t key_bytes; /* of all fields together */
	uint32_t fields;    /* 0: the key is these bytes, ascending */
	key_field field[KEY_FIELDS_MAX];
	key_lead number[KEY_FIELDS_MAX]; /* fields that are numbers, if a record has 8 bytes */
} layout;

/* A key of one piece of ascending bytes. */
#define LAYOUT_BYTES(record, off, key)                                         \
	{                                                                      \
		.record_bytes = (record), .key_off = (off), .key_bytes = (key) \
	}

/* layout_add_field - add a field OFF,LEN[,TYPE][,desc]; LEN may be missing if TYPE is a number.
 * Return NULL, or the fault of the text or the number of fields. */
const char *layout_add_field(layout *l, const char *text);

/* layout_settle - check sizes, reverse the directions if `reverse`, and bring fields into a form
 * that is the same for all ways to write them. Call it after the last field. Without fields, check
 * key_off and key_bytes. */
status layout_settle(layout *l, bool reverse, err *e);

/* layout_parse - make a settled layout from the texts of its fields, separated by a space. */
status layout_parse(layout *l, uint32_t record_bytes, const char *key, err *e);

/* layout_key_text - write the key in the form of layout_parse. */
const char *layout_key_text(const layout *l, char text[KEY_TEXT_BYTES]);

/* layout_fields_text - the same; NULL without fields, when key_off and key_bytes are the key. */
const char *layout_fields_text(const layout *l, char text[KEY_TEXT_BYTES]);

/* layout_restore - make a settled layout from numbers and the layout_fields_text of a file. Return
 * false if it is impossible. */
bool layout_restore(layout *l, int64_t record_bytes, int64_t key_off, int64_t key_bytes,
		    const char *fields);

/* layout_equal - return whether both define the same order. */
bool layout_equal(const layout *a, const layout *b);

#endif
