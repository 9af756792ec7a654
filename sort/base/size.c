/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The only parser of sizes on the command line, and the only way to print them. */
#include "size.h"
#include "number.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { DECIMALS = 6, MOST_BINARY = 9999 };

typedef struct unit {
	const char *name;
	uint64_t bytes;
} unit;

static const unit units[] = {
	{ "", 1 },
	{ "B", 1 },
	{ "K", UINT64_C(1) << 10 },
	{ "KiB", UINT64_C(1) << 10 },
	{ "kB", UINT64_C(1000) },
	{ "M", UINT64_C(1) << 20 },
	{ "MiB", UINT64_C(1) << 20 },
	{ "MB", UINT64_C(1000000) },
	{ "G", UINT64_C(1) << 30 },
	{ "GiB", UINT64_C(1) << 30 },
	{ "GB", UINT64_C(1000000000) },
	{ "T", UINT64_C(1) << 40 },
	{ "TiB", UINT64_C(1) << 40 },
	{ "TB", UINT64_C(1000000000000) },
};

bool size_number(const char **text, uint64_t *whole, uint32_t *millionths)
{
	const char *s = *text;
	*millionths = 0;
	if (!number_at(&s, UINT64_MAX, whole))
		return false;
	if (*s == '.') {
		const char *first = ++s;
		for (uint32_t one = SIZE_MILLION / 10; *s >= '0' && *s <= '9'; s++, one /= 10)
			*millionths += (uint32_t)(*s - '0') * one;
		if (s == first || s - first > DECIMALS)
			return false;
	}
	*text = s;
	return true;
}

const char *size_parse(const char *text, uint64_t *bytes)
{
	const char *p = text;
	uint64_t whole;
	uint32_t millionths;
	*bytes = 0;
	if (!size_number(&p, &whole, &millionths))
		return "it does not begin with a number, or the number has too many digits";
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		const unit *u = &units[i];
		uint64_t sum;
		if (strcasecmp(p, u->name) != 0)
			continue;
		if (u->bytes == 1 && memchr(text, '.', (size_t)(p - text)))
			return "bytes have no decimals";
		if (__builtin_mul_overflow(whole, u->bytes, &sum) ||
		    __builtin_add_overflow(sum, millionths * u->bytes / SIZE_MILLION, &sum))
			return "it is too large";
		*bytes = sum;
		return NULL;
	}
	return "units are K, M, G, T, KiB to TiB, kB to TB and B";
}

const char *size_text(uint64_t bytes, char buf[SIZE_TEXT_BYTES])
{
	static const char *const name[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	static const char *const binary[] = { "", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes;
	unsigned u = 0;
	for (; bytes && bytes % 1024 == 0; u++)
		bytes /= 1024;
	if (u > 0 && bytes <= MOST_BINARY) {
		snprintf(buf, SIZE_TEXT_BYTES, "%" PRIu64 " %s", bytes, binary[u]);
		return buf;
	}
	for (u = 0; v >= 999.5; u++)
		v /= 1000;
	snprintf(buf, SIZE_TEXT_BYTES, "%.*f %s",
		 u == 0 || v >= 99.95 ? 0
		 : v >= 9.995         ? 1
				      : 2,
		 v, name[u]);
	return buf;
}

const char *size_text_up(uint64_t bytes, char buf[SIZE_TEXT_BYTES])
{
	return size_text(bytes + bytes / 200, buf);
}

void text_append(char *buf, size_t room, const char *format, ...)
{
	const size_t at = strlen(buf);
	va_list ap;
	va_start(ap, format);
	(void)vsnprintf(buf + at, room - at, format, ap);
	va_end(ap);
}
