/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes and counts as text. Pure. */
#ifndef HETSORT_BASE_SIZE_H
#define HETSORT_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_TEXT_BYTES = 24, SIZE_MILLION = 1000000 };

/* size_number - read digits, and after a point up to 6 more as millionths; move *text after them.
 * Return false without such a number, or if it has too many digits. */
bool size_number(const char **text, uint64_t *whole, uint32_t *millionths);

/* size_parse - read a whole or decimal number and a unit in either case, without blanks: K, M, G, T
 * or KiB to TiB for powers of 1024, kB to TB for powers of 1000, nothing or B for bytes, which have
 * no decimals. Return NULL, or the reason if it is not a size. */
const char *size_parse(const char *text, uint64_t *bytes);

/* size_text - write a whole number of a binary unit as such ("512 MiB"), and other sizes with three
 * digits in powers of 1000 ("24.4 MB"). Return buf. */
const char *size_text(uint64_t bytes, char buf[SIZE_TEXT_BYTES]);

/* size_text_up - write a size that is needed: never less than it, but up to 1% more. */
const char *size_text_up(uint64_t bytes, char buf[SIZE_TEXT_BYTES]);

/* text_append - print at the end of the text in buf, which has `room` bytes; cut off what does not
 * fit. */
void text_append(char *buf, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* plural - return the ending of a noun after the number n. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
