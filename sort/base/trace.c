/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A lane is a buffer for the spans of one thread at a time. When a thread ends, the next thread of
 * the same name takes over its lane. So only threads that work at the same time need separate
 * lanes. Memory: 40 bytes for each row. */
#include "trace.h"
#include "clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	LANES = 64,
	PART = 8, /* the rows of trace_rows() have space for this number of full lanes */
	LEAST_SPANS = 16,
	MOST_SPANS = 2048,
	PHASES_MOST = 32,
	SAMPLES_MOST = 256,
	FIRST_US = 8, /* longest span to merge, at first */
};

typedef struct span {
	uint64_t at_us, end_us, busy_us;
	uint32_t spans;
	uint16_t phase; /* spans of different phases are never merged */
	uint8_t kind;
} span;

typedef struct lane {
	const char *name;
	bool busy;
	pthread_mutex_t lock; /* guards the members below */
	uint64_t least_us;    /* neighbouring spans that together are not longer are merged */
	unsigned n;
	span *of;
} lane;

struct trace {
	int rank;
	double begun_s;
	unsigned spans; /* capacity of each lane */
	rank_progress *counts;
	trace *next;
	pthread_mutex_t lock; /* guards the members below, except the contents of lanes */
	lane lane[LANES];
	unsigned lanes;
	trace_row phase[PHASES_MOST];
	unsigned phases;
	bool in_phase; /* the last phase has not ended */
	trace_row sample[SAMPLES_MOST];
	unsigned samples;
	uint64_t sample_us, next_us; /* time between samples; time of the next sample */
	atomic_uint now_in;          /* how often a phase has begun or ended */
};

