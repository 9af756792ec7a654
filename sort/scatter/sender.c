/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank 0's end: the input in blocks, each read, stamped and sent. What cannot be read is sent all
 * the same, since the receivers count on it; scatter_sender_check reports it. */
#include "scatter.h"
#include "base/minmax.h"

#include <string.h>

status scatter_sender_open(scatter_sender *d)
{
	rank_env *env = d->env;
	const reader_plan rp = { 0, d->k->s->records, env->o->lay, env->o->direct,
				 d->k->p->load.io };
	d->block_recs = scatter_block_recs(env->o);
	d->buf =
		mem_array(&env->m, d->slots, scatter_slot_bytes(env->o), "blocks to send", &env->e);
	return d->buf ? reader_open(&d->from, d->k->in, &rp, &env->e) : ST_RESOURCE;
}

status scatter_sender_check(scatter_sender *d)
{
	return d->failed == ST_OK ? reader_check(d->from, &d->env->e) : d->failed;
}

void scatter_sender_close(scatter_sender *d)
{
	reader_close(d->from);
	mem_free(&d->env->m, d->buf);
}

/* Records [at, at + n) of the input to a block. */
static void fill_block(scatter_sender *d, uint64_t at, size_t n, unsigned char *to)
{
	loading got = { .entries = NULL };
	if (d->failed == ST_OK)
		d->failed = reader_load(d->from, at, n, to, &got, &d->env->e);
	d->sum = checksum_join(d->sum, got.sum);
}

bool scatter_may_send(const transfer *t)
{
	return t->left > 0 && t->begun - t->done < SCATTER_SLOTS;
}

status scatter_send(transfer *t, scatter_sender *d)
{
	const settings *o = d->env->o;
	const size_t n = (size_t)u64_min(t->left, d->block_recs);
	const int slot = (int)(t->begun % SCATTER_SLOTS);
	block_header *h = (void *)(t->slots + (size_t)slot * scatter_slot_bytes(o));
	fill_block(d, t->at, n, (unsigned char *)(h + 1));
	*h = scatter_header(o, t->to, t->begun++, n);
	block_stamp(h);
	FAIL_FLIP(FAIL_SENT, h, scatter_message_bytes(o, n));
	t->at += n;
	t->left -= n;
	return comm_send(d->env->c, h, scatter_message_bytes(o, n), t->to, slot, &t->req[slot]);
}
