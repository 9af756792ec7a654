/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the output without an exchange, on a single rank or with --merge. Each thread takes pieces
 * of the sorted sequence. It gathers the records of a piece, inspects them, and writes them at
 * their place. Memory: for each thread a piece, a batch to write, and two keys. */
#include "open_output.h"
#include "io/file.h"
#include "base/size.h"
#include "base/arith.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/trace.h"
#include "testing/failpoint.h"
#include "kernel/gather.h"
#include "base/pool.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

enum { EARLY_BYTES = 1 << 20 };

/* The memory of a thread, and its piece. */
typedef struct workspace {
	unsigned char *batch;
	sorted_piece in;
	unsigned char *front; /* a record */
	fold_value *value;    /* of folded fields of a piece */
	piece p;              /* the part of `in` that is written */
	uint64_t first;       /* records of the output before p */
	inspected seen;       /* the records of p that were written */
	double verify_s;      /* time to inspect these records */
	err e;
} workspace;

/* Consecutive pieces [from, to) that are written. */
typedef struct written {
	uint64_t from, to, recs;
	unsigned char *first_key, *last_key;
} written;

typedef struct single_rank {
	job *j;
	rank_env *env;
	const output *out;
	output_part *w;
	sorted_reader *from;
	io_fd to;
	workspace *workspace;
	size_t threads, chunk, batch_bytes;
	uint32_t out_bytes;  /* of a record in the output */
	unsigned char *keys; /* two keys for each of `done`, and two for each thread */
	written *done;       /* [dones] ranges of written pieces; others are under way */
	size_t dones;
	selection selection;  /* if records are dropped */
	pthread_mutex_t lock; /* for the following fields and the job's sums */
	pthread_cond_t turn;
	uint64_t placed, finished; /* pieces that are joined; pieces that are written */
	uint64_t placed_recs;
	err e;
	double write_s;
} single_rank;

/* Inspect the n records at `to`, and write them after the first `at` records of the output. */
static void write_batch(single_rank *a, workspace *b, unsigned char *to, size_t n, uint64_t at)
{
	const output *o = a->out;
	const layout *l = &a->env->o->lay;
	const shape *s = &a->env->o->shape;
	const size_t bytes = n * a->out_bytes;
	const uint64_t offset = o->offset + at * a->out_bytes;
	FAIL_FLIP(FAIL_WRITE, to, n * l->record_bytes);
	const double t0 = now_s();
	const size_t bad = inspect(&b->seen, l, to, n);
	b->verify_s += now_s() - t0;
	char q[QUOTED_BYTES];
	if (bad) {
		err_set(&b->e, ST_INTERNAL,
			"output %s would be out of order from record %" PRIu64 " on: %zu record%s",
			err_quoted(output_name(o), q), at, bad, plural(bad));
		return;
	}
	FAIL_PHASE("write");
	if (shape_cuts(s))
		shape_cut(s, l->record_bytes, to, n, &b->seen.written);
	if (o->is_stdout)
		file_write_at(o->fd, to, bytes, FILE_APPEND, output_name(o), &b->e);
	else
		io_fd_write_at(&a->to, to, bytes, offset, output_name(o), &b->e);
	progress_add(PROGRESS_OUT, b->e.code == ST_OK ? n * l->record_bytes : 0);
}

/* Gather and write a piece in batches, which end at block borders of the file. A batch has the same
 * offset in a page of memory as in a page of the file. */
