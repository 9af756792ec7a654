/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One rank needs no exchange, and none of --merge does: threads take pieces of the merged order,
 * and each merges one, gathers its records, inspects and writes them at their place. Runs in memory
 * are cut into pieces that stay in the cache, runs on disk into as large ones as memory allows.
 * Memory: for each thread two entries for each record of a piece, on disk also the records, and a
 * batch to write; for each piece two keys. */
#include "phases.h"
#include "selection.h"
#include "io/file.h"
#include "base/size.h"
#include "base/minmax.h"
#include "base/clock.h"
#include "base/progress.h"
#include "base/trace.h"
#include "testing/failpoint.h"
#include "kernel/gather.h"
#include "kernel/merge_partition.h"
#include "base/pool.h"
#include "spill/merge_slice.h"
#include "spill/sorted_pieces.h"
#include "testing/test_sizes.h"

#include <inttypes.h>
#include <stdatomic.h>

/* A batch is gathered, inspected and copied to the page cache while it is in the processor's own
 * cache. */
enum { CACHED_BATCH_BYTES = 256 << 10 };

/* A thread's room. */
typedef struct workspace {
	unsigned char *batch;
	entry *order, *tmp;   /* of a piece in memory */
	merge_slice v;        /* of a piece on disk */
	sorted_piece input;   /* of a piece of sorted inputs */
	unsigned char *front; /* a record */
} workspace;

/* A piece, merged. */
typedef struct merged {
	piece p;
	entry *order, *free; /* its entries, and room for as many */
	uint64_t first;      /* records before it */
	unsigned char *recs; /* where its records lie in order already; NULL: they do not */
} merged;

typedef struct single_rank {
	rank_env *env;
	const settled *k;
	const output *out;
	const read_runs *d;
	output_part *w;
	merge_partition p;     /* in memory, or */
	merge_slices slices;   /* on disk, */
	read_ahead *ahead;     /* and read ahead; NULL: not; or */
	sorted_pieces *inputs; /* of inputs that are sorted already */
	size_t count, most;
	io_fd to;
	workspace *workspace;
	size_t threads, chunk, batch_bytes;
	unsigned char *keys; /* [2 * count] the first and the last of each piece, */
	uint64_t *recs;      /* [count] which has so many records */
	selection selection; /* where records are dropped */
	atomic_size_t next;
	pthread_mutex_t lock; /* for what follows, and the job's sums */
	pthread_cond_t turn;
	size_t placed, written; /* pieces whose size is known; written, where order matters */
	uint64_t placed_recs;
	err e;
	double write_s;
} single_rank;

static bool on_disk(const single_rank *a)
{
	return a->d->r.spill != NULL;
}

/* Records are read while they are merged. */
static bool reads(const single_rank *a)
{
	return on_disk(a) || a->inputs;
}

static void merge_in_memory(const single_rank *a, const workspace *b, size_t i, merged *g)
{
	const double span = trace_begin();
	const size_t n = merge_partition_merge(&a->p, i, b->order, b->tmp);
	FAIL_FLIP(FAIL_ENTRIES, b->order, n * sizeof(entry));
	trace_end(TRACE_MERGE, span);
	*g = (merged){ .p = { .recs = &a->d->r.recs, .n = n },
		       .order = b->order,
		       .free = b->tmp,
		       .first = a->p.first[i] };
}

/* The turn of piece i to find its place. */
static void begin_turn(single_rank *a, size_t i)
{
	pthread_mutex_lock(&a->lock);
	while (a->placed < i)
		pthread_cond_wait(&a->turn, &a->lock);
}

static void end_turn(single_rank *a, merged *g, uint64_t recs)
{
	g->first = a->placed_recs;
	a->placed_recs += recs;
	a->placed++;
	pthread_cond_broadcast(&a->turn);
	pthread_mutex_unlock(&a->lock);
}

/* How many records a piece on disk has shows when it is read; so pieces find their place in turn.
 */
