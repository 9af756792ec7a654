/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Read and write keys as text, and normalize layouts: keys that define the same order get the same
 * layout. A key that is one range of ascending bytes gets no fields and sorts fastest. */
#include "layout.h"
#include "size.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { FIELD_TEXT_BYTES = 32 };

static const struct {
	const char *name;
	uint8_t type, bytes; /* bytes 0: any size */
	uint8_t parts;       /* 2: complex, of two floats of `bytes` bytes */
} types[] = {
	{ "bytes", KEY_TYPE_BYTES, 0, 1 },  { "u8", KEY_TYPE_UNSIGNED, 1, 1 },
	{ "u16", KEY_TYPE_UNSIGNED, 2, 1 }, { "u32", KEY_TYPE_UNSIGNED, 4, 1 },
	{ "u64", KEY_TYPE_UNSIGNED, 8, 1 }, { "i8", KEY_TYPE_SIGNED, 1, 1 },
	{ "i16", KEY_TYPE_SIGNED, 2, 1 },   { "i32", KEY_TYPE_SIGNED, 4, 1 },
	{ "i64", KEY_TYPE_SIGNED, 8, 1 },   { "f16", KEY_TYPE_FLOAT, 2, 1 },
	{ "f32", KEY_TYPE_FLOAT, 4, 1 },    { "f64", KEY_TYPE_FLOAT, 8, 1 },
	{ "c64", KEY_TYPE_FLOAT, 4, 2 },    { "c128", KEY_TYPE_FLOAT, 8, 2 },
};

enum { TYPES = sizeof types / sizeof *types };

/* ---------------------------------------------------------------------------------- parsing */

/* Return whether s is at the end of a word in a comma-separated list. */
static bool layout_word_ends(const char *s)
{
	return !*s || *s == ',';
}

/* Read the number at s. Return its end, or NULL if this word is not a number. If the number is
 * larger than MAX_RECORD_BYTES, set *v to some number that is too large. */
static const char *layout_read_number(const char *s, uint32_t *v)
{
	const char *const first = s;
	for (*v = 0; *s >= '0' && *s <= '9'; s++)
		*v = *v > MAX_RECORD_BYTES ? *v : 10 * *v + (uint32_t)(*s - '0');
	return s != first && layout_word_ends(s) ? s : NULL;
}

/* If the next word is a type, possibly with a byte order as in "u64le", read it and move *s to its
 * end. Set *bytes to the size of the type, 0 if any size is allowed, and *parts to its numbers. */
static void layout_read_type(const char **s, key_field *f, uint32_t *bytes, uint32_t *parts)
{
	for (size_t i = 0; **s && i < TYPES; i++) {
		const size_t n = strlen(types[i].name);
		const char *order = *s + 1 + n;
		if (strncmp(*s + 1, types[i].name, n) != 0)
			continue;
		const bool number = types[i].bytes > 0;
		const bool ordered =
			number && (strncmp(order, "le", 2) == 0 || strncmp(order, "be", 2) == 0);
		if (!layout_word_ends(ordered ? order + 2 : order))
			continue;
		f->type = types[i].type;
		f->little = ordered ? *order == 'l' : number && __BYTE_ORDER == __LITTLE_ENDIAN;
		*parts = types[i].parts;
		*bytes = types[i].bytes * *parts;
		*s = ordered ? order + 2 : order;
		return;
	}
}

/* Read the words after the type, in any order. Return false if a word is unknown or given twice. */
static bool layout_read_flags(const char *s, key_field *f)
{
	while (*s) {
		const size_t n = strcspn(s + 1, ",");
		const bool desc = strncmp(s + 1, "desc", n) == 0 && n == strlen("desc");
		const bool last = strncmp(s + 1, "nan-last", n) == 0 && n == strlen("nan-last");
		if ((!desc && !last) || (desc && f->desc) || (last && f->nan))
			return false;
		f->desc |= desc;
		f->nan |= last ? NAN_LAST : NAN_TOTAL;
		s += n + 1;
	}
	return true;
}

