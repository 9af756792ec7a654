/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 128-bit linear congruential generator behind every record: x[0] = 0, x[n+1] = a x[n] + c.
 * Record n is made of R(n) = x[n+1] and, in binary records, of the nine values after it.
 * Pure arithmetic modulo 2^128; a jump to any n costs at most 256 multiplications. */
#ifndef GEN_LCG_H
#define GEN_LCG_H

#include <stddef.h>
#include <stdint.h>

typedef unsigned __int128 u128;

/* Independent lanes: the latency of one lane's multiplication hides behind the other lanes'. */
enum { GEN_LANES = 4 };

struct gen_walk {
	u128 lane[GEN_LANES]; /* lane i holds the value i places ahead of the next one to be taken
			       */
	u128 mul, add;        /* the map that leaps GEN_LANES values ahead */
};

/* gen_lcg_at - x[n], the n-th value of the generator. */
u128 gen_lcg_at(u128 n);

/* gen_walk_start - let the next value taken be R(n). */
void gen_walk_start(struct gen_walk *w, u128 n);

/* gen_walk_take - store the high and low halves of the next GEN_LANES * rounds values. */
void gen_walk_take(struct gen_walk *w, size_t rounds, uint64_t *hi, uint64_t *lo);

#endif
