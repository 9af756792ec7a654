/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copying records to their places.
 *
 * gather copies records in the order of their entries. A sort compares only entries, so a memory
 * error in an entry puts its record at a wrong place. The order of the output does not always
 * reveal this: not among equal keys, and not if --unique or --top drops the record. So the code
 * that uses an entry last, to send, write or drop its record, compares the entry with the key of
 * its record. If all entries match, the output is sorted, and equal keys are in the order of the
 * input. A wrong position changes the checksum of the output.
 *
 * A streaming store writes a large array once, from front to back. It writes cache lines directly
 * to memory, without reading them first. On processors without such stores it is a memcpy. */
#ifndef HETSORT_KERNEL_GATHER_H
#define HETSORT_KERNEL_GATHER_H

#include "key.h"
#include "base/status.h"

#ifdef __SSE2__
#	include <emmintrin.h>
#endif

/* gather - copy the records of order[0..n) to out, one after the other. Pure. Memory latency limits
 * the speed, so records are prefetched, also the records of `ahead` entries from order[n] on.
 * Return how many entries do not match the keys of their records. */
size_t gather(const records *r, const entry *order, size_t n, size_t ahead, unsigned char *out);

/* gather_misfits - return ST_INTERNAL with a message if misfits is above 0. */
status gather_misfits(size_t misfits, err *e);

/* record_copy_short - copy a record of 8 to 39 bytes. Usual sizes are constants; others take copies
 * that overlap. */
static inline void record_copy_short(unsigned char *to, const unsigned char *from, uint32_t bytes)
{
	enum { HALF = 16, WORD = 8 };
	if (bytes == WORD) {
		memcpy(to, from, WORD);
	} else if (bytes == HALF) {
		memcpy(to, from, HALF);
	} else if (bytes > HALF) {
		memcpy(to, from, HALF);
		if (bytes > 2 * HALF)
			memcpy(to + HALF, from + HALF, HALF);
		memcpy(to + bytes - HALF, from + bytes - HALF, HALF);
	} else {
		memcpy(to, from, WORD);
		memcpy(to + bytes - WORD, from + bytes - WORD, WORD);
	}
}

enum { STREAMING_LINE = 64, STREAMING_STAGE = 4096, STREAMING_MOST_BYTES = 1024 };

typedef struct streaming_store {
	unsigned char *to; /* destination of the stage, at the start of a cache line */
	size_t skip;       /* bytes of the first line that must not be written */
	size_t used;       /* bytes of the stage, including skip */
	/* bytes that are not written yet */
	_Alignas(STREAMING_LINE) unsigned char stage[STREAMING_STAGE + STREAMING_MOST_BYTES];
} streaming_store;

/* streaming_store_lines - write `bytes` bytes, whole cache lines; `to` is aligned to lines. */
static inline void streaming_store_lines(void *to, const void *from, size_t bytes)
{
#ifdef __SSE2__
	for (size_t i = 0; i < bytes / sizeof(__m128i); i++)
		_mm_stream_si128((__m128i *)to + i, _mm_loadu_si128((const __m128i *)from + i));
#else
	memcpy(to, from, bytes);
#endif
}

static inline void streaming_store_line(void *to, const void *from)
{
	streaming_store_lines(to, from, STREAMING_LINE);
}

/* streaming_store_fence - make the lines that this thread has written visible to other threads. */
static inline void streaming_store_fence(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}

/* streaming_store_begin - begin to write at `to`. */
void streaming_store_begin(streaming_store *p, unsigned char *to);

/* streaming_store_room - return where to put the next bytes. streaming_store_left - return how many
 * bytes fit there, at least STREAMING_MOST_BYTES. streaming_store_add - write the bytes put
 * there. */
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
