/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Records may well be lines, all of the same length: then newlines have their places in a record.
 * Where they stand elsewhere in each, somebody took hetsort for sort(1). */
#include "head.h"
#include "role.h"

#include <string.h>

static bool is_text(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		const unsigned char c = (unsigned char)text[i];
		if ((c < ' ' && !memchr("\t\n\f\r", c, 4)) || c == 0x7f)
			return false;
	}
	return true;
}

/* Where a record is a byte, a newline is one as well. */
static bool newlines_have_places(const char *text, size_t bytes, uint32_t record_bytes)
{
	for (size_t i = record_bytes; i < bytes && record_bytes > 1; i++)
		if ((text[i] == '\n') != (text[i - record_bytes] == '\n'))
			return false;
	return bytes >= record_bytes || record_bytes == 1;
}

head_kind head_judge(const char *text, size_t bytes, uint32_t record_bytes)
{
	if (role_begins(ROLE_MANIFEST, text, bytes))
		return HEAD_MANIFEST;
	if (is_text(text, bytes) && memchr(text, '\n', bytes) &&
	    !newlines_have_places(text, bytes, record_bytes))
		return HEAD_LINES;
	return HEAD_ANY;
}