static void merge_from_disk(single_rank *a, workspace *b, size_t i, merged *g, err *e)
{
	merge_slice_load(&b->v, &a->slices, i, e);
	*g = (merged){ .p = { .recs = &b->v.recs, .n = b->v.n } };
	if (!settings_drops(a->env->o)) {
		begin_turn(a, i);
		end_turn(a, g, b->v.n);
	}
	if (e->code != ST_OK)
		return;
	const double span = trace_begin();
	merge_slice_merge(&b->v);
	trace_end(TRACE_MERGE, span);
	g->order = b->v.order;
	g->free = b->v.order == b->v.e ? b->v.tmp : b->v.e;
}

/* Returns the number of the piece. */
static size_t merge_inputs(single_rank *a, workspace *b, merged *g, err *e)
{
	const double span = trace_begin();
	sorted_piece *in = &b->input;
	const size_t i = (size_t)sorted_pieces_take(a->inputs, in, e);
	FAIL_FLIP(FAIL_ENTRIES, in->order, in->n * sizeof(entry));
	trace_end(TRACE_MERGE, span);
	*g = (merged){ .p = { .recs = &in->recs, .n = in->n },
		       .order = in->order,
		       .free = in->free,
		       .first = in->first };
	if (!settings_drops(a->env->o) && a->to.direct < 0)
		g->recs = in->in_order;
	return i;
}

/* How many records are left of a piece shows when it is merged; so it finds its place then. */
static void drop_records(single_rank *a, const workspace *b, size_t i, merged *g, err *e)
{
	_Static_assert(sizeof(entry) >= sizeof(uint64_t), "room for counts");
	if (e->code != ST_OK)
		g->p.n = 0; /* others wait for its turn all the same */
	g->p.front = b->front;
	if (a->env->o->unique)
		selection_thin(&a->selection, &g->p, g->order, (uint64_t *)(void *)g->free);
	begin_turn(a, i);
	end_turn(a, g, selection_join(&a->selection, &g->p));
	selection_drop_rest(&a->selection, &g->p);
	(void)gather_misfits(g->p.misfits, e);
}

static void write_batch(single_rank *a, const unsigned char *recs, size_t n, uint64_t at, err *e)
{
	const output *o = a->out;
	const size_t bytes = n * a->env->o->lay.record_bytes;
	const uint64_t offset = o->offset + at * a->env->o->lay.record_bytes;
	FAIL_PHASE("write");
	if (o->is_stdout)
		file_write_at(o->fd, recs, bytes, FILE_APPEND, output_name(o), e);
	else
		io_fd_write_at(&a->to, recs, bytes, offset, output_name(o), e);
}

/* Inspected and written: n records at `to`, behind `at` others. */
static void emit_batch(single_rank *a, unsigned char *to, size_t n, uint64_t at, inspected *seen,
		       double *verify_s, err *e)
{
	const layout *l = &a->env->o->lay;
	FAIL_FLIP(FAIL_WRITE, to, n * l->record_bytes);
	const double t0 = now_s();
	const size_t bad = inspect(seen, l, to, n);
	*verify_s += now_s() - t0;
	char q[QUOTED_BYTES];
	if (bad)
		err_set(e, ST_INTERNAL,
			"what is for output %s is out of order from record %" PRIu64
			" on: %zu record%s",
			err_quoted(output_name(a->out), q), at, bad, plural(bad));
	else
		write_batch(a, to, n, at, e);
	progress_add(PROGRESS_OUT, e->code == ST_OK ? n * l->record_bytes : 0);
}

/* Early, so that a later fsync has little left to do; of the whole piece, as the disk likes it. */
static void start_writeback(const single_rank *a, const merged *g, const err *e)
{
	const output *o = a->out;
	const uint64_t bytes = a->env->o->lay.record_bytes;
	if (e->code == ST_OK && !o->is_stdout && a->env->o->fsync && a->to.direct < 0)
		file_start_writeback(o->fd, o->offset + g->first * bytes, g->p.n * bytes);
}

