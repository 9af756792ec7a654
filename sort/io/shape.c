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
		memcpy(to, from, s->file_bytes);
		memset(to + s->file_bytes, 0, record_bytes - s->file_bytes);
		if (numbers)
			field_store(&s->number, to, number++);
	}
}

status shape_check(const shape *s, uint64_t n, err *e)
{
	if (s->number.bytes != sizeof(uint32_t) || n <= (uint64_t)UINT32_MAX + 1)
		return ST_OK;
	return err_set(e, ST_REFUSED,
		       "--number: the numbers of %" PRIu64 " records do not fit u32; use u64", n);
}