/* Append the field, or the two parts of a complex number. Return false if these are too many. */
static bool layout_append(layout *l, key_field f, uint32_t parts)
{
	if (l->fields + parts > KEY_FIELDS_MAX)
		return false;
	f.bytes /= parts;
	for (uint32_t i = 0; i < parts; i++, f.off += f.bytes) {
		l->field[l->fields] = f;
		if (f.nan && parts > 1)
			l->field[l->fields].nan = i == 0 ? NAN_LAST_REAL : NAN_LAST_IMAG;
		l->fields++;
	}
	return true;
}

const char *layout_add_field(layout *l, const char *text)
{
	key_field f = { 0 };
	uint32_t bytes = 0, parts = 1;
	const char *at = layout_read_number(text, &f.off);
	if (!at)
		return "a key must be OFFSET,LENGTH in bytes; a type and desc may follow";
	const char *length = *at ? layout_read_number(at + 1, &f.bytes) : NULL;
	at = length ? length : at;
	layout_read_type(&at, &f, &bytes, &parts);
	if (!layout_read_flags(at, &f))
		return "a type is one of bytes, u8 to u64, i8 to i64, f16 to f64, c64, c128, and "
		       "may end in le or be; then nan-last and desc may follow";
	if (f.nan && f.type < KEY_TYPE_SIGNED)
		return "nan-last requires a type that has NaN or NaT: f16 to f64, c64, c128, i8 to "
		       "i64";
	if (!length && bytes == 0)
		return "a key must be OFFSET,LENGTH in bytes";
	if (length && bytes > 0 && f.bytes != bytes)
		return "the length does not match the type";
	f.bytes = bytes ? bytes : f.bytes;
	if (f.off >= MAX_RECORD_BYTES || f.bytes == 0 || f.bytes > MAX_RECORD_BYTES)
		return "OFFSET and LENGTH must be less than 64K, LENGTH at least 1";
	return layout_append(l, f, parts)
		       ? NULL
		       : "a key has at most 16 fields, a complex number counts as two";
}

/* ------------------------------------------------------------------------------- folded fields */

static const char *const fold_names[] = { "", "--count", "--sum", "--min", "--max" };

const char *layout_add_fold(layout *l, fold_kind kind, const char *text)
{
	layout one = { .fields = 0 };
	key_field *f = &one.field[0];
	const bool typed = !layout_add_field(&one, text) && one.fields == 1 &&
			   f->type != KEY_TYPE_BYTES && !f->desc && !f->nan;
	if (kind == FOLD_COUNT && (!typed || f->type != KEY_TYPE_UNSIGNED || f->bytes < 4))
		return "must be OFFSET,u32 or OFFSET,u64, and le or be may follow";
	if (!typed)
		return "must be OFFSET,TYPE with a type such as u32, i64 or f64; le or be may "
		       "follow";
	if (kind == FOLD_SUM && f->type == KEY_TYPE_FLOAT)
		return "only integers are added: the sum of floats depends on their order";
	if (l->folds == FOLDS_MAX)
		return "a record has at most 8 fields that are counted, added or compared";
	f->fold = (uint8_t)kind;
	l->fold[l->folds++] = *f;
	return NULL;
}

static bool layout_overlap(const key_field *a, const key_field *b)
{
	return a->off < b->off + b->bytes && b->off < a->off + a->bytes;
}

status layout_check_folds(const layout *l, err *e)
{
	const key_field whole = { .off = l->key_off, .bytes = l->key_bytes };
	const key_field *key = l->fields ? l->field : &whole;
	for (const key_field *f = l->fold; f < l->fold + l->folds; f++) {
		const char *name = fold_names[f->fold];
		const uint32_t last = f->off + f->bytes - 1;
		if (last >= l->record_bytes)
			return err_set(e, ST_REFUSED,
				       "%s: bytes %" PRIu32 " to %" PRIu32
				       " do not fit a record of %" PRIu32 " byte%s",
				       name, f->off, last, l->record_bytes,
				       plural(l->record_bytes));
		/* another value in the key would change the order of the records */
		for (const key_field *k = key; k < key + (l->fields ? l->fields : 1); k++)
			if (layout_overlap(f, k))
				return err_set(e, ST_REFUSED,
					       "%s: bytes %" PRIu32 " to %" PRIu32
					       " are part of the key",
					       name, f->off, last);
		for (const key_field *g = l->fold; g < f; g++)
			if (layout_overlap(f, g))
				return err_set(e, ST_REFUSED,
					       "%s: bytes %" PRIu32 " to %" PRIu32
					       " are also used by %s",
					       name, f->off, last, fold_names[g->fold]);
	}
	return ST_OK;
}