/* Batches end at blocks of the file, and begin in memory as far from a page as there. */
static void emit(single_rank *a, const workspace *b, merged *g, inspected *seen, err *e)
{
	piece *p = &g->p;
	const layout *l = &a->env->o->lay;
	const uint64_t offset = a->out->is_stdout ? 0 : a->out->offset;
	const size_t header = (size_t)(offset % l->record_bytes);
	const double t0 = now_s();
	double verify_s = 0, gather_s = 0;
	if (p->front_count && e->code == ST_OK) {
		selection_count(&a->selection, p->front, 1, &p->front_count, &p->dropped);
		emit_batch(a, p->front, 1, g->first++, seen, &verify_s, e);
	}
	for (size_t done = 0, n; e->code == ST_OK && done < p->n; done += n) {
		const uint64_t place = offset / l->record_bytes + g->first + done;
		unsigned char *to = b->batch + (size_t)(-(uintptr_t)b->batch % IO_FD_ALIGN) +
				    (header + place * l->record_bytes) % IO_FD_ALIGN;
		n = a->chunk - (size_t)(place % a->chunk);
		n = n < p->n - done ? n : p->n - done;
		const double span = trace_begin(), t1 = now_s();
		if (g->recs)
			to = g->recs + done * l->record_bytes;
		else
			p->misfits += gather(p->recs, p->order + done, n, p->n - done - n, to);
		trace_end(TRACE_GATHER, span);
		selection_count(&a->selection, to, n, p->count ? p->count + done : NULL,
				&p->dropped);
		gather_s += now_s() - t1;
		if (gather_misfits(p->misfits, e) == ST_OK)
			emit_batch(a, to, n, g->first + done, seen, &verify_s, e);
	}
	start_writeback(a, g, e);
	pthread_mutex_lock(&a->lock);
	a->env->stats->verify_s += verify_s;
	a->write_s += now_s() - t0 - gather_s - verify_s;
	pthread_mutex_unlock(&a->lock);
}

/* A stream takes the pieces one after another. */
static void await_turn(single_rank *a, size_t i)
{
	pthread_mutex_lock(&a->lock);
	while (a->written < i)
		pthread_cond_wait(&a->turn, &a->lock);
	pthread_mutex_unlock(&a->lock);
}

static void do_piece(single_rank *a, workspace *b, size_t i)
{
	const layout *l = &a->env->o->lay;
	err e = { ST_OK, "" };
	merged g;
	if (a->inputs)
		i = merge_inputs(a, b, &g, &e);
	else if (on_disk(a))
		merge_from_disk(a, b, i, &g, &e);
	else
		merge_in_memory(a, b, i, &g);
	unsigned char *keys = a->keys + 2 * i * l->key_bytes;
	inspected seen = { .first_key = keys,
			   .last_key = keys + l->key_bytes,
			   .order = output_order(a->env->o) };
	g.p.order = g.order;
	if (settings_drops(a->env->o))
		drop_records(a, b, i, &g, &e);
	if (a->out->is_stdout)
		await_turn(a, i);
	emit(a, b, &g, &seen, &e);
	if (a->inputs)
		sorted_pieces_give(a->inputs, &b->input);
	pthread_mutex_lock(&a->lock);
	if (e.code != ST_OK)
		err_set(&a->e, e.code, "%s", e.text);
	a->recs[i] = seen.records;
	a->w->seen.records += seen.records;
	a->w->seen.sum = checksum_join(a->w->seen.sum, seen.sum);
	a->w->dropped.records += g.p.dropped.records;
	a->w->dropped.sum = checksum_join(a->w->dropped.sum, g.p.dropped.sum);
	a->written++;
	pthread_cond_broadcast(&a->turn);
	pthread_mutex_unlock(&a->lock);
}

/* A thread finishes the piece that it has taken, since others may wait for its turn; after a
 * failure no more are taken. */
static void work(void *single_rank_, unsigned worker)
{
	single_rank *a = single_rank_;
	bool going = true;
	for (size_t i; going && (i = atomic_fetch_add(&a->next, 1)) < a->count;) {
		do_piece(a, &a->workspace[worker], i);
		pthread_mutex_lock(&a->lock);
		going = a->e.code == ST_OK;
		pthread_mutex_unlock(&a->lock);
	}
}