/* Traces of this process. */
static struct {
	pthread_mutex_t lock;
	trace *first;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

static _Thread_local trace_place my;

const char *trace_kind_name(unsigned kind)
{
	static const char *const name[TRACE_KINDS] = { "read",   "write", "sort",    "merge",
						       "gather", "send",  "receive", "wait" };
	return kind < TRACE_KINDS ? name[kind] : NULL;
}

static uint64_t trace_us(const trace *t, double at_s)
{
	return at_s > t->begun_s ? (uint64_t)((at_s - t->begun_s) * 1e6) : 0;
}

/* ------------------------------------------------------------------------------------- spans */

/* Merge two spans into one of the kind that took longer. */
static span trace_merge(const span *a, const span *b)
{
	const bool first = a->end_us - a->at_us >= b->end_us - b->at_us;
	return (span){ .at_us = a->at_us,
		       .end_us = b->end_us,
		       .busy_us = a->busy_us + b->busy_us,
		       .spans = a->spans + b->spans,
		       .phase = a->phase,
		       .kind = first ? a->kind : b->kind };
}

static bool trace_may_merge(const span *a, const span *b, uint64_t least_us)
{
	return a->phase == b->phase && b->end_us - a->at_us <= least_us;
}

/* Merge longer and longer spans until at most `most` of n are left. If even one span for each phase
 * is too many, drop the last spans. Return the number of spans that are left. */
static unsigned trace_shrink(span *s, unsigned n, unsigned most, uint64_t *least_us)
{
	for (; n > most && *least_us < UINT64_MAX / 2; *least_us *= 2) {
		unsigned k = 0;
		for (unsigned i = 1; i < n; i++)
			if (trace_may_merge(&s[k], &s[i], *least_us))
				s[k] = trace_merge(&s[k], &s[i]);
			else
				s[++k] = s[i];
		n = k + 1;
	}
	return n < most ? n : most;
}

/* ----------------------------------------------------------------------------------- counters */

/* Keep every second sample. */
static void trace_thin_out(trace *t)
{
	for (unsigned i = 0; 2 * i < t->samples; i++)
		t->sample[i] = t->sample[2 * i];
	t->samples = (t->samples + 1) / 2;
}

static trace_row trace_counts_at(trace *t, uint64_t at_us)
{
	return (trace_row){ .type = TRACE_COUNTS,
			    .at_us = at_us,
			    .counter = { progress_bytes(t->counts, PROGRESS_READ),
					 progress_bytes(t->counts, PROGRESS_WRITTEN),
					 progress_bytes(t->counts, PROGRESS_SENT),
					 atomic_load(&t->counts->held_bytes) } };
}

/* Sample the counts if the next sample is due. */
static void trace_sample(trace *t, uint64_t at_us)
{
	if (pthread_mutex_trylock(&t->lock) != 0)
		return; /* another thread samples */
	if (at_us >= t->next_us) {
		if (t->samples == SAMPLES_MOST) {
			trace_thin_out(t);
			t->sample_us *= 2;
		}
		t->sample[t->samples++] = trace_counts_at(t, at_us);
		t->next_us = at_us + t->sample_us;
	}
	pthread_mutex_unlock(&t->lock);
}

/* ------------------------------------------------------------------------------------ threads */

double trace_begin(void)
{
	return my.lane && my.depth++ == 0 ? now_s() : 0;
}

void trace_end(trace_kind kind, double begun_s)
{
	if (!my.lane || --my.depth > 0)
		return;
	trace *t = my.trace;
	lane *l = my.lane;
	const uint64_t at_us = trace_us(t, begun_s), end_us = trace_us(t, now_s());
	const span s = { .at_us = at_us,
			 .end_us = end_us,
			 .busy_us = end_us - at_us,
			 .spans = 1,
			 .phase = l == t->lane ? (uint16_t)atomic_load(&t->now_in) : 0,
			 .kind = (uint8_t)kind };
	pthread_mutex_lock(&l->lock);
	if (l->n > 0 && trace_may_merge(&l->of[l->n - 1], &s, l->least_us)) {
		l->of[l->n - 1] = trace_merge(&l->of[l->n - 1], &s);
	} else {
		if (l->n == t->spans)
			l->n = trace_shrink(l->of, l->n, t->spans / 2, &l->least_us);
		l->of[l->n++] = s;
	}
	pthread_mutex_unlock(&l->lock);
	trace_sample(t, end_us);
}

/* Take an unused lane of this name, or a new lane. Without a lane, the thread records nothing. */
void trace_thread(trace *t, const char *name)
{
	lane *const old = my.lane;
	if (old) {
		pthread_mutex_lock(&my.trace->lock);
		old->busy = false;
		pthread_mutex_unlock(&my.trace->lock);
	}
	my = (trace_place){ .trace = t };
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	lane *l = t->lane, *const end = l + t->lanes;
	while (l < end && (l->busy || strcmp(l->name, name) != 0))
		l++;
	if (l == end && t->lanes < LANES && (l->of = calloc(t->spans, sizeof *l->of))) {
		pthread_mutex_init(&l->lock, NULL);
		l->name = name;
		l->least_us = FIRST_US;
		t->lanes++;
	}
	if (l < t->lane + t->lanes) {
		l->busy = true;
		my.lane = l;
	}
	pthread_mutex_unlock(&t->lock);
}

trace *trace_mine(void)
{
	return my.trace;
}

trace_place trace_move(trace_place to)
{
	const trace_place from = my;
	my = to;
	return from;
}

/* ------------------------------------------------------------------------------------- phases */

void trace_phase(trace *t, int phase, double now)
{
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	const uint64_t at_us = trace_us(t, now);
	trace_row *last = t->phases ? &t->phase[t->phases - 1] : NULL;
	if (last && t->in_phase)
		last->length_us = at_us - last->at_us;
	const bool resumes = last && last->kind == phase;
	t->in_phase = phase >= 0 && (resumes || t->phases < PHASES_MOST);
	if (t->in_phase && !resumes)
		t->phase[t->phases++] = (trace_row){
			.type = TRACE_PHASE, .kind = (uint8_t)phase, .spans = 1, .at_us = at_us
		};
	atomic_fetch_add(&t->now_in, 1);
	pthread_mutex_unlock(&t->lock);
	trace_sample(t, at_us);
}

/* -------------------------------------------------------------------------------------- whole */

trace *trace_open(int rank, rank_progress *counts, unsigned rows, double begun_s)
{
	trace *t = calloc(1, sizeof *t);
	if (!t)
		return NULL;
	const unsigned part = rows / PART;
	t->rank = rank;
	t->begun_s = begun_s;
	t->spans = part < LEAST_SPANS ? LEAST_SPANS : part > MOST_SPANS ? MOST_SPANS : part;
	t->counts = counts;
	t->sample_us = 10000;
	pthread_mutex_init(&t->lock, NULL);
	pthread_mutex_lock(&all.lock);
	t->next = all.first;
	all.first = t;
	pthread_mutex_unlock(&all.lock);
	trace_thread(t, "main");
	return t;
}

void trace_close(trace *t)
{
	if (!t)
		return;
	pthread_mutex_lock(&all.lock);
	trace **at = &all.first;
	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	pthread_mutex_unlock(&all.lock);
	if (my.trace == t)
		trace_thread(NULL, NULL);
	for (unsigned i = 0; i < t->lanes; i++) {
		pthread_mutex_destroy(&t->lane[i].lock);
		free(t->lane[i].of);
	}
	pthread_mutex_destroy(&t->lock);
	free(t);
}

int trace_ranks(void)
{
	int ranks = 0;
	pthread_mutex_lock(&all.lock);
	for (const trace *t = all.first; t; t = t->next)
		ranks = t->rank >= ranks ? t->rank + 1 : ranks;
	pthread_mutex_unlock(&all.lock);
	return ranks;
}

/* The rows of trace_rows() that are not written yet. */
typedef struct trace_room {
	trace_row *next, *end;
} trace_room;

static void trace_put(trace_room *r, const trace_row *row)
{
	if (r->next < r->end)
		*r->next++ = *row;
}

/* Write the spans of a lane, merged to at most `most`. */
static void trace_put_lane(const trace *t, lane *l, trace_room *r, unsigned most)
{
	trace_row row = { .type = TRACE_THREAD, .thread = (uint16_t)(l - t->lane) };
	strncpy(row.name, l->name, TRACE_NAME_BYTES - 1);
	trace_put(r, &row);
	pthread_mutex_lock(&l->lock);
	l->n = trace_shrink(l->of, l->n, most, &l->least_us);
	for (unsigned i = 0; i < l->n; i++) {
		const span *s = &l->of[i];
		row = (trace_row){ .type = TRACE_SPAN,
				   .kind = s->kind,
				   .thread = row.thread,
				   .spans = s->spans,
				   .at_us = s->at_us,
				   .length_us = s->end_us - s->at_us,
				   .busy_us = s->busy_us };
		trace_put(r, &row);
	}
	pthread_mutex_unlock(&l->lock);
}

/* Each kind of row has its own share of the rows, so that none uses up the rows of the next. */
void trace_rows(trace *t, trace_row *to, unsigned most, double now)
{
	trace_room r = { to, to + most };
	memset(to, 0, most * sizeof *to);
	if (!t)
		return;
	pthread_mutex_lock(&t->lock);
	const uint64_t now_us = trace_us(t, now);
	if (t->in_phase)
		t->phase[t->phases - 1].length_us = now_us - t->phase[t->phases - 1].at_us;
	for (unsigned i = 0; i < t->phases; i++)
		trace_put(&r, &t->phase[i]);
	const trace_row last = trace_counts_at(t, now_us);
	while (t->samples > most / PART && t->samples > 1)
		trace_thin_out(t);
	for (unsigned i = 0; i < t->samples; i++)
		trace_put(&r, &t->sample[i]);
	trace_put(&r, &last);
	const unsigned left = (unsigned)(r.end - r.next), each = left / (t->lanes + !t->lanes);
	for (unsigned i = 0; i < t->lanes; i++)
		trace_put_lane(t, &t->lane[i], &r, each ? each - 1 : 0);
	pthread_mutex_unlock(&t->lock);
}

void trace_rows_of(int rank, trace_row *to, unsigned most, double now)
{
	pthread_mutex_lock(&all.lock); /* so that the trace is not closed */
	trace *t = all.first;
	while (t && t->rank != rank)
		t = t->next;
	trace_rows(t, to, most, now);
	pthread_mutex_unlock(&all.lock);
}
