/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange and merge in one: the sorted streams of all ranks are merged while they arrive, and
 * written while they are merged. Memory: the windows of the exchange, no second copy of the data.
 */
#include "exchange/stream_merge.h"
#include "base/minmax.h"
#include "phases.h"

static void write_records(void *setup, const head *h, size_t n)
{
	exchange_setup *t = setup;
	const uint32_t bytes = t->env->o->lay.record_bytes;
	if (settings_drops(t->env->o)) {
		for (size_t i = 0; i < n; i++)
			selection_put(&t->selection, h[i].rec, &t->to_file);
		return;
	}
	while (n > 0) {
		size_t room;
		unsigned char *to = writer_room(&t->to_file, &room);
		const size_t k = size_min(n, room);
		for (size_t i = 0; i < k; i++)
			record_copy(to + i * bytes, h[i].rec, bytes);
		writer_add(&t->to_file, k);
		h += k;
		n -= k;
	}
}

status phase_merge(exchange_setup *t)
{
	rank_env *env = t->env;
	const peer_flow *f = &t->cuts->flow;
	const int32_t *rank_at = t->k->w->shared.rank_at;
	stream_merge g = { .out = &t->out,
			   .rank_at = rank_at,
			   .k = (uint32_t)(f->rank ? f->peers.count : env->c->size),
			   .lay = env->o->lay,
			   .put = write_records,
			   .to = t };
	status rc = comm_agree(env->c, stream_merge_open(&g, &env->m, &env->e));
	if (rc == ST_OK)
		rc = exchange_setup_open(t);
	if (rc == ST_OK) {
		g.x = t->x;
		g.own = t->peers.own;
		/* as peers are numbered, but where runs of earlier jobs lie on hosts in another
		 * order */
		g.own_place = rank_at ? workdir_place(env, t->k->w) : (uint32_t)g.own;
		rc = stream_merge_run(&g);
		if (rc == ST_OK)
			rc = exchange_setup_drained(t);
	}
	rc = exchange_setup_close(t, rc);
	stream_merge_close(&g);
	return rc;
}