/* Pieces are in order inside; are they among each other? */
static status join_pieces(single_rank *a)
{
	rank_env *env = a->env;
	const layout *l = &env->o->lay;
	const size_t key = l->key_bytes;
	if (a->e.code != ST_OK)
		return err_set(&env->e, a->e.code, "%s", a->e.text);
	for (size_t i = 0, before = a->count; i < a->count; i++) {
		const unsigned char *first = a->keys + 2 * i * key;
		const unsigned char *last =
			a->keys + (2 * before + 1) * key; /* of the one before */
		const int most = env->o->unique ? -1 : 0;
		if (a->recs[i] == 0)
			continue;
		if (before < i && key_copies_compare(l, last, first) > most)
			return err_set(&env->e, ST_INTERNAL,
				       "piece %zu of the output begins before the one before it "
				       "ends",
				       i);
		if (before == a->count)
			memcpy(a->w->seen.first_key, first, key);
		memcpy(a->w->seen.last_key, first + key, key);
		before = i;
	}
	return ST_OK;
}

/* What the last piece has handed on. */
static status write_last(single_rank *a)
{
	rank_env *env = a->env;
	unsigned char *rec = a->workspace[0].front;
	if (selection_last(&a->selection, rec))
		emit_batch(a, rec, 1, a->placed_recs, &a->w->seen, &env->stats->verify_s, &env->e);
	a->w->dropped.records += a->selection.dropped.records;
	a->w->dropped.sum = checksum_join(a->w->dropped.sum, a->selection.dropped.sum);
	return env->e.code;
}

static status alloc_workspace(single_rank *a, workspace *b)
{
	rank_env *env = a->env;
	b->batch = mem_array(&env->m, a->batch_bytes, 1, "output buffers", &env->e);
	if (settings_drops(env->o))
		b->front = mem_array(&env->m, 1, env->o->lay.record_bytes, "a record", &env->e);
	if (!b->batch || (settings_drops(env->o) && !b->front))
		return ST_RESOURCE;
	if (a->inputs)
		return sorted_piece_open(&b->input, a->inputs, &env->m, &env->e);
	if (on_disk(a))
		return merge_slice_open(&b->v, &env->m, &a->slices, a->ahead,
					budget_chunk_bytes(&a->k->mp->budget), &env->e);
	b->order = mem_array(&env->m, a->most, sizeof *b->order, "merging", &env->e);
	b->tmp = mem_array(&env->m, a->most, sizeof *b->tmp, "merging", &env->e);
	return b->order && b->tmp ? ST_OK : ST_RESOURCE;
}

static uint64_t data_bytes(const single_rank *a)
{
	return (uint64_t)a->d->n * a->env->o->lay.record_bytes;
}

static status alloc_workspaces(single_rank *a)
{
	rank_env *env = a->env;
	const layout *l = &env->o->lay;
	const size_t wanted =
		reads(a) ? a->k->mp->budget.workers : a->k->cpus->threads + BUDGET_SINGLE_WAITING;
	status rc = ST_OK;
	a->chunk = io_fd_chunk_recs(l->record_bytes, reads(a) ? a->k->mp->budget.write_bytes
							      : budget_batch_bytes(data_bytes(a)));
	const size_t batch = size_min(a->chunk, a->most);
	a->batch_bytes = batch * l->record_bytes + 2 * IO_FD_ALIGN;
	a->threads = size_min(wanted, a->count);
	a->workspace = mem_array(&env->m, a->threads, sizeof *a->workspace, "threads", &env->e);
	a->keys = mem_array(&env->m, 2 * a->count, l->key_bytes, "keys", &env->e);
	a->recs = mem_array(&env->m, a->count, sizeof *a->recs, "counts", &env->e);
	if (settings_drops(env->o))
		rc = selection_open(&a->selection, env, exchange_setup_most(env, a->k->s));
	for (size_t i = 0; a->workspace && i < a->threads && rc == ST_OK; i++)
		rc = alloc_workspace(a, &a->workspace[i]);
	return a->workspace && a->keys && a->recs ? rc : ST_RESOURCE;
}