/* --------------------------------------------------------------------------------- normal form */

/* Turn numbers that sort like their bytes into bytes, and join adjacent fields of bytes. In
 * descending order, NaT is the last number anyway. */
static void layout_join_fields(layout *l)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < l->fields; i++) {
		key_field f = l->field[i], *last = n ? &l->field[n - 1] : NULL;
		f.little = f.little && f.bytes > 1;
		if (f.type == KEY_TYPE_SIGNED && f.desc)
			f.nan = NAN_TOTAL;
		if (f.type == KEY_TYPE_UNSIGNED && !f.little)
			f.type = KEY_TYPE_BYTES;
		if (last && last->type == KEY_TYPE_BYTES && f.type == KEY_TYPE_BYTES &&
		    last->desc == f.desc && last->off + last->bytes == f.off)
			last->bytes += f.bytes;
		else
			l->field[n++] = f;
	}
	memset(&l->field[n], 0, (KEY_FIELDS_MAX - n) * sizeof *l->field);
	l->fields = n;
}

/* Return how the number in a field is read from a record of at least 8 bytes. */
static key_lead layout_lead(const key_field *f, uint32_t record_bytes)
{
	const unsigned bits = 8 * f->bytes, up = 64 - bits;
	const uint64_t all = ~UINT64_C(0) << up, sign = UINT64_C(1) << 63;
	const uint32_t last = record_bytes - KEY_NUMBER_BYTES_MAX;
	key_lead n = { .turn = f->nan ? layout_nan_turn(f) : 0,
		       .at = (uint16_t)(f->off < last ? f->off : last),
		       .merge = f->nan && f->type == KEY_TYPE_FLOAT,
		       .up = (uint8_t)up,
		       .little = f->little,
		       .bytes = (uint8_t)f->bytes };
	const unsigned before = 8 * (f->off - n.at);
	n.down = (uint8_t)(f->little ? before : up - before);
	n.flip = (f->type == KEY_TYPE_UNSIGNED ? 0 : sign) ^ (f->desc ? all : 0);
	n.negative = f->type == KEY_TYPE_FLOAT ? all & ~sign : 0;
	return n;
}

status layout_settle(layout *l, bool reverse, err *e)
{
	key_field *first = &l->field[0];
	char which[32] = "the key";
	uint64_t bytes = 0;
	if (l->fields == 0) {
		*first = (key_field){ .off = l->key_off, .bytes = l->key_bytes };
		l->fields = 1;
	}
	for (uint32_t i = 0; i < l->fields; i++) {
		key_field *f = &l->field[i];
		const uint64_t end = (uint64_t)f->off + f->bytes;
		if (l->fields > 1)
			snprintf(which, sizeof which, "field %" PRIu32 " of the key", i + 1);
		if (f->bytes == 0)
			return err_set(e, ST_REFUSED, "%s has no bytes", which);
		if (end > l->record_bytes)
			return err_set(e, ST_REFUSED,
				       "%s, bytes %" PRIu32 " to %" PRIu64
				       ", does not fit a record of %" PRIu32 " bytes",
				       which, f->off, end - 1, l->record_bytes);
		f->desc ^= reverse;
		bytes += f->bytes;
	}
	layout_join_fields(l);
	l->key_off = first->off;
	l->key_bytes = (uint32_t)bytes;
	if (l->fields == 1 && first->type == KEY_TYPE_BYTES && !first->desc) {
		*first = (key_field){ 0 };
		l->fields = 0;
		return ST_OK;
	}
	if (bytes > KEY_FIELDS_BYTES_MAX)
		return err_set(e, ST_REFUSED,
			       "the key has %" PRIu64 " bytes: a key of more than %d bytes must be "
			       "one piece of ascending bytes",
			       bytes, KEY_FIELDS_BYTES_MAX);
	for (uint32_t i = 0; l->record_bytes >= KEY_NUMBER_BYTES_MAX && i < l->fields; i++)
		if (l->field[i].type != KEY_TYPE_BYTES && l->field[i].nan <= NAN_LAST)
			l->number[i] = layout_lead(&l->field[i], l->record_bytes);
	return ST_OK;
}

