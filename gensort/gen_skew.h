/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Skew: the key of record n may start with bits of the key of a much smaller record number, the
 * skew index s(n), which is nearly the bit length of n. So heavy prefixes appear, and ever more
 * of them as the record numbers grow. Pure functions. */
#ifndef GEN_SKEW_H
#define GEN_SKEW_H

#include "gen_lcg.h"

enum { GEN_SKEW_BYTES = 6 }; /* the longest prefix that is ever replaced */

/* gen_skew_index - s(n), 0 to 128; 61 to 63 and 125 to 127 never occur. */
unsigned gen_skew_index(u128 n);

/* gen_skew_span - how many records from n on share its skew index, at most max. */
size_t gen_skew_span(u128 n, size_t max);

/* gen_skew_bits - how many leading bits of a binary key are replaced, 0 to 48. */
unsigned gen_skew_bits(uint64_t lo);

/* gen_skew_chars - how many leading characters of an ASCII key are replaced, 0 to 6. */
unsigned gen_skew_chars(uint64_t lo);

#endif
