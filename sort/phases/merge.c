/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange and merge are one step: the sorted streams of all ranks are merged while they arrive,
 * and written while they are merged, in each lane of the rank. Memory and disk space are requested
 * before the first record moves. After that, a rank that fails continues to receive, so that other
 * ranks reach the end of the phase. Memory: the windows of the exchange, and the buffers of the
 * writers; no second copy. */
#include "base/arith.h"
#include "exchange/lanes.h"
#include "finish.h"
#include "open_output.h"
#include "workdir.h"

/* The output of a lane. */
typedef struct written_lane {
	writer to;
	selection selection; /* if records are dropped */
	inspected seen;
} written_lane;

typedef struct merging {
	job *j;
	lane_set l;
	io_fd to; /* the open output */
	written_lane *lane;
	unsigned char *keys; /* two for each lane */
	bool ordered;        /* each lane begins after the end of the one before */
} merging;

/* Merged records go to the file, or, if some are dropped, one at a time to the selection. */
static unsigned char *merged_room(void *lane_, size_t *recs)
{
	written_lane *a = lane_;
	if (!a->selection.next)
		return writer_room(&a->to, recs);
	*recs = 1;
	return a->selection.next;
}

static void merged_add(void *lane_, size_t n)
{
	written_lane *a = lane_;
	if (a->selection.next)
		selection_put(&a->selection, a->selection.next, &a->to);
	else
		writer_add(&a->to, n);
}

/* Open the output, and a writer for each lane. Collective. */
static status merging_open_output(merging *x)
{
	job *j = x->j;
	rank_env *env = &j->env;
	const layout *l = &env->o->lay;
	const size_t n = x->l.p.lanes;
	const uint64_t most = output_most(j);
	x->lane = mem_array(&env->m, n, sizeof *x->lane, "lanes", &env->e);
	x->keys = mem_array(&env->m, 2 * n, l->key_bytes, "keys", &env->e);
	status rc = x->lane && x->keys ? ST_OK : ST_RESOURCE;
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = output_open(j, &x->to);
	for (size_t i = 0; rc == ST_OK && i < n; i++) {
		written_lane *a = &x->lane[i];
		merge_lane *from = &x->l.lane[i];
		const uint64_t before = env->o->unique ? 0 : u64_min(from->first, most);
		const file_records to = { x->to,
					  output_name(&j->files.out),
					  j->files.out.offset +
						  from->first * settings_out_bytes(env->o),
					  from->recs,
					  env->o->fsync,
					  &env->o->shape };
		a->seen = (inspected){ .first_key = x->keys + 2 * i * l->key_bytes,
				       .last_key = x->keys + (2 * i + 1) * l->key_bytes,
				       .order = j->part.seen.order };
		from->to = (merge_sink){ merged_room, merged_add, a };
		if (settings_drops(env->o))
			rc = selection_open(&a->selection, env, most - before, false);
		if (rc == ST_OK)
			rc = writer_open(&a->to, &env->m, l, &to, &a->seen, &env->e);
	}
	return comm_agree(env->c, rc);
}

/* Write what is buffered in a lane, and append the lane to the part of this rank. If earlier lanes
 * have dropped records, move its records to the end of theirs. */
static status end_lane(merging *x, size_t i)
{
	job *j = x->j;
	rank_env *env = &j->env;
	rank_result *r = env->stats;
	output_part *part = &j->part;
	written_lane *a = &x->lane[i];
	const merge_lane *from = &x->l.lane[i];
	const uint64_t bytes = settings_out_bytes(env->o), base = j->files.out.offset;
	if (!a->to.raw)
		return ST_OK;
	status rc = selection_end(&a->selection, &a->to, &env->e);
	if (rc == ST_OK)
		rc = writer_flush(&a->to, &env->e);
	dropped_join(&part->dropped, &a->selection.dropped);
	r->verify_s += a->to.verify_s;
	result_shift(r, PH_WRITE, a->to.wait_s / (double)x->l.p.lanes);
	if (rc == ST_OK && part->seen.records < from->first)
		rc = output_move(j, base + from->first * bytes, base + part->seen.records * bytes,
				 a->seen.records * bytes);
	x->ordered &= inspected_join(&part->seen, &env->o->lay, &a->seen);
	return rc;
}

static void merging_close(merging *x)
{
	rank_env *env = &x->j->env;
	for (size_t i = 0; x->lane && i < x->l.p.lanes; i++) {
		selection_close(&x->lane[i].selection, &env->m);
		writer_free(&x->lane[i].to);
	}
	mem_free(&env->m, x->lane);
	mem_free(&env->m, x->keys);
	lanes_close(&x->l);
	output_close(&x->to);
}

status phase_merge(job *j)
{
	rank_env *env = &j->env;
	rank_result *r = env->stats;
	const uint64_t bytes = env->o->lay.record_bytes;
	merging x = { .j = j, .to = IO_FD_NONE, .ordered = true };
	exchange_times times = { 0, 0 };
	const lanes_plan p = {
		.c = env->c,
		.m = &env->m,
		.of = j->cuts.s,
		.cut = j->cuts.cut,
		.lanes = j->memory.lanes,
		.ahead_bytes = j->memory.sort.ahead_bytes,
		.windows_bytes = j->memory.windows_bytes,
		.wanted = own_share(env, j->shares.out),
		.total = j->shares.records,
		/* if ranks continue with runs of an earlier job, their order is another one */
		.rank_at = j->work.shared.rank_at,
		.own_place = workdir_place(j),
		.folds = env->o->unique,
		.threads = env->o->exchange_threads > 0
	};
	status rc = lanes_open(&x.l, &p, &env->e);
	if (rc == ST_OK)
		rc = merging_open_output(&x);
	FAIL_PHASE(phase_name(PH_EXCHANGE));
	uint64_t leaving = 0;
	for (int i = 0; rc == ST_OK && i < env->c->size; i++) {
		if (i == env->c->rank)
			continue;
		for (size_t k = 0; k < p.lanes; k++)
			leaving += x.l.lane[k].out.send[i] * bytes;
	}
	progress_sends(&env->c->progress, leaving);
	dropped_join(&j->part.dropped, &j->cuts.dropped);
	if (rc == ST_OK) {
		rc = lanes_run(&x.l, &times, &env->e);
		result_shift(r, PH_EXCHANGE, times.wait_s);
		r->move_s += times.move_s;
	}
	for (int i = 0; rc == ST_OK && i < env->c->size; i++) {
		if (i == env->c->rank)
			continue;
		result_sent(r, i, lanes_sent(&x.l, i) * bytes);
		r->received_bytes += lanes_received(&x.l, i) * bytes;
	}
	const dropped folded = lanes_dropped(&x.l);
	dropped_join(&j->part.dropped, &folded);
	for (size_t i = 0; rc == ST_OK && i < p.lanes; i++)
		rc = end_lane(&x, i);
	/* a rank that fails sends records of the largest key, so first ask whether one has failed
	 */
	rc = comm_agree(env->c, memory_share_check(&j->data, rc, &env->e));
	if (rc == ST_OK && !x.ordered)
		rc = err_set(&env->e, ST_INTERNAL,
			     "a lane of the output begins before the end of the one before");
	merging_close(&x);
	return rc;
}
