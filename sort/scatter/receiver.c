/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The receiving end: blocks from rank 0 as they arrive, each checked before it is
 * handed on, SCATTER_SLOTS posted ahead. A transfer runs on to its end also after a block came
 * damaged, because rank 0 waits for every block to be taken. */
#include "exchange/block.h"
#include "base/minmax.h"
#include "scatter.h"

#include <string.h>

block_header scatter_header(const settings *o, int to, uint64_t block, size_t n)
{
	return (block_header){ .from = 0,
			       .to = to,
			       .record_bytes = o->lay.record_bytes,
			       .block = block,
			       .records = n };
}

status receiver_open(receiver *b, rank_env *env)
{
	*b = (receiver){ .env = env, .block_recs = scatter_block_recs(env->o) };
	b->slots = mem_array(&env->m, SCATTER_SLOTS, scatter_slot_bytes(env->o),
			     "blocks to receive", &env->e);
	return b->slots ? ST_OK : ST_RESOURCE;
}

void receiver_close(receiver *b)
{
	rank_env *env = b->env;
	result_shift(env->stats, PH_EXCHANGE, b->waited_s);
	if (!atomic_load(&env->c->broken)) /* else a block may still be on its way to a slot */
		mem_free(&env->m, b->slots);
}

void receiver_expect(receiver *b, uint64_t n)
{
	b->n = n;
	b->posted = b->taken = b->left = 0;
}

static size_t count_of(const receiver *b, uint64_t block)
{
	const uint64_t left = b->n - block * b->block_recs;
	return (size_t)u64_min(left, b->block_recs);
}

static block_header *slot_of(const receiver *b, uint64_t block)
{
	return (void *)(b->slots + block % SCATTER_SLOTS * scatter_slot_bytes(b->env->o));
}

static status post(receiver *b)
{
	const settings *o = b->env->o;
	const uint64_t blocks = b->n / b->block_recs + (b->n % b->block_recs != 0);
	status rc = ST_OK;
	while (rc == ST_OK && b->posted < blocks && b->posted - b->taken < SCATTER_SLOTS) {
		const int slot = (int)(b->posted % SCATTER_SLOTS);
		rc = comm_recv(b->env->c, slot_of(b, b->posted),
			       scatter_message_bytes(o, count_of(b, b->posted)), 0, slot,
			       &b->req[slot]);
		b->posted++;
	}
	return rc;
}

/* Wait for the next block and look at it. */
static status next_block(receiver *b)
{
	status rc = post(b);
	if (rc != ST_OK || b->posted == b->taken)
		return rc;
	rc = scatter_wait(b->env->c, &b->req[b->taken % SCATTER_SLOTS], &b->waited_s);
	if (rc != ST_OK)
		return rc;
	const block_header *h = slot_of(b, b->taken);
	const block_header wanted =
		scatter_header(b->env->o, b->env->c->rank, b->taken, count_of(b, b->taken));
	b->rec = (const unsigned char *)(h + 1);
	b->left = (size_t)wanted.records;
	b->taken++;
	return b->damage.code == ST_OK ? block_check(h, &wanted, &b->damage) : b->damage.code;
}

status receiver_take(void *receiver_, unsigned char *to, size_t n, size_t *got, err *e)
{
	receiver *b = receiver_;
	const size_t bytes = b->env->o->lay.record_bytes;
	*got = 0;
	for (size_t k; *got < n; *got += k) {
		const status rc = b->left ? ST_OK : next_block(b);
		if (rc != ST_OK)
			return err_set(e, rc, "%s",
				       b->damage.code ? b->damage.text
						      : "rank 0 cannot be reached any more");
		if (b->left == 0)
			break;
		k = n - *got < b->left ? n - *got : b->left;
		memcpy(to + *got * bytes, b->rec, k * bytes);
		b->rec += k * bytes;
		b->left -= k;
	}
	return ST_OK;
}

status receiver_drain(receiver *b)
{
	status rc = ST_OK;
	do {
		b->left = 0;
		rc = next_block(b);
	} while ((rc == ST_OK || b->damage.code) && !atomic_load(&b->env->c->broken) && b->left);
	return rc;
}