static void write_batches(single_rank *a, workspace *b)
{
	piece *p = &b->p;
	err *e = &b->e;
	const sorted_piece *in = &b->in;
	const uint64_t offset = a->out->is_stdout ? 0 : a->out->offset, bytes = a->out_bytes;
	const size_t header = (size_t)(offset % bytes);
	/* direct I/O needs aligned memory; cutting changes the records */
	const bool in_place = a->to.direct < 0 && !shape_cuts(&a->env->o->shape);
	const double t0 = now_s();
	double gather_s = 0;
	if (p->fronts && e->code == ST_OK &&
	    selection_store(&a->selection, p->front, 1, p->front_value, &p->dropped, e) == ST_OK)
		write_batch(a, b, p->front, 1, b->first++);
	for (size_t done = 0, n; e->code == ST_OK && done < p->n; done += n) {
		const uint64_t place = offset / bytes + b->first + done;
		unsigned char *to = b->batch + (size_t)(-(uintptr_t)b->batch % IO_FD_ALIGN) +
				    (header + place * bytes) % IO_FD_ALIGN;
		unsigned char *const there = in_place ? sorted_piece_in_order(in, done) : NULL;
		n = size_min(a->chunk - (size_t)(place % a->chunk), p->n - done);
		const double span = trace_begin(), t1 = now_s();
		if (p->order) /* without the dropped records */
			p->misfits += gather(p->recs, p->order + done, n, p->n - done - n, to);
		else if (there)
			to = there;
		else
			p->misfits += sorted_piece_gather(in, done, n, to);
		trace_end(TRACE_GATHER, span);
		if (gather_misfits(p->misfits, e) == ST_OK)
			(void)selection_store(&a->selection, to, n,
					      p->value + done * a->env->o->lay.folds, &p->dropped,
					      e);
		gather_s += now_s() - t1;
		if (e->code == ST_OK)
			write_batch(a, b, to, n, b->first + done);
	}
	/* Start to write a whole piece to the disk, because this suits the disk, and a later fsync
	 * has little left to do. Leave an output of little data to fsync. */
	if (e->code == ST_OK && !a->out->is_stdout && a->env->o->fsync && a->to.direct < 0 &&
	    own_share(a->env, a->j->shares.out) * bytes >= EARLY_BYTES)
		file_start_writeback(a->out->fd, a->out->offset + b->first * bytes, p->n * bytes);
	pthread_mutex_lock(&a->lock);
	a->env->stats->verify_s += b->verify_s;
	a->write_s += now_s() - t0 - gather_s - b->verify_s;
	pthread_mutex_unlock(&a->lock);
}

/* Join range w[1] to range w[0], which ends where w[1] begins. The caller holds the lock. */
static void join_written(single_rank *a, written *w)
{
	const layout *l = &a->env->o->lay;
	const size_t key = l->key_bytes;
	const int most = a->env->o->unique ? -1 : 0;
	const written next = w[1];
	if (w[0].recs && next.recs && key_copies_compare(l, w[0].last_key, next.first_key) > most)
		err_set(&a->e, ST_INTERNAL,
			"piece %" PRIu64 " of the output begins before the end of the last one",
			next.from);
	if (w[0].recs == 0 && next.recs)
		memcpy(w[0].first_key, next.first_key, key);
	if (next.recs)
		memcpy(w[0].last_key, next.last_key, key);
	w[0].to = next.to;
	w[0].recs += next.recs;
	a->dones--;
	memmove(w + 1, w + 2, (size_t)(a->done + a->dones - (w + 1)) * sizeof *w);
	a->done[a->dones] = next; /* keep the memory of its keys for the next range */
}

/* Note a written piece, whose records are in order, and compare its first and last key with the
 * neighbouring pieces. The caller holds the lock. */
static void note_written(single_rank *a, uint64_t number, const inspected *seen)
{
	const size_t key = a->env->o->lay.key_bytes;
	size_t i = a->dones++;
	written w = a->done[i]; /* keep the memory of its keys */
	w.from = number;
	w.to = number + 1;
	w.recs = seen->records;
	if (seen->records && seen->first_key) {
		memcpy(w.first_key, seen->first_key, key);
		memcpy(w.last_key, seen->last_key, key);
	}
	for (; i > 0 && a->done[i - 1].from > number; i--)
		a->done[i] = a->done[i - 1];
	a->done[i] = w;
	if (i + 1 < a->dones && a->done[i + 1].from == number + 1)
		join_written(a, &a->done[i]);
	if (i > 0 && a->done[i - 1].to == number)
		join_written(a, &a->done[i - 1]);
}

/* Write piece after piece, until the last piece or a failure. A thread that has failed still takes
 * the turn of its piece, because other threads may wait for it. */
