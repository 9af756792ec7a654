/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples are read by threads, in any order. Only where all of them are in order do the slices of
 * the merge have every two records that follow each other, which then are compared there. */
#include "sorted_runs.h"
#include "sorted_files.h"
#include "base/minmax.h"
#include "base/pool.h"
#include "base/lower_bound.h"

#include <pthread.h>
#include <stdatomic.h>

enum { WAITING = 6, SCAN_BYTES = 256 << 10 }; /* small reads: most threads wait for the disk */

typedef struct sampling {
	read_runs *d;
	unsigned char *recs; /* one for each thread */
	atomic_size_t next;
	pthread_mutex_t lock;
	err e;
} sampling;

/* The run of sample i, and the sample's place. */
static size_t run_of_sample(const runs *r, size_t i, uint64_t *place)
{
	lower_bound b = { .lo = 1, .hi = r->count };
	while (lower_bound_open(&b))
		lower_bound_step(&b, r->sample_at[b.mid] <= i);
	const size_t k = b.lo - 1;
	*place = r->start[k] + (i - r->sample_at[k]) * r->stride;
	return k;
}

static status take_sample(const sampling *s, size_t i, unsigned char *rec, err *e)
{
	const runs *r = &s->d->r;
	const layout *l = &r->recs.lay;
	uint64_t place;
	const size_t k = run_of_sample(r, i, &place);
	const status rc = sorted_files_read(s->d->files, k, rec, l->record_bytes,
					    (place - r->start[k]) * l->record_bytes, e);
	if (rc != ST_OK)
		return rc;
	const records one = { rec, *l, r->recs.rank };
	const entry en = entry_make(rec, l, 0);
	item *it = (void *)(s->d->sample + i * item_bytes(l));
	item_of(it, &en, &one);
	it->lo |= place;
	return ST_OK;
}

static void work(void *sampling_, unsigned worker)
{
	sampling *s = sampling_;
	unsigned char *rec = s->recs + worker * s->d->r.recs.lay.record_bytes;
	err e = { ST_OK, "" };
	for (size_t i; e.code == ST_OK && (i = atomic_fetch_add(&s->next, 1)) < s->d->samples;)
		(void)take_sample(s, i, rec, &e);
	pthread_mutex_lock(&s->lock);
	if (e.code != ST_OK)
		err_set(&s->e, e.code, "%s", e.text);
	pthread_mutex_unlock(&s->lock);
}

static status take_samples(read_runs *d, unsigned threads, mem *m, err *e)
{
	sampling s = { .d = d, .e = { ST_OK, "" } };
	const unsigned n = (unsigned)size_min(threads + WAITING, d->samples);
	s.recs = mem_array(m, n, d->r.recs.lay.record_bytes, "samples", e);
	if (!s.recs)
		return ST_RESOURCE;
	pthread_mutex_init(&s.lock, NULL);
	pool_run(n, work, &s);
	pthread_mutex_destroy(&s.lock);
	mem_free(m, s.recs);
	return s.e.code == ST_OK ? ST_OK : err_set(e, s.e.code, "%s", s.e.text);
}

/* ------------------------------------------------------------------------------------ disorder */

/* The first record in (from, to] of the run that belongs before the one before it; there is one. */
static status name_disorder(const read_runs *d, size_t k, uint64_t from, uint64_t to, mem *m,
			    err *e)
{
	const layout *l = &d->r.recs.lay;
	const uint64_t bytes = l->record_bytes, most = SCAN_BYTES / bytes + 2;
	unsigned char *recs = mem_array(m, (size_t)most, bytes, "records", e);
	status rc = recs ? ST_OK : ST_RESOURCE;
	while (rc == ST_OK && from < to) {
		const size_t n = (size_t)u64_min(to - from + 1, most);
		rc = sorted_files_read(d->files, k, recs, n * bytes, from * bytes, e);
		for (size_t i = 1; rc == ST_OK && i < n; i++)
			if (key_compare(l, recs + (i - 1) * bytes, recs + i * bytes) > 0)
				rc = sorted_files_disorder(d->files, k, from + i, e);
		from += n - 1;
	}
	mem_free(m, recs);
	return rc == ST_OK ? sorted_files_disorder(d->files, k, to, e) : rc;
}

static status check_samples(const read_runs *d, mem *m, err *e)
{
	const runs *r = &d->r;
	for (size_t k = 0; k < r->count; k++)
		for (size_t s = 1; s < runs_samples(r, k); s++)
			if (item_cmp(runs_sample(r, k, s - 1), runs_sample(r, k, s), &r->recs.lay) >
			    0)
				return name_disorder(d, k, (s - 1) * r->stride, s * r->stride, m,
						     e);
	return ST_OK;
}

/* ------------------------------------------------------------------------------------- opening */

static status lay_out(const read_runs_plan *p, size_t stride, mem *m, read_runs *d, err *e)
{
	const size_t count = sorted_files_count(d->files);
	d->start = mem_array(m, count + 1, sizeof *d->start, "runs", e);
	d->sample_at = mem_array(m, count + 1, sizeof *d->sample_at, "samples", e);
	if (!d->start || !d->sample_at)
		return ST_RESOURCE;
	for (size_t k = 0; k < count; k++) {
		const uint64_t n = sorted_files_recs(d->files, k);
		d->start[k + 1] = d->start[k] + n;
		d->sample_at[k + 1] = d->sample_at[k] + (size_t)((n - 1) / stride + 1);
	}
	d->n = (size_t)d->start[count];
	d->samples = d->sample_at[count];
	d->sample = mem_array(m, d->samples, item_bytes(&p->lay), "samples", e);
	d->r = (runs){ .recs = { NULL, p->lay, p->rank },
		       .count = count,
		       .start = d->start,
		       .spill = d->spill,
		       .lookup = &d->lookup,
		       .sample = d->sample,
		       .sample_at = d->sample_at,
		       .stride = stride };
	return d->sample ? ST_OK : ST_RESOURCE;
}

status sorted_runs_open(const input *in, const read_runs_plan *p, size_t stride, mem *m,
			read_runs *out, err *e)
{
	*out = (read_runs){ 0 };
	status rc = sorted_files_open(&out->files, m, in, &p->lay, p->direct, p->io, e);
	if (rc == ST_OK)
		rc = spill_open_files(&out->spill, m, out->files, p->lay.record_bytes, e);
	if (rc == ST_OK)
		rc = lay_out(p, stride, m, out, e);
	if (rc == ST_OK)
		rc = take_samples(out, p->threads, m, e);
	return rc == ST_OK ? check_samples(out, m, e) : rc;
}
