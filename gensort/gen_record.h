/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From record numbers to bytes: the four kinds of records (binary or ASCII, uniform or skewed).
 * Record n is a pure function of its kind and n, so any thread can make any slice. */
#ifndef GEN_RECORD_H
#define GEN_RECORD_H

#include <stdbool.h>
#include "gen_lcg.h"
#include "record.h"

struct gen_kind {
	bool ascii;
	bool skew;
};

enum { GEN_TILE = 512 }; /* records whose random values stay in the nearest cache at a time */

struct gen_tile {           /* what a maker needs to make up to GEN_TILE records */
	u128 first;         /* number of the first record */
	size_t recs;        /* 1 to GEN_TILE */
	const uint64_t *hi; /* high and low halves of the random values: recs of them, */
	const uint64_t *lo; /* and for binary records nine more */
};

/* gen_records - write records first .. first + recs - 1, recs >= 1, to out (recs * RECORD_BYTES
 * bytes). */
void gen_records(struct gen_kind kind, u128 first, size_t recs, unsigned char *out);

/* gen_binary_tile, gen_ascii_tile - the same for one tile, given its random values. */
void gen_binary_tile(const struct gen_tile *t, bool skew, unsigned char *out);
void gen_ascii_tile(const struct gen_tile *t, bool skew, unsigned char *out);

/* gen_ascii_init - fill the tables of digits; call once before any thread makes records. */
void gen_ascii_init(void);

#endif