status layout_parse(layout *l, uint32_t record_bytes, const char *key, err *e)
{
	char word[FIELD_TEXT_BYTES + 1];
	*l = (layout){ .record_bytes = record_bytes };
	do {
		const size_t n = strcspn(key, " ");
		const char *why = "it is too long";
		if (n < sizeof word) {
			memcpy(word, key, n);
			word[n] = '\0';
			why = layout_add_field(l, word);
		}
		if (why)
			return err_set(e, ST_REFUSED, "invalid key %s: %s", quoted(key), why);
		key += n;
	} while (*key++ == ' ');
	return layout_settle(l, false, e);
}

/* ------------------------------------------------------------------------------------ texts */

/* Append the type of a number that has `parts` parts. */
static void layout_type_text(const key_field *f, uint32_t parts, char *text, size_t room)
{
	const char *order = f->bytes == 1 ? "" : f->little ? "le" : "be";
	for (size_t i = 0; f->type != KEY_TYPE_BYTES && i < TYPES; i++)
		if (types[i].type == f->type && types[i].bytes == f->bytes &&
		    types[i].parts == parts)
			text_append(text, room, ",%s%s", types[i].name, order);
}

/* Append a field as layout_add_field reads it; an imaginary part is appended with its real part. */
static void layout_field_text(const key_field *f, char text[KEY_TEXT_BYTES])
{
	const uint32_t parts = f->nan == NAN_LAST_REAL ? 2 : 1;
	if (f->nan == NAN_LAST_IMAG)
		return;
	text_append(text, KEY_TEXT_BYTES, "%s%" PRIu32 ",%" PRIu32, *text ? " " : "", f->off,
		    f->bytes * parts);
	layout_type_text(f, parts, text, KEY_TEXT_BYTES);
	text_append(text, KEY_TEXT_BYTES, "%s%s", f->nan ? ",nan-last" : "",
		    f->desc ? ",desc" : "");
}

const char *layout_fold_text(const layout *l, fold_kind kind, char text[FOLD_TEXT_BYTES])
{
	const bool all = kind == FOLD_NONE;
	text[0] = '\0';
	for (const key_field *f = l->fold; f < l->fold + l->folds; f++) {
		if (!all && f->fold != kind)
			continue;
		text_append(text, FOLD_TEXT_BYTES, "%s%s%s%" PRIu32, *text ? " " : "",
			    all ? fold_names[f->fold] : "", all ? "=" : "", f->off);
		layout_type_text(f, 1, text, FOLD_TEXT_BYTES);
	}
	return text;
}

const char *layout_key_text(const layout *l, char text[KEY_TEXT_BYTES])
{
	const key_field plain = { .off = l->key_off, .bytes = l->key_bytes };
	text[0] = '\0';
	for (uint32_t i = 0; i < l->fields || i == 0; i++)
		layout_field_text(l->fields ? &l->field[i] : &plain, text);
	return text;
}

const char *layout_fields_text(const layout *l, char text[KEY_TEXT_BYTES])
{
	return l->fields ? layout_key_text(l, text) : NULL;
}

bool layout_restore(layout *l, int64_t record_bytes, int64_t key_off, int64_t key_bytes,
		    const char *fields)
{
	if (record_bytes < 1 || record_bytes > MAX_RECORD_BYTES)
		return false;
	if (fields)
		return layout_parse(l, (uint32_t)record_bytes, fields, NULL) == ST_OK &&
		       l->key_off == key_off && l->key_bytes == key_bytes;
	*l = (layout)LAYOUT_BYTES((uint32_t)record_bytes, (uint32_t)key_off, (uint32_t)key_bytes);
	return key_bytes >= 1 && key_bytes <= record_bytes && key_off >= 0 &&
	       key_off <= record_bytes - key_bytes;
}

bool layout_equal(const layout *a, const layout *b)
{
	return a->record_bytes == b->record_bytes && a->key_off == b->key_off &&
	       a->key_bytes == b->key_bytes && a->fields == b->fields &&
	       memcmp(a->field, b->field, sizeof a->field) == 0;
}
