/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes and counts as text. */
#ifndef HETSORT_BASE_SIZE_H
#define HETSORT_BASE_SIZE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIZE_TEXT_BYTES = 24, SIZE_MILLION = 1000000 };

/* size_number - read a number with up to 6 decimals, which become millionths, and move *text after
 * it. Return false if *text does not begin with a number, or if it has too many digits. */
bool size_number(const char **text, uint64_t *whole, uint32_t *millionths);

/* size_parse - read a whole or decimal number and a unit, without a blank. Units are K, M, G, T and
 * KiB to TiB (powers of 1024), kB to TB (powers of 1000), and B or nothing (bytes, without
 * decimals), in upper or lower case. Return NULL, or the reason why the text is not a size. */
const char *size_parse(const char *text, uint64_t *bytes);

/* size_text - write a whole number of KiB, MiB and so on in this unit ("512 MiB"), and other sizes
 * with three digits in kB, MB and so on ("24.4 MB"). Return buf. */
const char *size_text(uint64_t bytes, char buf[SIZE_TEXT_BYTES]);

/* size_text_up - do the same for a size that is needed: round up, by at most 1%. */
const char *size_text_up(uint64_t bytes, char buf[SIZE_TEXT_BYTES]);

/* text_append - append to the text in buf, which has `room` bytes; cut off the part that does not
 * fit. */
void text_append(char *buf, size_t room, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* plural - return the plural ending of a noun after the number n. */
static inline const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
