/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of the threads of a rank over time: spans, in a buffer of fixed size for each thread. If
 * it is full, short neighbours are merged, so a trace is as small for a day as for a minute.
 * Without a trace, a span costs a look at a variable. With one, it costs two looks at the clock and
 * an uncontended lock, for a block of records. */
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

/* trace_kind_name - return one word; NULL: no such kind. */
const char *trace_kind_name(unsigned kind);

typedef enum trace_type {
	TRACE_NONE,
	TRACE_THREAD, /* its name */
	TRACE_PHASE,  /* a span of the main thread, with others inside */
	TRACE_SPAN,
	TRACE_COUNTS
} trace_type;

enum { TRACE_NAME_BYTES = 16, TRACE_COUNTERS = 4, TRACE_MAIN = 0 };

/* A line of a trace; fixed size, sent as bytes. Times are microseconds since the rank began. */
typedef struct trace_row {
	uint8_t type, kind; /* kind: of a span; the number of a phase */
	uint16_t thread;    /* TRACE_MAIN: the main one */
	uint32_t spans;     /* that were merged */
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

/* trace_open - begin the trace of a rank, by its main thread; begun_s by now_s(). rows: about the
 * number of rows for trace_rows(). NULL without memory: nothing is recorded. trace_mine - return
 * the trace of the calling thread's rank. trace_close - free it when no thread of the rank works.
 */
trace *trace_open(int rank, rank_progress *counts, unsigned rows, double begun_s);
trace *trace_mine(void);
void trace_close(trace *t);

/* trace_begin, trace_end - record a span of the calling thread. A span within another one counts as
 * a part of it. */
double trace_begin(void);
void trace_end(trace_kind kind, double begun_s);

/* trace_phase - begin a phase of the rank; below 0: end it. */
void trace_phase(trace *t, int phase, double now);

/* trace_thread - let the calling thread record for the rank, under a static name; NULL: stop. */
void trace_thread(trace *t, const char *name);

/* trace_rows - write the trace in `most` rows, at any time; the rest is TRACE_NONE. trace_hold -
 * return the trace of a rank of this process, NULL: no such trace. The caller holds it until
 * trace_release(), in both cases. */
void trace_rows(trace *t, trace_row *to, unsigned most, double now);
trace *trace_hold(int rank);
void trace_release(void);

/* trace_ranks - return one more than the highest rank of this process with a trace; 0: none. */
int trace_ranks(void);

#endif
