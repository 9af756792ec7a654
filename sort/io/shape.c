/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "shape.h"

#include <inttypes.h>
#include <string.h>

void shape_apply(const shape *s, uint32_t record_bytes, unsigned char *to,
		 const unsigned char *from, size_t n, uint64_t at)
{
	const bool numbers = s->number.bytes > 0;
	uint64_t number = s->before + at;
	for (size_t i = 0; i < n; i++, to += record_bytes, from += s->file_bytes) {
		uint32_t end = 0;
		for (uint32_t p = 0; p < s->pieces; end += s->piece[p++].bytes)
			memcpy(to + end, from + s->piece[p].off, s->piece[p].bytes);
		memset(to + end, 0, record_bytes - end);
		if (numbers)
			field_store(&s->number, to,
				    s->place ? s->place[number - s->place_first] : number);
		number++;
	}
}

void shape_cut(const shape *s, uint32_t record_bytes, unsigned char *recs, size_t n, checksum *sum)
{
	const unsigned char *from = recs + s->out_off;
	const layout out = LAYOUT_BYTES(s->out_bytes, 0, 1);
	unsigned char *to = recs;
	for (size_t i = 0; i < n; i++, from += record_bytes, to += s->out_bytes)
		memmove(to, from, s->out_bytes);
	*sum = checksum_join(*sum, checksum_records(&out, recs, n));
}

status shape_check(const shape *s, uint64_t n, err *e)
{
	if (s->number.bytes != sizeof(uint32_t) || n <= (uint64_t)UINT32_MAX + 1)
		return ST_OK;
	return err_set(e, ST_REFUSED,
		       "--number: the numbers of %" PRIu64 " records do not fit u32; use u64", n);
}

status shape_to_numbers(settings *o, err *e)
{
	layout *l = &o->lay, keys = { .record_bytes = l->key_bytes + (uint32_t)sizeof(uint64_t),
				      .key_bytes = l->key_bytes,
				      .fields = l->fields };
	shape *s = &o->shape;
	if (keys.record_bytes > MAX_RECORD_BYTES)
		return err_set(e, ST_REFUSED,
			       "--order-out: a key of %u bytes is longer than 64K without 8 bytes",
			       l->key_bytes);
	*s = (shape){ .file_bytes = l->record_bytes,
		      .pieces = l->fields ? l->fields : 1,
		      .piece = { { l->key_off, l->key_bytes } },
		      .number = { .off = l->key_bytes,
				  .bytes = sizeof(uint64_t),
				  .type = KEY_TYPE_UNSIGNED,
				  .little = true },
		      .out_off = l->key_bytes,
		      .out_bytes = sizeof(uint64_t) };
	for (uint32_t i = 0, at = 0; i < l->fields; at += l->field[i++].bytes) {
		s->piece[i].off = l->field[i].off;
		s->piece[i].bytes = l->field[i].bytes;
		keys.field[i] = l->field[i];
		keys.field[i].off = at;
	}
	const status rc = layout_settle(&keys, false, e);
	if (rc == ST_OK)
		*l = keys;
	return rc;
}

status shape_to_places(settings *o, err *e)
{
	const uint32_t bytes = o->lay.record_bytes, all = bytes + (uint32_t)sizeof(uint64_t);
	if (all > MAX_RECORD_BYTES)
		return err_set(e, ST_REFUSED, "--apply: a record of %u bytes is longer than %u",
			       bytes, MAX_RECORD_BYTES - (unsigned)sizeof(uint64_t));
	o->lay = (layout)LAYOUT_BYTES(all, bytes, (uint32_t)sizeof(uint64_t));
	o->shape = (shape){
		.file_bytes = bytes,
		.pieces = 1,
		.piece = { { 0, bytes } },
		.number = { .off = bytes, .bytes = sizeof(uint64_t), .type = KEY_TYPE_UNSIGNED },
		.out_bytes = bytes
	};
	return ST_OK;
}
