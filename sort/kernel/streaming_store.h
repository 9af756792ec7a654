/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writing a large array from front to back once: lines leave for memory without being read first
 * and without taking room in the cache. On processors that cannot, it is a memcpy. */
#ifndef HETSORT_PAST_CACHE_H
#define HETSORT_PAST_CACHE_H

#include <stddef.h>
#include <string.h>

enum { PAST_LINE = 64, PAST_STAGE = 4096, PAST_MOST = 1024 };

typedef struct past_cache {
	unsigned char *to; /* where the stage goes, at the beginning of a line */
	size_t skip;       /* bytes of the first line that are not ours */
	size_t used;       /* of the stage, with skip */
	_Alignas(PAST_LINE) unsigned char stage[PAST_STAGE + PAST_MOST];
} past_cache;

/* past_cache_begin - write from `to` on. */
void past_cache_begin(past_cache *p, unsigned char *to);

/* past_cache_room - where the next bytes, PAST_MOST at most, are to be put; past_cache_add - they
 * are there. */
static inline unsigned char *past_cache_room(past_cache *p)
{
	return p->stage + p->used;
}

void past_cache_flush(past_cache *p);

static inline void past_cache_add(past_cache *p, size_t bytes)
{
	p->used += bytes;
	if (p->used >= PAST_STAGE)
		past_cache_flush(p);
}

/* past_cache_end - all is written, and visible to other threads. */
void past_cache_end(past_cache *p);

#endif
