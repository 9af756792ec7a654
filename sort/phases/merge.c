/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exchange and merge in one: the sorted streams of all ranks are merged while they arrive, and
 * written while they are merged. Memory: the windows of the exchange, no second copy of the data.
 */
#include "exchange/stream_merge.h"
#include "base/minmax.h"
#include "phases.h"

/* Among those with which it exchanges: as they are numbered, but where runs of earlier jobs lie on
 * hosts in another order. */
static uint32_t own_place(const exchange_setup *t)
{
	return t->k->w->shared.rank_at ? workdir_place(t->env, t->k->w) : (uint32_t)t->peers.own;
}

static uint32_t own_heads(void *setup, head *h, uint32_t most)
{
	exchange_setup *t = setup;
	return outgoing_heads(&t->out, t->peers.own, own_place(t), h, most);
}

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
	const size_t p = (size_t)(f->rank ? f->peers.count : env->c->size);
	merge_stream *s = mem_array(&env->m, p, sizeof *s, "streams", &env->e);
	head *heads = mem_array(&env->m, stream_merge_heads((uint32_t)p), sizeof *heads, "streams",
				&env->e);
	status rc = comm_agree(env->c, s && heads ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = exchange_setup_open(t);
	if (rc == ST_OK) {
		stream_merge g = { .x = t->x,
				   .own_place = own_place(t),
				   .rank_at = t->k->w->shared.rank_at,
				   .k = (uint32_t)p,
				   .lay = env->o->lay,
				   .s = s,
				   .heads = heads,
				   .own = own_heads,
				   .from = t,
				   .put = write_records,
				   .to = t };
		rc = stream_merge_run(&g);
		if (rc == ST_OK)
			rc = exchange_setup_drained(t);
	}
	rc = exchange_setup_close(t, rc);
	mem_free(&env->m, s);
	mem_free(&env->m, heads);
	return rc;
}