static void single_rank_thread(void *single_rank_, unsigned worker)
{
	single_rank *a = single_rank_;
	workspace *b = &a->workspace[worker];
	const sorted_reader_ops *ops = a->from->ops;
	const bool drops = settings_drops(a->env->o);
	const size_t key = a->env->o->lay.key_bytes;
	const size_t room = a->threads + 1; /* see alloc_workspaces */
	unsigned char *keys = a->keys + 2 * (room + worker) * key;
	for (bool going = true; going;) {
		sorted_piece *in = &b->in;
		b->e = (err){ ST_OK, "" };
		if (ops->piece(a->from, in, &b->e) == ST_OK && in->n == 0)
			return;
		b->seen = (inspected){ .order = output_order(a->env->o) };
		if (b->seen.order != INSPECT_ANY) {
			b->seen.first_key = keys;
			b->seen.last_key = keys + key;
		}
		b->verify_s = 0;
		b->p = (piece){ .recs = &in->recs, .n = in->n };
		b->first = in->first;
		if (drops) {
			/* wait until all earlier pieces are joined: only then the number of records
			 * before this piece is known */
			piece *p = &b->p;
			p->misfits = sorted_piece_entries(in);
			p->order = in->room;
			p->front = b->front;
			p->value = b->value;
			if (b->e.code != ST_OK)
				p->n = 0; /* but join it, because other threads wait for that */
			if (a->env->o->unique)
				selection_thin(&a->selection, p, in->room);
			pthread_mutex_lock(&a->lock);
			while (a->placed < in->number)
				pthread_cond_wait(&a->turn, &a->lock);
			b->first = a->placed_recs;
			a->placed_recs += selection_join(&a->selection, p);
			a->placed++;
			pthread_cond_broadcast(&a->turn);
			pthread_mutex_unlock(&a->lock);
			selection_drop_rest(&a->selection, p, &b->e);
			(void)gather_misfits(p->misfits, &b->e);
		}
		pthread_mutex_lock(&a->lock);
		while (a->out->is_stdout && a->finished < in->number)
			pthread_cond_wait(&a->turn, &a->lock);
		pthread_mutex_unlock(&a->lock);
		write_batches(a, b);
		if (ops->give)
			ops->give(a->from, in);
		pthread_mutex_lock(&a->lock);
		(void)err_join(&a->e, &b->e);
		note_written(a, in->number, &b->seen);
		a->w->seen.records += b->seen.records;
		a->w->seen.sum = checksum_join(a->w->seen.sum, b->seen.sum);
		a->w->seen.written = checksum_join(a->w->seen.written, b->seen.written);
		dropped_join(&a->w->dropped, &b->p.dropped);
		a->finished++;
		pthread_cond_broadcast(&a->turn);
		going = a->e.code == ST_OK;
		pthread_mutex_unlock(&a->lock);
	}
}

static status alloc_workspaces(single_rank *a)
{
	rank_env *env = a->env;
	const layout *l = &env->o->lay;
	const sort_plan *b = &a->j->memory.sort;
	const bool drops = settings_drops(env->o);
	status rc = ST_OK;
	a->out_bytes = settings_out_bytes(env->o);
	a->chunk = io_fd_chunk_recs(a->out_bytes, b->write_bytes / l->record_bytes * a->out_bytes);
	a->batch_bytes = size_min(a->chunk, a->from->most) * l->record_bytes + 2 * IO_FD_ALIGN;
	a->threads = (size_t)u64_min(b->workers, a->from->pieces);
	a->workspace = mem_array(&env->m, a->threads, sizeof *a->workspace, "threads", &env->e);
	const size_t room = a->threads + 1; /* a piece under way may separate two ranges */
	a->done = mem_array(&env->m, room, sizeof *a->done, "pieces", &env->e);
	a->keys = mem_array(&env->m, 2 * (room + a->threads), l->key_bytes, "keys", &env->e);
	for (size_t i = 0; a->done && a->keys && i < room; i++) {
		a->done[i].first_key = a->keys + 2 * i * l->key_bytes;
		a->done[i].last_key = a->done[i].first_key + l->key_bytes;
	}
	if (drops)
		rc = selection_open(&a->selection, env, output_most(a->j),
				    !sorted_share_is_folded(&a->j->data));
	for (size_t i = 0; a->workspace && i < a->threads && rc == ST_OK; i++) {
		workspace *w = &a->workspace[i];
		w->batch = mem_array(&env->m, a->batch_bytes, 1, "output buffers", &env->e);
		if (drops) {
			w->front = mem_array(&env->m, 1, l->record_bytes, "a record", &env->e);
			w->value = mem_array(&env->m, a->from->most, l->folds * sizeof *w->value,
					     "values of folded fields", &env->e);
		}
		rc = w->batch && ((w->front && w->value) || !drops)
			     ? sorted_piece_open(&w->in, a->from, &env->m, &env->e)
			     : ST_RESOURCE;
	}
	return a->workspace && a->keys && a->done ? rc : ST_RESOURCE;
}

