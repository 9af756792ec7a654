/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the key lies in a record, and how it orders: as one piece of bytes, or as fields, each of
 * bytes or a number, ascending or descending. kernel/key.h compares keys by it. */
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

/* How a number is read, so that it compares as one without a sign: 8 bytes of the record, shifted
 * so that the number is on top; then bits are flipped. */
typedef struct key_lead {
	uint64_t flip;     /* these bits always, */
	uint64_t negative; /* and these where the topmost is set */
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

/* layout_add_field - OFF,LEN[,TYPE][,desc] as one field more; LEN may be missing where TYPE is a
 * number. NULL, or what is wrong with the text or the number of fields. */
const char *layout_add_field(layout *l, const char *text);

/* layout_settle - after the last field: checks sizes, turns directions round where `reverse`, and
 * brings fields into the form that is the same for all ways to write it. Without fields, key_off
 * and key_bytes are what is checked. */
status layout_settle(layout *l, bool reverse, err *e);

/* layout_parse - a settled layout from the texts of its fields, separated by a space. */
status layout_parse(layout *l, uint32_t record_bytes, const char *key, err *e);

/* layout_key_text - the key as layout_parse takes it. */
const char *layout_key_text(const layout *l, char text[KEY_TEXT_BYTES]);

/* layout_fields_text - the same; NULL without fields, where key_off and key_bytes say all. */
const char *layout_fields_text(const layout *l, char text[KEY_TEXT_BYTES]);

/* layout_restore - a settled layout from what a file states of it, and layout_fields_text. False:
 * it is impossible. */
bool layout_restore(layout *l, int64_t record_bytes, int64_t key_off, int64_t key_bytes,
		    const char *fields);

/* layout_equal - do both order alike? */
bool layout_equal(const layout *a, const layout *b);

#endif
