/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a rank has done so far, which the watch, the progress line and the trace look at: code that
 * has moved a block, read or written a part of a file or sorted a run counts it here. A thread
 * counts for the rank that it belongs to (thread.h), so nothing has to be passed down for it; it
 * takes two relaxed atomic additions for some hundred KiB of work, and for bytes of files and
 * messages a look at the clock and a lock. */
#ifndef HETSORT_BASE_PROGRESS_H
#define HETSORT_BASE_PROGRESS_H

#include "activity.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

typedef enum progress_kind {
	PROGRESS_READ, /* as ACTIVITY_READ to ACTIVITY_SENT: bytes from files, with runs on disk */
	PROGRESS_WRITTEN,  /* to files, with runs on disk */
	PROGRESS_SENT,     /* records to other ranks */
	PROGRESS_IN,       /* records of the input that the rank has */
	PROGRESS_KEPT,     /* those that an earlier program has left in runs */
	PROGRESS_RECEIVED, /* records that came, in their place */
	PROGRESS_OUT,      /* records of the output that are written */
	PROGRESS_KINDS
} progress_kind;

typedef struct progress_count {
	atomic_uint_fast64_t bytes[PROGRESS_KINDS];
	atomic_uint_fast64_t held_bytes; /* of memory, now */
	activity_log activity;
} progress_count;

/* progress_join - the calling thread, and those that it starts by thread_start, count in p, which
 * outlives them; NULL: for nobody. progress_mine - never NULL. */
void progress_join(progress_count *p);
progress_count *progress_mine(void);

/* progress_add - so many bytes more. progress_hold - so much memory is held now. */
void progress_add(progress_kind kind, uint64_t bytes);
void progress_hold(size_t bytes);

/* progress_tick - the process goes on; progress_ticks - how often it said so. */
void progress_tick(void);
uint64_t progress_ticks(void);

static inline uint64_t progress_bytes(progress_count *p, progress_kind kind)
{
	return atomic_load_explicit(&p->bytes[kind], memory_order_relaxed);
}

#endif
