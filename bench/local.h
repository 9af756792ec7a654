/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local.h - the interface between the benchmark of sorting in memory (C) and the sorts of other
 * libraries that it measures, its partners (C++). */
#ifndef LOCAL_H
#define LOCAL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The form of records. A record begins with its key. */
typedef struct shape {
	unsigned record_bytes; /* 8, 16, or more than KEY_MOST_BYTES */
	unsigned key_bytes;    /* 8, or KEY_MOST_BYTES */
	int little;            /* the key is a number of 8 bytes, the least significant first */
} shape;

enum { KEY_MOST_BYTES = 10, WORD_BYTES = 8, PAIR_BYTES = 16 };

/* Sort n records from in to out, on `threads` threads. scratch has 32 bytes per record. It has been
 * written before, so that the time does not include the first use of new memory. */
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

/* All kinds of keys. The last entry has a null name. */
extern const key_kind KINDS[];

/* The partners whose libraries are installed. The last entry has a null name. */
extern const partner PARTNERS[];

#ifdef __cplusplus
}
#endif

#endif