status phase_single_rank(job *j)
{
	const sorted_share *d = &j->data;
	rank_env *env = &j->env;
	single_rank a = {
		.j = j, .env = env, .out = &j->files.out, .w = &j->part, .to = IO_FD_NONE
	};
	const sort_plan *b = &j->memory.sort;
	const sorted_use u = { .m = &env->m,
			       .piece_recs = b->piece_recs,
			       .drops = settings_drops(env->o),
			       .ahead_bytes = b->ahead_bytes,
			       .readers = SORT_PLAN_READERS };
	const uint64_t *lo = d->cut ? d->cut : d->s->start;
	const uint64_t *hi = d->cut ? d->cut + d->s->count : d->s->start + 1;
	status rc = d->s->ops->open_reader(d->s, lo, hi, &u, &a.from, &env->e);
	if (rc == ST_OK)
		rc = alloc_workspaces(&a);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = output_open(j, &a.to);
	if (rc == ST_OK && d->n > 0) {
		rank_result *mine = env->stats;
		checksum sum = { 0 };
		const double t0 = now_s();
		pthread_mutex_init(&a.lock, NULL);
		pthread_cond_init(&a.turn, NULL);
		const unsigned threads = pool_run((unsigned)a.threads, single_rank_thread, &a);
		pthread_cond_destroy(&a.turn);
		pthread_mutex_destroy(&a.lock);
		/* the time that a thread spent on writing, on average */
		result_shift(mine, PH_WRITE, fmin(now_s() - t0, a.write_s / threads));
		if (a.dones > 0 && a.done[0].recs) {
			memcpy(j->part.seen.first_key, a.done[0].first_key, env->o->lay.key_bytes);
			memcpy(j->part.seen.last_key, a.done[0].last_key, env->o->lay.key_bytes);
		}
		rc = err_join(&env->e, &a.e);
		if (rc == ST_OK && a.from->ops->end)
			rc = a.from->ops->end(a.from, &sum, &env->e);
		mine->sum_in = checksum_join(mine->sum_in, sum);
	}
	dropped_join(&j->part.dropped, &j->cuts.dropped);
	if (rc == ST_OK && d->n > 0 && settings_drops(env->o)) {
		/* write the record that is held after the last piece */
		workspace *held = &a.workspace[0];
		held->seen = j->part.seen;
		held->verify_s = 0;
		if (selection_last(&a.selection, held->front))
			write_batch(&a, held, held->front, 1, a.placed_recs);
		(void)err_join(&held->e, &a.selection.e);
		j->part.seen = held->seen;
		env->stats->verify_s += held->verify_s;
		dropped_join(&j->part.dropped, &a.selection.dropped);
		rc = err_join(&env->e, &held->e);
	}
	output_close(&a.to);
	for (size_t i = 0; a.workspace && i < a.threads; i++) {
		workspace *w = &a.workspace[i];
		mem_free(&env->m, w->batch);
		mem_free(&env->m, w->front);
		mem_free(&env->m, w->value);
		sorted_piece_close(&w->in, &env->m);
	}
	mem_free(&env->m, a.workspace);
	mem_free(&env->m, a.done);
	mem_free(&env->m, a.keys);
	selection_close(&a.selection, &env->m);
	if (a.from)
		a.from->ops->close_reader(a.from);
	return memory_share_check(d, rc, &env->e);
}
