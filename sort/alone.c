/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One rank has nobody to exchange with: its threads take pieces of the merged order, each merges
 * one in the cache, gathers its records, inspects and writes them at their place. Memory: for each
 * thread a piece of records and two of entries; for each piece two keys. */
#include "clock.h"
#include "flow.h"
#include "gather.h"
#include "kmerge.h"
#include "pieces.h"
#include "pool.h"

#include <inttypes.h>
#include <stdatomic.h>

enum { WAITING = 2 };

/* A thread's room. */
typedef struct bench {
	unsigned char *raw; /* the records of a piece, and room to align them */
	entry *order, *tmp;
} bench;

typedef struct alone {
	job *j;
	pieces p;
	io_fd to;
	bench *bench;
	size_t threads, raw_bytes;
	unsigned char *keys; /* [2 * pieces] the first and the last of each */
	atomic_size_t next;
	pthread_mutex_t lock; /* for what follows, and the job's sums */
	pthread_cond_t turn;
	size_t written; /* pieces, where they have to be in order */
	err e;
	double write_s;
} alone;

static void merge_piece(const alone *a, const bench *b, size_t i)
{
	const runs *r = &a->j->r;
	const uint64_t *cut = a->p.cut + i * r->count;
	const entry *from[KMERGE_MAX];
	size_t n[KMERGE_MAX];
	for (size_t k = 0; k < r->count; k++) {
		from[k] = r->e + cut[k];
		n[k] = (size_t)(cut[r->count + k] - cut[k]);
	}
	entries_merge(from, n, r->count, b->order, b->tmp, &r->recs);
}

/* A file is written wherever a piece is ready, a stream piece by piece. */
static void write_piece(alone *a, const unsigned char *recs, size_t i, size_t bytes, err *e)
{
	const output *o = &a->j->out;
	const char *name = output_name(o);
	if (o->is_stdout) {
		pthread_mutex_lock(&a->lock);
		while (a->written < i)
			pthread_cond_wait(&a->turn, &a->lock);
		if (a->e.code == ST_OK)
			file_write_at(o->fd, recs, bytes, FILE_APPEND, name, e);
		a->written++;
		pthread_cond_broadcast(&a->turn);
		pthread_mutex_unlock(&a->lock);
		return;
	}
	const uint64_t offset = o->offset + a->p.first[i] * a->j->o->lay.record_bytes;
	if (io_write_at(&a->to, recs, bytes, offset, name, e) == ST_OK && a->j->o->fsync &&
	    a->to.direct < 0)
		file_start_writeback(o->fd, offset, bytes);
}

static void do_piece(alone *a, const bench *b, size_t i)
{
	const layout *l = &a->j->o->lay;
	const size_t n = (size_t)(a->p.first[i + 1] - a->p.first[i]);
	const uint64_t offset = a->p.first[i] * l->record_bytes + a->j->out.offset;
	unsigned char *keys = a->keys + 2 * i * l->key_bytes;
	inspected seen = { .first_key = keys, .last_key = keys + l->key_bytes };
	err e = { ST_OK, "" };
	/* as far from a page's start as from a block's start in the file */
	unsigned char *recs = b->raw + (size_t)(-(uintptr_t)b->raw % IO_ALIGN) + offset % IO_ALIGN;
	merge_piece(a, b, i);
	gather(&a->j->recs, b->order, n, 0, recs);
	const double t0 = now_s();
	const size_t bad = inspect(&seen, l, recs, n);
	const double t1 = now_s();
	if (bad)
		err_set(&e, ST_INTERNAL, "%zu records from record %" PRIu64 " on are out of order",
			bad, a->p.first[i]);
	else
		write_piece(a, recs, i, n * l->record_bytes, &e);
	pthread_mutex_lock(&a->lock);
	if (e.code != ST_OK)
		err_set(&a->e, e.code, "%s", e.text);
	a->j->seen.records += seen.records;
	a->j->seen.sum = checksum_join(a->j->seen.sum, seen.sum);
	a->j->mine.verify_s += t1 - t0;
	a->write_s += now_s() - t1;
	pthread_mutex_unlock(&a->lock);
}

static void work(void *alone_, unsigned worker)
{
	alone *a = alone_;
	bool going = true;
	for (size_t i; going && (i = atomic_fetch_add(&a->next, 1)) < a->p.count;) {
		do_piece(a, &a->bench[worker], i);
		pthread_mutex_lock(&a->lock);
		/* where pieces go out in order, none may be left out */
		going = a->e.code == ST_OK || a->j->out.is_stdout;
		pthread_mutex_unlock(&a->lock);
	}
}

