/* SPDX-License-Identifier: GPL-3.0-or-later */
/* number.h - the parser of whole numbers for all programs and libraries. It accepts only digits,
 * without blanks, signs or prefixes, and rejects numbers that are too large. */
#ifndef NUMBER_H
#define NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __SIZEOF_INT128__
typedef unsigned __int128 number_wide;
#else
typedef uint64_t number_wide;
#endif

/* number_digits - read the decimal number at *text into *v, and move *text after it. Return false,
 * with *text undefined, if there is no digit or the number is above `most`. */
static inline bool number_digits(const char **text, number_wide most, number_wide *v)
{
	const char *const first = *text;
	for (*v = 0; **text >= '0' && **text <= '9'; ++*text) {
		const unsigned digit = (unsigned)(**text - '0');
		if (digit > most || *v > (most - digit) / 10)
			return false;
		*v = *v * 10 + digit;
	}
	return *text != first;
}

/* number_at - like number_digits(), for numbers of 64 bits; *v is 0 on failure. */
static inline bool number_at(const char **text, uint64_t most, uint64_t *v)
{
	number_wide n;
	const bool found = number_digits(text, most, &n);
	*v = found ? (uint64_t)n : 0;
	return found;
}

/* number_parse - read a text into *v. Return false unless it is a decimal number from `least` to
 * `most`. */
static inline bool number_parse(const char *text, uint64_t least, uint64_t most, uint64_t *v)
{
	return number_at(&text, most, v) && !*text && *v >= least;
}

/* number_hex - read the 16 hexadecimal digits at *text, in lower case, and move *text after them.
 * Return false if there are fewer. */
static inline bool number_hex(const char **text, uint64_t *v)
{
	*v = 0;
	for (int i = 0; i < 16; i++, ++*text) {
		const char c = **text;
		if ((c < '0' || c > '9') && (c < 'a' || c > 'f'))
			return false;
		*v = *v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	}
	return true;
}

#endif
