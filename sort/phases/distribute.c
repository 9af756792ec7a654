/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The variant without a first sort: records go to their rank as they are, and the last step is a
 * sort, not a merge. Each source has its place in the receive buffer, so positions there follow
 * (rank, position) and a stable sort keeps the order of the input. Memory: up to two copies. */
#include "budget_phase.h"
#include "phases.h"
#include "base/clock.h"
#include "base/trace.h"
#include "kernel/gather.h"
#include "kernel/radix.h"
#include "testing/failpoint.h"

/* What arrives: records in the order of their sources, and an entry for each. */
typedef struct receive_buffer {
	unsigned char *recs;
	entry *e, *tmp;
	uint64_t *at; /* [size] where the next record of each source goes */
	size_t n;
	size_t open; /* sources that have more */
} receive_buffer;

static status receive_buffer_alloc(receive_buffer *d, rank_env *env, uint64_t n)
{
	d->n = n;
	d->recs = mem_array(&env->m, d->n, env->o->lay.record_bytes, "received records", &env->e);
	d->e = mem_array(&env->m, d->n, sizeof *d->e, "entries", &env->e);
	d->at = mem_array(&env->m, (size_t)env->c->size, sizeof *d->at, "counts", &env->e);
	return d->recs && d->e && d->at ? ST_OK : ST_RESOURCE;
}

static void receive_buffer_free(receive_buffer *d, rank_env *env)
{
	mem_free(&env->m, d->recs);
	mem_free(&env->m, d->e);
	mem_free(&env->m, d->tmp);
	mem_free(&env->m, d->at);
}

/* One block of source s to its place. */
static status take_block(receive_buffer *d, const layout *l, exchange *x, int s, bool *any)
{
	const unsigned char *rec;
	size_t n;
	const status rc = exchange_next(x, s, &rec, &n);
	if (rc != ST_OK || n == 0)
		return rc;
	*any = true;
	unsigned char *to = d->recs + d->at[s] * l->record_bytes;
	memcpy(to, rec, n * l->record_bytes);
	for (size_t i = 0; i < n; i++, to += l->record_bytes, d->at[s]++)
		d->e[d->at[s]] = entry_make(to, l, d->at[s]);
	progress_add(PROGRESS_RECEIVED, n * l->record_bytes);
	return ST_OK;
}

/* Block after block, the sources in turn. */
static status receive_all(receive_buffer *d, exchange_setup *t)
{
	const rank_env *env = t->env;
	status rc = ST_OK;
	uint64_t sum = 0;
	bool any = true;
	for (int s = 0; s < env->c->size; s++) {
		d->at[s] = sum;
		sum += t->recv[s];
	}
	while (rc == ST_OK && any) {
		any = false;
		for (int i = 0; rc == ST_OK && i < env->c->size; i++)
			rc = take_block(d, &env->o->lay, t->x, (env->c->rank + i) % env->c->size,
					&any);
	}
	return rc == ST_OK ? exchange_setup_drained(t) : rc;
}

static void next_stage(rank_progress *g, stage_kind k, uint64_t bytes)
{
	const moment now = moment_now();
	progress_end(g, now);
	progress_begin(g, k, bytes, now);
}

static status write_sorted(const receive_buffer *d, exchange_setup *t)
{
	rank_env *env = t->env;
	const records r = { d->recs, env->o->lay, (uint32_t)env->c->rank };
	rank_progress *g = &env->c->progress;
	size_t misfits = 0;
	next_stage(g, STAGE_SORT, 0);
	const double span = trace_begin();
	FAIL_FLIP(FAIL_ENTRIES, d->e, d->n * sizeof(entry));
	if (!env->o->partition_only)
		radix_sort(d->e, d->tmp, d->n, &r);
	FAIL_FLIP(FAIL_ENTRIES, d->e, d->n * sizeof(entry));
	trace_end(TRACE_SORT, span);
	next_stage(g, STAGE_WRITE, d->n * env->o->lay.record_bytes);
	const size_t dropping = settings_drops(env->o) ? d->n : 0;
	for (size_t i = 0; i < dropping; i++) {
		const unsigned char *rec = record_at(&r, entry_pos(&d->e[i]));
		misfits += !entry_fits(&d->e[i], rec, &r.lay);
		selection_put(&t->selection, rec, &t->to_file);
	}
	for (size_t at = dropping; at < d->n;) {
		size_t room;
		unsigned char *to = writer_room(&t->to_file, &room);
		const size_t n = room < d->n - at ? room : d->n - at;
		misfits += gather(&r, d->e + at, n, d->n - at - n, to);
		writer_add(&t->to_file, n);
		at += n;
	}
	return gather_misfits(misfits, &env->e);
}

status phase_distribute(exchange_setup *t, read_runs *read, cuts *k)
{
	rank_env *env = t->env;
	if (budget_merges(
		    env, t->k->mp)) /* spilled to disk: all but the sorting of runs is left to do */
		return phase_merge(t);
	receive_buffer d = { 0 };
	status rc = comm_agree(env->c, receive_buffer_alloc(&d, env, own_share(env, t->k->s->out)));
	if (rc == ST_OK)
		rc = exchange_setup_open(t);
	if (rc == ST_OK)
		rc = receive_all(&d, t);
	if (rc == ST_OK) {
		/* what was read has been sent: its room is the scratch of the last sort */
		mem_free(&env->m, k->by_destination);
		k->by_destination = NULL;
		read_runs_free(&env->m, read);
		d.tmp = mem_array(&env->m, d.n, sizeof *d.tmp, "sorting", &env->e);
		rc = d.tmp ? ST_OK : ST_RESOURCE;
	}
	if (rc == ST_OK)
		rc = write_sorted(&d, t);
	rc = exchange_setup_close(t, rc);
	receive_buffer_free(&d, env);
	return rc;
}
