/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads take chunks of the input in order. A run whose records are all there is sorted by the
 * next thread that finds a free scratch array. So reading and sorting overlap, and at the end only
 * the last runs are left to sort. Memory: records, entries, and a scratch array of one run for each
 * computing thread. */
#include "read_runs.h"
#include "base/size.h"
#include "base/clock.h"
#include "base/minmax.h"
#include "io/file.h"
#include "base/pool.h"
#include "base/trace.h"
#include "kernel/radix.h"
#include "io/reader.h"
#include "sorted_files.h"
#include "spill.h"
#include "testing/failpoint.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	STREAM_BYTES = 4 << 20,
	STEP_BYTES = 256 << 10, /* as in reader_load */
	LEAST_RUNS = 32,
	MOST_RUNS = 64,
	WAITING = 2, /* threads more than compute, so that the disk always has work */
};

typedef struct reading {
	read_runs *d;
	const read_runs_plan *p;
	const reader *from; /* NULL: all is read */
	entry **scratch;    /* [scratches] of which the first `idle` are free */
	size_t scratches, idle, run_recs;
	size_t *left, *ready; /* [runs] records still to be read; runs to be sorted */
	size_t ready_count;
	size_t next;          /* the first record that no thread has taken to read */
	double begun_s;       /* by the clock */
	pthread_mutex_t lock; /* for all from idle on, the sums in d, and the speed history */
	err e;                /* the failure that comes first in the input */
	size_t failed_at;     /* its record */
} reading;

/* What a thread does next. */
typedef struct task {
	enum { NOTHING, READ, SORT } kind;
	size_t at, n; /* READ: records */
	size_t run;
	entry *tmp;
} task;

/* ------------------------------------------------------------------------------------- memory */

void read_runs_free(mem *m, read_runs *d)
{
	mem_free(m, d->raw);
	mem_free(m, d->entries);
	mem_free(m, d->start);
	sorted_disk_close(&d->disk, m);
	mem_free(m, d->names);
	sorted_files_close(d->files);
	mem_free(m, d->cut);
	*d = (read_runs){ 0 };
}

/* Room for `room` records that start at the file's offset. */
static status alloc_records(mem *m, const read_runs_plan *p, size_t room, uint64_t offset,
			    read_runs *d, err *e)
{
	size_t bytes;
	d->room = room;
	if (!size_mul(room, p->lay.record_bytes, &bytes) || bytes > SIZE_MAX - 2 * IO_FD_ALIGN)
		return err_set(e, ST_RESOURCE, "no memory for records: %zu x %u bytes", room,
			       p->lay.record_bytes);
	d->raw = mem_array(m, bytes + 2 * IO_FD_ALIGN, 1, "records", e);
	d->entries = mem_array(m, room, sizeof *d->entries, "entries", e);
	if (!d->raw || !d->entries)
		return ST_RESOURCE;
	const size_t to_page = (size_t)(-(uintptr_t)d->raw % IO_FD_ALIGN);
	d->recs = d->raw + to_page + offset % IO_FD_ALIGN;
	d->r.recs = (records){ d->recs, p->lay, p->rank };
	d->r.e = d->entries;
	return ST_OK;
}

/* How long the runs are. */
static status lay_out_runs(mem *m, const read_runs_plan *p, read_runs *d, size_t *run_recs, err *e)
{
	size_t most = p->threads * 4u;
	most = most < LEAST_RUNS ? LEAST_RUNS : most > MOST_RUNS ? MOST_RUNS : most;
	size_t each = d->n / most + (d->n % most != 0);
	const size_t least = p->least_run ? p->least_run : READ_RUNS_LEAST_RECS;
	each = each < least ? least : each;
	if (!p->sort || each > d->n)
		each = d->n;
	const size_t count = each ? d->n / each + (d->n % each != 0) : 1;
	d->start = mem_array(m, count + 1, sizeof *d->start, "runs", e);
	if (!d->start)
		return ST_RESOURCE;
	for (size_t k = 0; k < count; k++)
		d->start[k] = k * each;
	d->start[count] = d->n;
	sorted_memory_make(&d->r, count, d->start);
	d->s = &d->r.s;
	d->s->shuffled = !p->sort;
	*run_recs = each;
	return ST_OK;
}

/* ------------------------------------------------------------------------------------- threads */

/* Under the lock: records [at, at + n) have been read; complete runs become ready. */
static void note_read(reading *x, size_t at, size_t n)
{
	while (n > 0) {
		const size_t k = at / x->run_recs, to_end = (size_t)x->d->start[k + 1] - at;
		const size_t now = n < to_end ? n : to_end;
		x->left[k] -= now;
		if (x->left[k] == 0 && x->p->sort)
			x->ready[x->ready_count++] = k;
		at += now;
		n -= now;
	}
}

/* Under the lock: n records were read, or sorted, from t0 until now. */
static void note_work(const reading *x, double t0, size_t n, bool is_sorted)
{
	speed_history *p = x->p->speed_history;
	if (p)
		speed_history_add(p, t0 - x->begun_s, now_s() - x->begun_s,
				  (double)n * (is_sorted ? p->sort_s : p->read_s));
}