/* Pieces are in order inside; are they among each other? */
static status join_pieces(alone *a)
{
	job *j = a->j;
	const size_t key = j->o->lay.key_bytes;
	if (a->e.code != ST_OK)
		return err_set(&j->e, a->e.code, "%s", a->e.text);
	memcpy(j->seen.first_key, a->keys, key);
	memcpy(j->seen.last_key, a->keys + (2 * a->p.count - 1) * key, key);
	for (size_t i = 1; i < a->p.count; i++)
		if (memcmp(a->keys + (2 * i - 1) * key, a->keys + 2 * i * key, key) > 0)
			return err_set(&j->e, ST_INTERNAL,
				       "record %" PRIu64 " is smaller than the one before it",
				       a->p.first[i]);
	return ST_OK;
}

static status alloc_benches(alone *a)
{
	job *j = a->j;
	const layout *l = &j->o->lay;
	status rc = ST_OK;
	a->raw_bytes = a->p.most * l->record_bytes + 2 * IO_ALIGN;
	a->threads = j->threads + WAITING < a->p.count ? j->threads + WAITING : a->p.count;
	a->bench = mem_array(&j->m, a->threads, sizeof *a->bench, "threads", &j->e);
	a->keys = mem_array(&j->m, 2 * a->p.count, l->key_bytes, "keys", &j->e);
	for (size_t i = 0; a->bench && i < a->threads; i++) {
		bench *b = &a->bench[i];
		b->raw = mem_array(&j->m, a->raw_bytes, 1, "output buffers", &j->e);
		b->order = mem_array(&j->m, a->p.most, sizeof *b->order, "merging", &j->e);
		b->tmp = mem_array(&j->m, a->p.most, sizeof *b->tmp, "merging", &j->e);
		if (!b->raw || !b->order || !b->tmp)
			rc = ST_RESOURCE;
	}
	return a->bench && a->keys ? rc : ST_RESOURCE;
}

static void free_benches(alone *a)
{
	job *j = a->j;
	for (size_t i = 0; a->bench && i < a->threads; i++) {
		const bench *b = &a->bench[i];
		mem_free(&j->m, b->raw, a->raw_bytes, 1);
		mem_free(&j->m, b->order, a->p.most, sizeof *b->order);
		mem_free(&j->m, b->tmp, a->p.most, sizeof *b->tmp);
	}
	mem_free(&j->m, a->bench, a->threads, sizeof *a->bench);
	mem_free(&j->m, a->keys, 2 * a->p.count, j->o->lay.key_bytes);
}

static status merge_and_write(alone *a)
{
	job *j = a->j;
	status rc = alloc_benches(a);
	if (rc == ST_OK)
		rc = flow_output(j, &a->to);
	if (rc == ST_OK && j->data.n > 0) {
		const double t0 = now_s();
		pthread_mutex_init(&a->lock, NULL);
		pthread_cond_init(&a->turn, NULL);
		const unsigned threads = pool_run((unsigned)a->threads, work, a);
		pthread_cond_destroy(&a->turn);
		pthread_mutex_destroy(&a->lock);
		/* of the time together, the part that all threads spent on writing on average */
		const double all_s = now_s() - t0, write_s = a->write_s / threads;
		j->mine.phase_s[PH_WRITE] += write_s < all_s ? write_s : all_s;
		j->mine.phase_s[j->at] -= write_s < all_s ? write_s : all_s;
		rc = join_pieces(a);
	}
	flow_output_close(&a->to);
	free_benches(a);
	return rc;
}

status phase_alone(job *j)
{
	alone a = { .j = j, .to = { -1, -1 } };
	const size_t recs = j->o->piece_bytes / j->o->lay.record_bytes + 1;
	j->recv[0] = j->data.n;
	status rc = pieces_cut(&a.p, &j->m, &j->r, recs, &j->e);
	if (rc == ST_OK)
		rc = merge_and_write(&a);
	pieces_free(&a.p, &j->m);
	j->mine.out = j->seen.records;
	j->mine.written_bytes = j->seen.records * j->o->lay.record_bytes;
	j->mine.sum_out = j->seen.sum;
	return rc;
}