static void free_workspaces(single_rank *a)
{
	mem *m = &a->env->m;
	for (size_t i = 0; a->workspace && i < a->threads; i++) {
		workspace *b = &a->workspace[i];
		mem_free(m, b->batch);
		mem_free(m, b->order);
		mem_free(m, b->tmp);
		mem_free(m, b->front);
		merge_slice_close(&b->v, m);
		sorted_piece_close(&b->input, m);
	}
	mem_free(m, a->workspace);
	mem_free(m, a->keys);
	mem_free(m, a->recs);
	selection_close(&a->selection, m);
}

static status run_threads(single_rank *a)
{
	rank_result *mine = a->env->stats;
	const double t0 = now_s();
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->turn, NULL);
	const unsigned threads = pool_run((unsigned)a->threads, work, a);
	pthread_cond_destroy(&a->turn);
	pthread_mutex_destroy(&a->lock);
	/* of the time together, the part that a thread spent on writing on average */
	const double all_s = now_s() - t0, mean_s = a->write_s / threads;
	const double write_s = mean_s < all_s ? mean_s : all_s;
	result_shift(mine, PH_WRITE, write_s);
	return join_pieces(a);
}

static status cut(single_rank *a)
{
	rank_env *env = a->env;
	const runs *r = &a->d->r;
	status rc;
	if (a->d->files) {
		const budget *b = &a->k->mp->budget;
		const sorted_pieces_plan p = { env->o->lay,   b->chunk_recs, b->chunks,
					       b->slice_recs, a->d->from,    a->d->to };
		rc = sorted_pieces_open(&a->inputs, &env->m, a->d->files, &p, &env->e);
		a->count = rc == ST_OK ? (size_t)sorted_pieces_most(a->inputs) : 0;
		a->most = b->slice_recs;
	} else if (on_disk(a)) {
		rc = merge_slices_cut(&a->slices, &env->m, r, r->start, r->start + 1,
				      a->k->mp->budget.slice_recs, &env->e);
		if (rc == ST_OK)
			rc = read_ahead_open(&a->ahead, &env->m, &a->slices,
					     a->k->mp->budget.read_ahead_bytes, &env->e);
		a->count = a->slices.count;
		a->most = a->slices.most;
	} else {
		const size_t test_bytes = test_sizes_of(env->o)->merge_bytes;
		const size_t bytes = test_bytes ? test_bytes : budget_part_bytes(data_bytes(a));
		const entry_runs e = { r->recs, r->e, r->count };
		rc = merge_partition_cut(&a->p, &env->m, &e, r->start, r->start + 1,
					 bytes / env->o->lay.record_bytes + 1, &env->e);
		a->count = a->p.count;
		a->most = a->p.most;
	}
	return rc;
}

status phase_single_rank(rank_env *env, const settled *k, files *f, const read_runs *d,
			 output_part *w)
{
	single_rank a = { .env = env, .k = k, .out = &f->out, .d = d, .w = w, .to = IO_FD_NONE };
	status rc = cut(&a);
	if (rc == ST_OK)
		rc = alloc_workspaces(&a);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = exchange_setup_output(env, k, f, w, &a.to);
	if (a.to.direct < 0)
		a.chunk = size_min(a.chunk,
				   io_fd_chunk_recs(env->o->lay.record_bytes, CACHED_BATCH_BYTES));
	if (rc == ST_OK && d->n > 0)
		rc = run_threads(&a);
	if (rc == ST_OK && d->n > 0 && settings_drops(env->o))
		rc = write_last(&a);
	if (rc == ST_OK && d->files)
		rc = sorted_files_check(d->files, &env->e);
	if (rc == ST_OK && a.inputs)
		env->stats->sum_in = sorted_pieces_sum(a.inputs);
	exchange_setup_output_close(&a.to);
	read_ahead_close(a.ahead);
	sorted_pieces_close(a.inputs);
	free_workspaces(&a);
	merge_partition_free(&a.p, &env->m);
	merge_slices_free(&a.slices, &env->m);
	exchange_setup_written(env, w);
	return rc;
}
