/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the threads of a rank did when: spans of work, in a buffer of fixed size for each thread.
 * Where one is full, neighbours that are short are taken together, so that a trace is as small for
 * a day as for a minute. Without a trace a span costs a look at a variable; with one, two of the
 * clock and an uncontended lock, for a block of records. */
#ifndef HETSORT_BASE_TRACE_H
#define HETSORT_BASE_TRACE_H

#include "progress.h"

typedef enum trace_kind {
	TRACE_READ,
	TRACE_WRITE,
	TRACE_SORT,
	TRACE_MERGE,
	TRACE_GATHER,
	TRACE_SEND,
	TRACE_RECEIVE,
	TRACE_WAIT,
	TRACE_KINDS
} trace_kind;

/* trace_kind_name - one word; NULL: there is no such kind. */
const char *trace_kind_name(unsigned kind);

typedef enum trace_type {
	TRACE_NONE,
	TRACE_THREAD, /* its name */
	TRACE_PHASE,  /* a span of the main thread, with others in it */
	TRACE_SPAN,
	TRACE_COUNTS
} trace_type;

enum { TRACE_NAME_BYTES = 16, TRACE_COUNTERS = 4, TRACE_MAIN = 0 };

/* A line of a trace; fixed size, sent as bytes. Times are microseconds since the rank began. */
typedef struct trace_row {
	uint8_t type, kind; /* kind: of a span; the number of a phase */
	uint16_t thread;    /* TRACE_MAIN: the main one */
	uint32_t spans;     /* that were taken together */
	uint64_t at_us;
	union {
		struct {
			uint64_t length_us, busy_us; /* busy: in the spans, of all kinds */
		};
		uint64_t counter[TRACE_COUNTERS]; /* bytes read, written, sent; memory held */
		char name[TRACE_NAME_BYTES];
	};
} trace_row;

typedef struct trace trace;

/* trace_open - for a rank, by its main thread; begun_s by now_s(). rows: about as many may be told
 * in the end. NULL without memory: nothing is recorded. trace_mine - of the rank that the calling
 * thread works for. trace_close - when no thread of the rank works any more. */
trace *trace_open(int rank, rank_progress *counts, unsigned rows, double begun_s);
trace *trace_mine(void);
void trace_close(trace *t);

/* trace_begin, trace_end - a span of the calling thread; what begins in another one is a part of
 * that. */
double trace_begin(void);
void trace_end(trace_kind kind, double begun_s);

/* trace_phase - the rank has begun a phase; below 0: it has ended. */
void trace_phase(trace *t, int phase, double now);

/* trace_thread - the calling thread works for the rank, under a name that is static; NULL: not any
 * more. */
void trace_thread(trace *t, const char *name);

/* trace_rows - what is known of a rank, in `most` rows; the rest is TRACE_NONE. At any time.
 * trace_hold - of a rank of this process, NULL: there is none; the caller holds it until
 * trace_release(). */
void trace_rows(trace *t, trace_row *to, unsigned most, double now);
trace *trace_hold(int rank);
void trace_release(void);

/* trace_ranks - the highest rank of this process that has a trace, and one more; 0: none has. */
int trace_ranks(void);

#endif
