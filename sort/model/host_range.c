/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A number takes all digits that there are. */
#include "host_range.h"

#include <stdint.h>
#include <string.h>

enum { MOST_DIGITS = 18 }; /* that an uint64_t holds */

typedef struct number {
	uint64_t value;
	size_t digits; /* 0: there is none */
	bool padded;   /* with zeros */
} number;

static number number_at(const char *p, const char *end)
{
	number n = { 0, 0, false };
	while (p + n.digits < end && p[n.digits] >= '0' && p[n.digits] <= '9')
		n.digits++;
	if (n.digits > MOST_DIGITS)
		n.digits = 0;
	for (size_t i = 0; i < n.digits; i++)
		n.value = 10 * n.value + (uint64_t)(p[i] - '0');
	n.padded = n.digits > 1 && *p == '0';
	return n;
}

/* One number, or two with '-' between them; returns where it ends, NULL where it is neither. */
static const char *one_range(const char *p, const char *end, number *from, number *to)
{
	*from = *to = number_at(p, end);
	p += from->digits;
	if (from->digits && p < end && *p == '-') {
		*to = number_at(++p, end);
		p += to->digits;
	}
	return to->digits && from->value <= to->value ? p : NULL;
}

bool host_range_is_sound(const char *range, size_t len)
{
	const char *p = range, *const end = range + len;
	number from, to;
	while ((p = memchr(p, '[', (size_t)(end - p))) != NULL) {
		do
			p = one_range(p + 1, end, &from, &to);
		while (p && p < end && *p == ',');
		if (!p || p == end || *p != ']')
			return false;
	}
	return true;
}

/* The list behind '['. */
static bool list_has(const char *p, const char *end, number n)
{
	bool has = false;
	do {
		number from, to;
		p = one_range(p + 1, end, &from, &to);
		has |= n.value >= from.value && n.value <= to.value &&
		       (from.padded ? n.digits == from.digits : !n.padded);
	} while (*p == ',');
	return has;
}

bool host_range_has(const char *range, size_t len, const char *host)
{
	const char *p = range, *const end = range + len;
	while (p < end && *p != '[') {
		if (!*host || *p++ != *host++) /* a range may have a zero byte */
			return false;
	}
	if (p == end)
		return !*host;
	const number n = number_at(host, host + strlen(host));
	const char *behind = (const char *)memchr(p, ']', (size_t)(end - p)) + 1;
	return n.digits && list_has(p, end, n) &&
	       host_range_has(behind, (size_t)(end - behind), host + n.digits);
}