static void read_chunk(reading *x, const task *t)
{
	const layout *l = &x->p->lay;
	unsigned char *to = x->d->recs + t->at * l->record_bytes;
	err e = { ST_OK, "" };
	loading got = { .entries = x->d->entries + t->at, .pos = t->at };
	const double t0 = now_s();
	(void)reader_load(x->from, t->at, t->n, to, &got, &e);
	pthread_mutex_lock(&x->lock);
	if (e.code != ST_OK && (x->e.code == ST_OK || t->at < x->failed_at)) {
		x->e = e;
		x->failed_at = t->at;
	}
	x->d->sum = checksum_join(x->d->sum, got.sum);
	x->d->verify_s += got.verify_s;
	note_read(x, t->at, t->n);
	note_work(x, t0, t->n, false);
	pthread_mutex_unlock(&x->lock);
}

static void sort_run(reading *x, const task *t)
{
	const uint64_t from = x->d->start[t->run];
	const size_t n = (size_t)(x->d->start[t->run + 1] - from);
	const double t0 = now_s();
	const double span = trace_begin();
	FAIL_FLIP(FAIL_ENTRIES, x->d->entries + from, n * sizeof(entry));
	radix_sort(x->d->entries + from, t->tmp, n, &x->d->r.recs);
	FAIL_FLIP(FAIL_ENTRIES, x->d->entries + from, n * sizeof(entry));
	trace_end(TRACE_SORT, span);
	pthread_mutex_lock(&x->lock);
	x->d->sort_s += now_s() - t0;
	note_work(x, t0, n, true);
	x->scratch[x->idle++] = t->tmp;
	pthread_mutex_unlock(&x->lock);
}

static task next_task(reading *x)
{
	task t = { .kind = NOTHING };
	pthread_mutex_lock(&x->lock);
	if (x->e.code == ST_OK && x->ready_count && x->idle) {
		t.kind = SORT;
		t.run = x->ready[--x->ready_count];
		t.tmp = x->scratch[--x->idle];
	} else if (x->e.code == ST_OK && x->next < x->d->n) {
		t.kind = READ;
		t.at = x->next;
		t.n = reader_chunk(x->from, t.at, x->d->n - t.at);
		x->next += t.n;
	}
	pthread_mutex_unlock(&x->lock);
	return t;
}

/* A thread that finds no task ends: those under way bring what follows from them to an end. */
static void work(void *reading_, unsigned worker)
{
	reading *x = reading_;
	(void)worker;
	for (;;) {
		const task t = next_task(x);
		if (t.kind == READ)
			read_chunk(x, &t);
		else if (t.kind == SORT)
			sort_run(x, &t);
		else
			return;
	}
}

static status alloc_reading(reading *x, mem *m, err *e)
{
	const size_t count = x->d->s->count, threads = x->p->threads;
	x->scratches = !x->p->sort ? 0 : threads < count ? threads : count;
	x->left = mem_array(m, count, sizeof *x->left, "runs", e);
	x->ready = mem_array(m, count, sizeof *x->ready, "runs", e);
	x->scratch = mem_array(m, x->scratches, sizeof *x->scratch, "sorting", e);
	if (!x->left || !x->ready || !x->scratch)
		return ST_RESOURCE;
	for (; x->idle < x->scratches; x->idle++) {
		entry **s = &x->scratch[x->idle];
		*s = mem_array(m, x->run_recs, sizeof **s, "sorting", e);
		if (!*s)
			return ST_RESOURCE;
	}
	for (size_t k = 0; k < count; k++)
		x->left[k] = (size_t)(x->d->start[k + 1] - x->d->start[k]);
	return ST_OK;
}

static void free_reading(reading *x, mem *m)
{
	for (size_t i = 0; x->scratch && i < x->idle; i++)
		mem_free(m, x->scratch[i]);
	mem_free(m, x->scratch);
	mem_free(m, x->left);
	mem_free(m, x->ready);
}

/* No more threads than can have a task at the same time. */
static unsigned threads_for(const reading *x)
{
	if (!x->from)
		return x->p->threads;
	const uint64_t most = u64_max(reader_chunks(x->from), x->d->s->count);
	return (unsigned)u64_min(x->p->threads + WAITING, most);
}

/* Read all records (from NULL: they are in memory already) and sort the runs. */
static status read_and_sort(const read_runs_plan *p, mem *m, read_runs *d, const reader *from,
			    err *e)
{
	reading x = { .d = d, .p = p, .from = from, .begun_s = now_s() };
	status rc = lay_out_runs(m, p, d, &x.run_recs, e);
	if (rc != ST_OK)
		return rc;
	rc = alloc_reading(&x, m, e);
	if (rc == ST_OK && d->n > 0) {
		pthread_mutex_init(&x.lock, NULL);
		if (!from) {
			note_read(&x, 0, d->n);
			x.next = d->n;
		}
		pool_run(threads_for(&x), work, &x);
		pthread_mutex_destroy(&x.lock);
		if (x.e.code != ST_OK)
			rc = err_set(e, x.e.code, "%s", x.e.text);
	}
	free_reading(&x, m);
	return rc;
}

