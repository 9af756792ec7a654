/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of the threads of a rank over time, as spans. Each thread has a buffer of fixed size. If
 * it is full, short neighbouring spans are merged, so a trace of a day is as small as a trace of a
 * minute. Without a trace, a span costs a look at a variable. With a trace, it costs two looks at
 * the clock and an uncontended lock, for a block of records. */
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

/* trace_kind_name - return one word, or NULL if the kind does not exist. */
const char *trace_kind_name(unsigned kind);

typedef enum trace_type {
	TRACE_NONE,
	TRACE_THREAD, /* the name of a thread */
	TRACE_PHASE,  /* a span of the main thread, with others inside */
	TRACE_SPAN,
	TRACE_COUNTS /* counters at one time */
} trace_type;

enum { TRACE_NAME_BYTES = 16, TRACE_COUNTERS = 4, TRACE_MAIN = 0 };

/* A row of a trace; fixed size, sent as bytes. Times are microseconds since the rank began. */
typedef struct trace_row {
	uint8_t type, kind; /* kind: of a span; the number of a phase */
	uint16_t thread;    /* TRACE_MAIN: the main thread */
	uint32_t spans;     /* number of spans merged into this one */
	uint64_t at_us;
	union {
		struct {
			uint64_t length_us, busy_us; /* busy: in the merged spans of all kinds */
		};
		uint64_t counter[TRACE_COUNTERS]; /* bytes read, written, sent; memory held */
		char name[TRACE_NAME_BYTES];
	};
} trace_row;

typedef struct trace trace;

/* trace_open - begin the trace of a rank; its main thread calls this. rows: about the number of
 * rows that trace_rows() will write. begun_s: a time of now_s(). Return NULL without memory; then
 * nothing is recorded. trace_mine - return the trace of the calling thread's rank. trace_close -
 * free a trace when no thread of the rank works any more. */
trace *trace_open(int rank, rank_progress *counts, unsigned rows, double begun_s);
trace *trace_mine(void);
void trace_close(trace *t);

/* trace_begin - begin a span of the calling thread, and return its start time. trace_end - record
 * the span. A span within another span is a part of it, and is not recorded. */
double trace_begin(void);
void trace_end(trace_kind kind, double begun_s);

/* trace_phase - begin a phase of the rank, or end it if `phase` is below 0. */
void trace_phase(trace *t, int phase, double now);

/* trace_thread - let the calling thread record for the rank, under a static name; NULL: stop. */
void trace_thread(trace *t, const char *name);

/* The place at which a thread records. trace_move - let the calling thread continue at this place,
 * and return its present one. For coroutines, which share a thread. */
typedef struct trace_place {
	trace *trace;
	void *lane; /* of the trace */
	unsigned depth;
} trace_place;
trace_place trace_move(trace_place to);

/* trace_rows - write the trace in `most` rows, at any time; unused rows are TRACE_NONE.
 * trace_rows_of - do the same for a rank of this process, which may end at any time. */
void trace_rows(trace *t, trace_row *to, unsigned most, double now);
void trace_rows_of(int rank, trace_row *to, unsigned most, double now);

/* trace_ranks - return one more than the highest rank of this process with a trace, or 0. */
int trace_ranks(void);

#endif
