/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes a large array once, from front to back: lines are written to memory without reading them
 * first and without using the cache. On processors without such stores it is a memcpy. */
#ifndef HETSORT_KERNEL_STREAMING_STORE_H
#define HETSORT_KERNEL_STREAMING_STORE_H

#include <stddef.h>
#include <string.h>

#ifdef __SSE2__
#	include <emmintrin.h>
#endif

enum { STREAMING_LINE = 64, STREAMING_STAGE = 4096, STREAMING_MOST_BYTES = 1024 };

typedef struct streaming_store {
	unsigned char *to; /* destination of the stage, at the begin of a line */
	size_t skip;       /* bytes of the first line that must not be written */
	size_t used;       /* of the stage, with skip */
	_Alignas(STREAMING_LINE) unsigned char stage[STREAMING_STAGE + STREAMING_MOST_BYTES];
} streaming_store;

/* streaming_store_line - write a single line; both places are aligned to lines. */
static inline void streaming_store_line(void *to, const void *from)
{
#ifdef __SSE2__
	for (unsigned i = 0; i < STREAMING_LINE / sizeof(__m128i); i++)
		_mm_stream_si128((__m128i *)to + i, _mm_load_si128((const __m128i *)from + i));
#else
	memcpy(to, from, STREAMING_LINE);
#endif
}

/* streaming_store_fence - make the lines of this thread visible to other threads. */
static inline void streaming_store_fence(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}

/* streaming_store_begin - write from `to` on. */
void streaming_store_begin(streaming_store *p, unsigned char *to);

/* streaming_store_room - return the place for the next bytes.
 * streaming_store_left - return how many bytes fit there, at least STREAMING_MOST_BYTES.
 * streaming_store_add - add the bytes that were put there. */
static inline unsigned char *streaming_store_room(streaming_store *p)
{
	return p->stage + p->used;
}

static inline size_t streaming_store_left(const streaming_store *p)
{
	return sizeof p->stage - p->used;
}

void streaming_store_flush(streaming_store *p);

static inline void streaming_store_add(streaming_store *p, size_t bytes)
{
	p->used += bytes;
	if (p->used >= STREAMING_STAGE)
		streaming_store_flush(p);
}

/* streaming_store_end - write the rest, and make everything visible to other threads. */
void streaming_store_end(streaming_store *p);

#endif
