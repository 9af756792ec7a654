/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A set of ranks, one bit each. Members among thousands of ranks are found without asking all. */
#ifndef HETSORT_COMM_RANK_SET_H
#define HETSORT_COMM_RANK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RANK_SET_BITS = 64 }; /* of a word */

/* rank_set_words - return the words of a set of this many ranks. */
static inline size_t rank_set_words(int ranks)
{
	return ((size_t)ranks + RANK_SET_BITS - 1) / RANK_SET_BITS;
}

static inline uint64_t rank_set_bit(int rank)
{
	return UINT64_C(1) << rank % RANK_SET_BITS;
}

static inline void rank_set_add(uint64_t *s, int rank)
{
	s[rank / RANK_SET_BITS] |= rank_set_bit(rank);
}

static inline void rank_set_remove(uint64_t *s, int rank)
{
	s[rank / RANK_SET_BITS] &= ~rank_set_bit(rank);
}

/* rank_set_next - return the first member in [from, end), or `end`. */
static inline int rank_set_next(const uint64_t *s, int from, int end)
{
	while (from < end) {
		const uint64_t left = s[from / RANK_SET_BITS] >> from % RANK_SET_BITS;
		if (left) {
			from += __builtin_ctzll(left);
			return from < end ? from : end;
		}
		from += RANK_SET_BITS - from % RANK_SET_BITS;
	}
	return end;
}

#endif
