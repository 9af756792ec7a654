/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workers take whole runs: one reads while another sorts or writes. Memory, for each of them: a run
 * of records, two entries for each, a batch; and for all an item for every stride-th record. */
#include "spool.h"
#include "clock.h"
#include "gather.h"
#include "pool.h"
#include "radix.h"
#include "reader.h"
#include "spill.h"

#include <pthread.h>
#include <stdatomic.h>

enum { BATCH_BYTES = 1 << 20 };

/* A worker's room. */
typedef struct bench {
	unsigned char *raw, *batch;
	entry *e, *tmp;
} bench;

typedef struct spool {
	loaded *d;
	const spool_plan *p;
	const reader *from;
	bench *bench;
	bool *kept; /* [runs] there already */
	size_t raw_bytes, batch_recs;
	atomic_size_t next;
	pthread_mutex_t lock; /* for what follows, and the sums in d */
	err e;
} spool;

static status read_run(spool *s, const bench *b, unsigned char *recs, uint64_t first, size_t n,
		       checksum *sum, err *e)
{
	const layout *l = &s->p->load.lay;
	status rc = ST_OK;
	double verify_s = 0;
	for (size_t at = 0, k; rc == ST_OK && at < n; at += k) {
		unsigned char *to = recs + at * l->record_bytes;
		k = reader_chunk(s->from, first + at, n - at);
		rc = reader_read(s->from, first + at, k, to, e);
		if (rc == ST_OK)
			*sum = checksum_join(*sum,
					     entries_take(l, to, k, at, b->e + at, &verify_s));
	}
	pthread_mutex_lock(&s->lock);
	s->d->sum = checksum_join(s->d->sum, *sum);
	s->d->verify_s += verify_s;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

/* Items of the sorted run, whose positions are their places. */
static void take_samples(spool *s, size_t run, const bench *b, const records *r, size_t n)
{
	const loaded *d = s->d;
	const size_t isz = item_bytes(&r->lay);
	unsigned char *to = d->sample + d->sample_at[run] * isz;
	for (size_t i = 0; i < n; i += s->p->b->stride, to += isz) {
		item *it = (void *)to;
		item_of(it, &b->e[i], r);
		it->lo = (it->lo & ~POS_MASK) | (d->start[run] + i);
	}
}

static status write_run(spool *s, size_t run, const bench *b, const records *r, size_t n, err *e)
{
	status rc = spill_run_begin(s->d->spill, run, n, e);
	for (size_t at = 0; rc == ST_OK && at < n; at += s->batch_recs) {
		const size_t k = n - at < s->batch_recs ? n - at : s->batch_recs;
		gather(r, b->e + at, k, n - at - k, b->batch);
		rc = spill_run_append(s->d->spill, run, b->batch, k, e);
	}
	return rc == ST_OK ? spill_run_end(s->d->spill, run, e) : rc;
}

/* What is to be told of a run beside its records. */
static seal_note note_of(const spool *s, size_t run)
{
	const loaded *d = s->d;
	const size_t isz = item_bytes(&s->p->load.lay);
	return (seal_note){ .sample = d->sample + d->sample_at[run] * isz,
			    .sample_bytes = (d->sample_at[run + 1] - d->sample_at[run]) * isz };
}

static status keep_run(const spool *s, size_t run, checksum sum, err *e)
{
	seal_note note = note_of(s, run);
	note.sum = sum;
	return seal_run(s->d->spill, run, s->p->keep, &note, e);
}

static void do_run(spool *s, size_t run, const bench *b)
{
	const uint64_t first = s->d->start[run];
	const size_t n = (size_t)(s->d->start[run + 1] - first);
	unsigned char *recs =
		b->raw + (size_t)(-(uintptr_t)b->raw % IO_ALIGN) + reader_align(s->from, first);
	const records r = { recs, s->p->load.lay, s->p->load.rank };
	err e = { ST_OK, "" };
	double sort_s = 0;
	checksum sum = { 0, 0 };
	status rc = read_run(s, b, recs, first, n, &sum, &e);
	if (rc == ST_OK) {
		const double t0 = now_s();
		entries_sort(b->e, b->tmp, n, &r);
		take_samples(s, run, b, &r, n);
		sort_s = now_s() - t0;
		rc = write_run(s, run, b, &r, n, &e);
		if (rc == ST_OK && s->p->keep)
			keep_run(s, run, sum, &e);
	}
	pthread_mutex_lock(&s->lock);
	s->d->sort_s += sort_s;
	if (e.code != ST_OK)
		err_set(&s->e, e.code, "%s", e.text);
	pthread_mutex_unlock(&s->lock);
}

static void work(void *spool_, unsigned worker)
{
	spool *s = spool_;
	bool going = true;
	for (size_t run; going && (run = atomic_fetch_add(&s->next, 1)) < s->d->r.count;) {
		if (s->kept[run])
			continue;
		do_run(s, run, &s->bench[worker]);
		pthread_mutex_lock(&s->lock);
		going = s->e.code == ST_OK && !(s->p->stop && atomic_load(s->p->stop));
		pthread_mutex_unlock(&s->lock);
	}
}

static status take_kept(spool *s, mem *m, err *e)
{
	loaded *d = s->d;
	status rc = ST_OK;
	for (size_t run = 0; rc == ST_OK && s->p->keep && run < d->r.count; run++) {
		const uint64_t n = d->start[run + 1] - d->start[run];
		seal_note note = note_of(s, run);
		rc = seal_take(d->spill, run, n, s->p->keep, m, &note, &s->kept[run], e);
		if (!s->kept[run])
			continue;
		d->sum = checksum_join(d->sum, note.sum);
		d->runs_kept++;
		d->recs_kept += n;
	}
	return rc;
}

static status alloc_benches(spool *s, mem *m, err *e)
{
	const budget *b = s->p->b;
	const layout *l = &s->p->load.lay;
	status rc = ST_OK;
	s->raw_bytes = b->run_recs * l->record_bytes + 2 * IO_ALIGN;
	s->batch_recs = BATCH_BYTES / l->record_bytes + 1;
	s->bench = mem_array(m, b->workers, sizeof *s->bench, "threads", e);
	for (unsigned i = 0; s->bench && i < b->workers; i++) {
		bench *w = &s->bench[i];
		w->raw = mem_array(m, s->raw_bytes, 1, "a run", e);
		w->batch = mem_array(m, s->batch_recs, l->record_bytes, "a batch", e);
		w->e = mem_array(m, b->run_recs, sizeof *w->e, "entries", e);
		w->tmp = mem_array(m, b->run_recs, sizeof *w->tmp, "sorting", e);
		if (!w->raw || !w->batch || !w->e || !w->tmp)
			rc = ST_RESOURCE;
	}
	return s->bench ? rc : ST_RESOURCE;
}

static void free_benches(spool *s, mem *m)
{
	const budget *b = s->p->b;
	for (unsigned i = 0; s->bench && i < b->workers; i++) {
		const bench *w = &s->bench[i];
		mem_free(m, w->raw, s->raw_bytes, 1);
		mem_free(m, w->batch, s->batch_recs, s->p->load.lay.record_bytes);
		mem_free(m, w->e, b->run_recs, sizeof *w->e);
		mem_free(m, w->tmp, b->run_recs, sizeof *w->tmp);
	}
	mem_free(m, s->bench, b->workers, sizeof *s->bench);
}

/* Where runs and samples lie: known before anything is read. */
static status lay_out(const spool_plan *p, mem *m, loaded *d, err *e)
{
	const budget *b = p->b;
	d->n = p->load.n;
	d->start_room = b->runs + 1;
	d->start = mem_array(m, d->start_room, sizeof *d->start, "runs", e);
	d->sample_at = mem_array(m, d->start_room, sizeof *d->sample_at, "samples", e);
	if (!d->start || !d->sample_at)
		return ST_RESOURCE;
	for (size_t k = 0; k < b->runs; k++) {
		const uint64_t left = d->n - d->start[k],
			       n = left < b->run_recs ? left : b->run_recs;
		d->start[k + 1] = d->start[k] + n;
		d->sample_at[k + 1] = d->sample_at[k] + (size_t)((n - 1) / b->stride + 1);
	}
	d->samples = d->sample_at[b->runs];
	d->sample = mem_array(m, d->samples, item_bytes(&p->load.lay), "samples", e);
	d->r = (runs){ .recs = { NULL, p->load.lay, p->load.rank },
		       .count = b->runs,
		       .start = d->start,
		       .sample = d->sample,
		       .sample_at = d->sample_at,
		       .stride = b->stride };
	return d->sample ? ST_OK : ST_RESOURCE;
}

static status open_spill(const spool_plan *p, mem *m, loaded *d, err *e)
{
	const spill_plan sp = { .dir = p->dir,
				.dirs = p->dirs,
				.name = p->keep ? p->keep->name : NULL,
				.record_bytes = p->load.lay.record_bytes,
				.runs = p->b->runs,
				.recs = p->load.n,
				.writers = p->b->workers,
				.ranks_here = p->ranks_here,
				.buffered = p->load.direct == DIRECT_NEVER };
	const status rc = spill_open(&d->spill, m, &sp, e);
	if (rc != ST_OK)
		return rc;
	d->r.spill = d->spill;
	d->r.desk = &d->desk;
	d->desk.key = spill_key;
	spill_view *v = &d->desk.view;
	v->buf_bytes = spill_read_bytes(d->spill, 1);
	d->desk.raw_bytes = v->buf_bytes + SPILL_ALIGN;
	d->desk.raw = mem_array(m, d->desk.raw_bytes, 1, "a block of a run", e);
	if (d->desk.raw)
		v->buf = d->desk.raw + (size_t)(-(uintptr_t)d->desk.raw % SPILL_ALIGN);
	d->desk.it = mem_array(m, 1, item_bytes(&p->load.lay), "a key", e);
	return v->buf && d->desk.it ? ST_OK : ST_RESOURCE;
}

static status make_runs(spool *s, const input *in, mem *m, err *e)
{
	const load_plan *l = &s->p->load;
	const reader_plan rp = { l->first, l->n, l->lay, l->direct };
	reader *r = NULL;
	status rc = alloc_benches(s, m, e);
	if (rc == ST_OK)
		rc = reader_open(&r, in, &rp, e);
	if (rc == ST_OK) {
		s->from = r;
		pthread_mutex_init(&s->lock, NULL);
		pool_run(s->p->b->workers, work, s);
		pthread_mutex_destroy(&s->lock);
		rc = s->e.code == ST_OK ? reader_check(r, e)
					: err_set(e, s->e.code, "%s", s->e.text);
	}
	reader_close(r);
	free_benches(s, m);
	return rc;
}

status spool_input(const input *in, const spool_plan *p, mem *m, loaded *out, err *e)
{
	spool s = { .d = out, .p = p };
	*out = (loaded){ 0 };
	status rc = lay_out(p, m, out, e);
	if (rc == ST_OK)
		rc = open_spill(p, m, out, e);
	if (rc == ST_OK) {
		s.kept = mem_array(m, p->b->runs, sizeof *s.kept, "runs", e);
		rc = s.kept ? take_kept(&s, m, e) : ST_RESOURCE;
	}
	if (rc == ST_OK && out->runs_kept < p->b->runs)
		rc = make_runs(&s, in, m, e);
	mem_free(m, s.kept, p->b->runs, sizeof *s.kept);
	return rc;
}
