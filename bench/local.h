/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local.h - the interface of the benchmark of sorting in memory (C) to its partners (C++). */
#ifndef LOCAL_H
#define LOCAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Records, which begin with their keys. */
typedef struct shape {
	unsigned record_bytes; /* 8, 16, or more than KEY_MOST_BYTES */
	unsigned key_bytes;    /* 8, or KEY_MOST_BYTES */
	int little;            /* the key is a number of 8 bytes, the least significant first */
} shape;

enum { KEY_MOST_BYTES = 10, WORD_BYTES = 8, PAIR_BYTES = 16 };

/* A sort of n records from in to out, on `threads` threads. scratch has room for 32 bytes per
 * record and has been written, so that no partner pays for fresh memory that it could have reused.
 */
typedef void local_sort(const shape *s, const unsigned char *in, size_t n, unsigned char *out,
			unsigned threads, void *scratch);

typedef struct partner {
	const char *name;
	local_sort *sort; /* stable; records of PAIR_BYTES with equal keys are sorted by value */
	int parallel;     /* uses threads */
} partner;

typedef struct key_kind {
	const char *name;
	void (*key)(uint64_t i, uint64_t n, unsigned char *k); /* KEY_MOST_BYTES of record i of n */
} key_kind;

/* All kinds of keys, ended by a null name. */
extern const key_kind KINDS[];

/* The partners that could be built, ended by a null name. */
extern const partner PARTNERS[];

#ifdef __cplusplus
}
#endif

#endif