/* ------------------------------------------------------------------------------------- files */

status read_runs_input(const input *in, const read_runs_plan *p, mem *m, read_runs *d, err *e)
{
	const reader_plan rp = { p->first, p->n, p->lay, p->direct, p->io };
	reader *r;
	*d = (read_runs){ 0 };
	status rc = reader_open(&r, in, &rp, e);
	if (rc == ST_OK)
		rc = alloc_records(m, p, p->n, reader_align(r, 0), d, e);
	d->n = p->n;
	if (rc == ST_OK)
		rc = read_and_sort(p, m, d, r, e);
	if (rc == ST_OK)
		rc = reader_check(r, e);
	reader_close(r);
	return rc;
}

/* ------------------------------------------------------------------------------------ streams */

static bool may_grow(const read_runs_plan *p, const read_runs *d)
{
	return d->room <= p->most_recs / 2;
}

/* Memory for twice the records, with those that are there. */
status read_runs_grow(const read_runs_plan *p, mem *m, read_runs *d, err *e)
{
	if (!may_grow(p, d))
		return err_set(e, ST_RESOURCE,
			       "what came is more than the %" PRIu64
			       " records that the limit of memory holds",
			       p->most_recs);
	read_runs more = { .n = d->n, .sum = d->sum, .verify_s = d->verify_s };
	const status rc = alloc_records(m, p, 2 * d->room, 0, &more, e);
	if (rc != ST_OK) {
		read_runs_free(m, &more);
		return rc;
	}
	memcpy(more.recs, d->recs, d->n * p->lay.record_bytes);
	memcpy(more.entries, d->entries, d->n * sizeof *d->entries);
	read_runs_free(m, d);
	*d = more;
	return ST_OK;
}

status read_runs_take(void *record_stream_, unsigned char *to, size_t n, size_t *got, err *e)
{
	record_stream *s = record_stream_;
	const uint32_t bytes = s->lay.record_bytes;
	char q[QUOTED_BYTES];
	*got = 0;
	for (bool ended = false; *got < n && !ended;) {
		const size_t step = size_min(n - *got, STEP_BYTES / bytes + 1);
		unsigned char *at = to + *got * bytes;
		size_t k = 0;
		const double span = trace_begin();
		const status rc = file_read_some(s->fd, at, step * bytes, &k, s->path, e);
		trace_end(TRACE_READ, span);
		if (rc == ST_OK && k % bytes)
			return err_set(e, ST_REFUSED,
				       "input %s ends with a partial record of %zu byte%s",
				       err_quoted(s->path, q), k % bytes, plural(k % bytes));
		if (rc != ST_OK)
			return rc;
		k /= bytes;
		s->sum = checksum_join(s->sum,
				       reader_entries(&s->lay, at, k, 0, NULL, &s->verify_s));
		*got += k;
		ended = k < step;
	}
	return ST_OK;
}

/* Doubled some times, this becomes most_recs. */
static size_t first_room(const read_runs_plan *p, size_t chunk)
{
	uint64_t room = p->most_recs;
	while (room / 2 > 2 * chunk)
		room /= 2;
	return room ? (size_t)room : 1;
}

status read_runs_stream(const read_runs_plan *p, record_stream *s, mem *m, read_runs *d,
			bool *ended, err *e)
{
	const layout lay = p->lay;
	const size_t chunk = STREAM_BYTES / (lay.record_bytes + sizeof *d->entries) + 1;
	*d = (read_runs){ 0 };
	*ended = false;
	status rc = alloc_records(m, p, first_room(p, chunk), 0, d, e);
	while (rc == ST_OK && !*ended && (d->n < d->room || may_grow(p, d))) {
		if (d->n == d->room && (rc = read_runs_grow(p, m, d, e)) != ST_OK)
			break;
		const size_t n = d->room - d->n < chunk ? d->room - d->n : chunk;
		unsigned char *to = d->recs + d->n * lay.record_bytes;
		size_t got = 0;
		rc = read_runs_take(s, to, n, &got, e);
		for (size_t i = 0; i < got; i++)
			d->entries[d->n + i] =
				entry_make(to + i * lay.record_bytes, &lay, d->n + i);
		d->n += got;
		*ended = got < n;
	}
	d->sum = s->sum;
	d->verify_s = s->verify_s;
	return rc;
}

status read_runs_room(const read_runs_plan *p, mem *m, size_t room, read_runs *out, err *e)
{
	*out = (read_runs){ 0 };
	return alloc_records(m, p, room, 0, out, e);
}

status read_runs_sort(const read_runs_plan *p, mem *m, read_runs *d, err *e)
{
	return read_and_sort(p, m, d, NULL, e);
}
