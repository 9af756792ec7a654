/* SPDX-License-Identifier: GPL-3.0-or-later */
/* text.c - make text safe to print, and convert numbers from and to text exactly. Knows no JSON. */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

size_t hp_utf8(const char *s, size_t n)
{
	/* the least character of 2, 3 and 4 bytes: smaller ones must be shorter */
	static const unsigned least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	const unsigned char *const u = (const unsigned char *)s;
	if (n == 0)
		return 0;
	if (u[0] < 0x80)
		return u[0] >= 0x20 && u[0] != 0x7F;
	const size_t len = u[0] < 0xC2   ? 0
			   : u[0] < 0xE0 ? 2
			   : u[0] < 0xF0 ? 3
			   : u[0] < 0xF5 ? 4
					 : 0;
	if (len == 0 || len > n)
		return 0;
	unsigned v = u[0] & (0x7Fu >> len);
	for (size_t i = 1; i < len; i++) {
		if ((u[i] & 0xC0) != 0x80)
			return 0;
		v = v << 6 | (u[i] & 0x3F);
	}
	if (v < least[len] || v > 0x10FFFF || (v >= 0xD800 && v <= 0xDFFF) || v < 0xA0)
		return 0;
	return len;
}

char *hp_clean(char *dst, size_t size, const char *src, size_t n)
{
	size_t at = 0;
	for (size_t i = 0; i < n;) {
		const size_t len = hp_utf8(src + i, n - i), bytes = len ? len : 4;
		if (size - at <= bytes)
			break;
		if (len)
			memcpy(dst + at, src + i, len);
		else
			snprintf(dst + at, 5, "\\x%02x", (unsigned char)src[i]);
		at += bytes;
		i += len ? len : 1;
	}
	dst[at] = '\0';
	return dst;
}

size_t hp_columns(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += ((unsigned char)*s & 0xC0) != 0x80;
	return n;
}

const char *hp_csv(char *dst, size_t size, const char *s)
{
	if (!strpbrk(s, ",\"")) {
		snprintf(dst, size, "%s", s);
		return dst;
	}
	size_t n = 0;
	dst[n++] = '"';
	for (; *s && n + 3 < size; s++) {
		if (*s == '"')
			dst[n++] = '"';
		dst[n++] = *s;
	}
	dst[n++] = '"';
	dst[n] = '\0';
	return dst;
}

void hp_say(const char *fmt, ...)
{
	char raw[4 * HP_TEXT_BYTES], text[4 * HP_TEXT_BYTES];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(raw, sizeof raw, fmt, ap);
	va_end(ap);
	fprintf(stderr, "hetplan: %s\n", hp_clean(text, sizeof text, raw, strlen(raw)));
}

const char *hp_number(char buf[HP_NUMBER_BYTES], double x)
{
	if (!isfinite(x))
		return memcpy(buf, "null", sizeof "null");
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, HP_NUMBER_BYTES, "%.*g", digits, x);
		if (strtod(buf, NULL) == x)
			break;
	}
	if (!strpbrk(buf, ".e"))
		memcpy(buf + strlen(buf), ".0", sizeof ".0");
	return buf;
}

void hp_join(char *buf, size_t size, const char *const *words)
{
	size_t used = 0;
	buf[0] = '\0';
	for (size_t i = 0; words[i] && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "", words[i]);
}

/* Return the power of ten of an exponent such as e6 or a letter such as M, 0 for an empty text; -1
 * if invalid. */
static int power_of_ten(const char *s)
{
	static const char letters[] = "kMGTPE";
	if (*s == '\0')
		return 0;
	const char *const at = strchr(letters, *s);
	if (at && s[1] == '\0')
		return 3 * (int)(at - letters + 1);
	if (*s != 'e' && *s != 'E')
		return -1;
	s += s[1] == '+' ? 2 : 1;
	if (*s == '\0')
		return -1;
	int n = 0;
	for (; *s >= '0' && *s <= '9' && n < 100; s++)
		n = 10 * n + (*s - '0');
	return *s == '\0' ? n : -1;
}

bool hp_text_count(const char *s, uint64_t *value)
{
	uint64_t v = 0;
	int decimals = 0;
	bool point = false, digits = false;
	for (; (*s >= '0' && *s <= '9') || (*s == '.' && !point); s++) {
		if (*s == '.') {
			point = true;
			continue;
		}
		digits = true;
		decimals += point;
		if (__builtin_mul_overflow(v, UINT64_C(10), &v) ||
		    __builtin_add_overflow(v, (uint64_t)(*s - '0'), &v))
			return false;
	}
	int power = power_of_ten(s);
	if (!digits || power < 0)
		return false;
	for (power -= decimals; power > 0; power--)
		if (__builtin_mul_overflow(v, UINT64_C(10), &v))
			return false;
	for (; power < 0; power++, v /= 10)
		if (v % 10 != 0)
			return false;
	*value = v;
	return true;
}

bool hp_text_real(const char *s, double *value)
{
	if (s[strspn(s, "0123456789.eE+-")] != '\0' || *s == '\0')
		return false;
	char *end;
	errno = 0;
	*value = strtod(s, &end);
	return *end == '\0' && isfinite(*value) && !(errno == ERANGE && *value == 0);
}
