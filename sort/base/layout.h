/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of a record: where its key is, and how keys are ordered. The key is one range of
 * bytes, or several fields. A field is bytes or a number, ascending or descending. kernel/key.h
 * compares keys by the layout. */
#ifndef HETSORT_BASE_LAYOUT_H
#define HETSORT_BASE_LAYOUT_H

#include "status.h"

#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
	DEFAULT_RECORD_BYTES = 100,
	DEFAULT_KEY_BYTES = 10,
	MAX_RECORD_BYTES = 65536,
	KEY_FIELDS_MAX = 16,
	KEY_FIELDS_BYTES_MAX = 256, /* of all fields together */
	KEY_NUMBER_BYTES_MAX = 8,
	KEY_TEXT_BYTES = KEY_FIELDS_MAX * 32, /* of layout_key_text */
	FOLDS_MAX = 8,
	FOLD_TEXT_BYTES = FOLDS_MAX * 24, /* of layout_fold_text */
};

typedef enum key_type {
	KEY_TYPE_BYTES,
	KEY_TYPE_UNSIGNED,
	KEY_TYPE_SIGNED,
	KEY_TYPE_FLOAT
} key_type;

/* How the values of a field are folded into one if only the first record of each key is kept. */
typedef enum fold_kind { FOLD_NONE, FOLD_COUNT, FOLD_SUM, FOLD_MIN, FOLD_MAX } fold_kind;

/* Where a field has NaN, and the least signed number, which numpy calls NaT. NAN_TOTAL: floats are
 * in the total order of IEEE 754. All others: they follow all other numbers, also in descending
 * order; all NaNs are equal, and so are -0 and +0. A complex number is two fields, a real part and,
 * directly after it in key and record, an imaginary part. Its order is numpy's: numbers without
 * NaN, then NaN only in the imaginary part, only in the real part, in both. */
typedef enum nan_rule { NAN_TOTAL, NAN_LAST, NAN_LAST_REAL, NAN_LAST_IMAG } nan_rule;

/* A field of a key, or one that is folded. The struct has no padding, because ranks compare a hash
 * of the whole layout. */
typedef struct key_field {
	uint32_t off;
	uint32_t bytes;
	uint8_t type; /* a key_type */
	uint8_t little;
	uint8_t desc;
	union {
		uint8_t nan;  /* a nan_rule, of a key */
		uint8_t fold; /* a fold_kind, of a folded field */
	};
} key_field;

/* How to read a number so that numbers can be compared as unsigned integers. Read 8 bytes of the
 * record as an integer, shift the number to the top, flip bits, and subtract `turn`, which makes
 * the numbers below it, NaN or NaT, the largest ones. Until then, different numbers stay different.
 */
typedef struct key_lead {
	uint64_t flip;     /* flip these bits always */
	uint64_t negative; /* flip these too if the topmost bit is set */
	uint64_t turn;
	uint16_t at;
	uint8_t down, up; /* shift right, then left */
	uint8_t little;
	uint8_t bytes;  /* 0: no number */
	uint8_t merge;  /* all NaNs become equal, and -0 and +0 */
	uint8_t unused; /* 0 */
} key_lead;

typedef struct layout {
	uint32_t record_bytes;
	uint32_t key_off;   /* of the first field */
	uint32_t key_bytes; /* of all fields together */
	uint32_t fields;    /* 0: the key is one range of ascending bytes */
	key_field field[KEY_FIELDS_MAX];
	/* for numbers except parts of complex ones, if records have at least 8 bytes */
	key_lead number[KEY_FIELDS_MAX];
	uint32_t folds, unused;    /* unused is 0 */
	key_field fold[FOLDS_MAX]; /* outside of the key; they do not matter for the order */
} layout;

/* field_store - write the lower bytes of v, as many as the field has, to a record. */
static inline void field_store(const key_field *f, unsigned char *rec, uint64_t v)
{
	const uint64_t v64 = f->little ? htole64(v) : htobe64(v);
	if (f->bytes == sizeof v64) { /* the usual size, without a loop */
		memcpy(rec + f->off, &v64, sizeof v64);
		return;
	}
	for (uint32_t k = 0; k < f->bytes; k++)
		rec[f->off + (f->little ? k : f->bytes - 1 - k)] = (unsigned char)(v >> 8 * k);
}

/* A layout whose key is one range of ascending bytes. */
#define LAYOUT_BYTES(record, off, key)                                         \
	{                                                                      \
		.record_bytes = (record), .key_off = (off), .key_bytes = (key) \
	}

/* layout_add_field - add a field OFF,LEN[,TYPE][,nan-last][,desc]; LEN may be missing if TYPE is a
 * number.
 * Return NULL, or the reason why the field is refused. */
const char *layout_add_field(layout *l, const char *text);

/* layout_add_fold - add a field OFF,TYPE that is folded. Return NULL, or the reason why it is
 * refused. */
const char *layout_add_fold(layout *l, fold_kind kind, const char *text);

/* layout_check_folds - after layout_settle: refuse folded fields that do not fit the record, or
 * overlap with the key or each other. */
status layout_check_folds(const layout *l, err *e);

/* layout_settle - check the sizes, reverse the order if `reverse`, and normalize the fields, so
 * that equal orders have equal layouts. Call this after the last field has been added. Without
 * fields, key_off and key_bytes are the key. */
status layout_settle(layout *l, bool reverse, err *e);

/* layout_parse - make a settled layout from the texts of its fields, separated by a space. */
status layout_parse(layout *l, uint32_t record_bytes, const char *key, err *e);

/* layout_nan_turn - return the distance of the least number that is not NaN or NaT from the least
 * number of a field, in the upper bits and the total order of either direction. */
static inline uint64_t layout_nan_turn(const key_field *f)
{
	const unsigned up = 64 - 8 * f->bytes;
	const unsigned exponent = f->bytes == 2 ? 5 : f->bytes == 4 ? 8 : 11;
	if (f->type == KEY_TYPE_SIGNED)
		return UINT64_C(1) << up;
	return ~UINT64_C(0) >> (1 + exponent) >> up << up;
}

/* layout_key_text - write the key as layout_parse reads it; return text. */
const char *layout_key_text(const layout *l, char text[KEY_TEXT_BYTES]);

/* layout_fields_text - do the same as layout_key_text, but return NULL without fields. */
const char *layout_fields_text(const layout *l, char text[KEY_TEXT_BYTES]);

/* layout_fold_text - write the folded fields as on the command line: "--sum=16,u64le". Of another
 * kind than FOLD_NONE: only these fields, without the name of the option. */
const char *layout_fold_text(const layout *l, fold_kind kind, char text[FOLD_TEXT_BYTES]);

/* layout_restore - make a settled layout from values in a file; `fields` is from
 * layout_fields_text. Return false if the values are invalid. */
bool layout_restore(layout *l, int64_t record_bytes, int64_t key_off, int64_t key_bytes,
		    const char *fields);

/* layout_equal - return whether two settled layouts define the same order. */
bool layout_equal(const layout *a, const layout *b);

#endif
