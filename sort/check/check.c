/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads take chunks in order, look at each by themselves, and join what they saw in the same
 * order: so the first disorder is the first, and where two chunks meet their records are compared,
 * of whatever files they are. */
#include "check.h"
#include "base/pool.h"
#include "base/processors.h"
#include "order.h"
#include "source.h"

#include <string.h>

enum { WAITING = 2 }; /* threads more than look, so that the disk always has work */

typedef struct checking {
	const check_plan *p;
	check_result *r;
	source from;
	unsigned char **buffer; /* [threads] */
	unsigned threads;
	pthread_mutex_t lock; /* for what follows, and *r */
	pthread_cond_t turn;
	uint64_t joined; /* chunks */
	bool stop;
	err e;
} checking;

static unsigned char *record_at(const checking *k, const source_chunk *c, size_t i)
{
	return c->recs + i * k->p->lay.record_bytes;
}

static check_place place_of(const checking *k, const source_chunk *c, size_t i)
{
	return (check_place){ k->from.in->file[c->file].path, c->first + i, record_at(k, c, i) };
}

static void keep(const checking *k, check_place *to, check_place from)
{
	unsigned char *rec = to->rec;
	*to = from;
	to->rec = memcpy(rec, from.rec, k->p->lay.record_bytes);
}

static void note_disorder(checking *k, check_place before, check_place at)
{
	check_result *r = k->r;
	if (!r->in_order)
		return;
	r->in_order = false;
	keep(k, &r->before, before);
	keep(k, &r->at, at);
	k->stop = !k->p->sum;
}

/* Under the lock, in the order of the chunks. */
static void join(checking *k, const source_chunk *c, const order_seen *seen, checksum sum)
{
	check_result *r = k->r;
	const int border = r->records ? order_compare(&k->p->lay, r->last.rec, c->recs) : -1;
	if (order_wrong(border, k->p->unique))
		note_disorder(k, r->last, place_of(k, c, 0));
	if (seen->wrong < c->n)
		note_disorder(k, place_of(k, c, seen->wrong - 1), place_of(k, c, seen->wrong));
	if (r->records == 0)
		keep(k, &r->first, place_of(k, c, 0));
	r->records += c->n;
	r->equal += seen->equal + (border == 0);
	r->sum = checksum_join(r->sum, sum);
	keep(k, &r->last, place_of(k, c, c->n - 1));
}

static void join_in_turn(checking *k, const source_chunk *c, const order_seen *seen, checksum sum,
			 const err *e)
{
	pthread_mutex_lock(&k->lock);
	while (k->joined != c->number)
		pthread_cond_wait(&k->turn, &k->lock);
	if (e->code != ST_OK)
		err_set(&k->e, e->code, "%s", e->text);
	if (k->e.code != ST_OK)
		k->stop = true;
	else
		join(k, c, seen, sum);
	k->joined++;
	pthread_cond_broadcast(&k->turn);
	pthread_mutex_unlock(&k->lock);
}

static void look_at(checking *k, const source_chunk *c, err *e)
{
	const layout *l = &k->p->lay;
	order_seen seen = { c->n, 0 };
	checksum sum = { 0, 0 };
	if (e->code == ST_OK)
		seen = order_look(l, c->recs, c->n, k->p->unique);
	if (e->code == ST_OK && k->p->sum)
		sum = checksum_records(c->recs, c->n, l->record_bytes);
	if (e->code == ST_OK && k->p->sum)
		input_note_read(&k->from.in->file[c->file], c->n, sum);
	source_give(&k->from, c, e);
	join_in_turn(k, c, &seen, sum, e);
}

static bool goes_on(checking *k)
{
	pthread_mutex_lock(&k->lock);
	const bool yes = !k->stop;
	pthread_mutex_unlock(&k->lock);
	return yes;
}

static void note_failure(checking *k, const err *e)
{
	pthread_mutex_lock(&k->lock);
	if (e->code != ST_OK)
		err_set(&k->e, e->code, "%s", e->text);
	pthread_mutex_unlock(&k->lock);
}

static void work(void *checking_, unsigned worker)
{
	checking *k = checking_;
	err e = { ST_OK, "" };
	source_chunk c;
	while (goes_on(k) && source_take(&k->from, k->buffer[worker], &c, &e))
		look_at(k, &c, &e);
	note_failure(k, &e);
}

static status alloc(checking *k, mem *m, err *e)
{
	check_result *r = k->r;
	unsigned char **const rec[] = { &r->before.rec, &r->at.rec, &r->first.rec, &r->last.rec };
	k->buffer = mem_array(m, k->threads, sizeof *k->buffer, "threads", e);
	status rc = k->buffer ? ST_OK : ST_RESOURCE;
	for (unsigned i = 0; rc == ST_OK && i < k->threads; i++) {
		k->buffer[i] = mem_array(m, source_room(&k->from), 1, "records", e);
		rc = k->buffer[i] ? ST_OK : ST_RESOURCE;
	}
	for (size_t i = 0; rc == ST_OK && i < sizeof rec / sizeof *rec; i++) {
		*rec[i] = mem_array(m, 1, k->p->lay.record_bytes, "a record", e);
		rc = *rec[i] ? ST_OK : ST_RESOURCE;
	}
	return rc;
}

static void free_memory(checking *k, mem *m)
{
	for (unsigned i = 0; k->buffer && i < k->threads; i++)
		mem_free(m, k->buffer[i]);
	mem_free(m, k->buffer);
}

static void look_at_all(checking *k)
{
	pthread_mutex_init(&k->lock, NULL);
	pthread_cond_init(&k->turn, NULL);
	pool_run(k->threads, work, k);
	pthread_cond_destroy(&k->turn);
	pthread_mutex_destroy(&k->lock);
}

status check_order(input *in, const check_plan *p, mem *m, check_result *r, err *e)
{
	checking k = { .p = p, .r = r, .e = { ST_OK, "" } };
	*r = (check_result){ .in_order = true };
	k.threads = (p->threads ? p->threads : processors_count()) + WAITING;
	status rc = source_open(&k.from, m, in, &p->lay, p->direct, e);
	source_limit(&k.from, p->first, p->n);
	if (rc == ST_OK)
		rc = alloc(&k, m, e);
	if (rc == ST_OK)
		look_at_all(&k);
	if (rc == ST_OK && k.e.code != ST_OK)
		rc = err_set(e, k.e.code, "%s", k.e.text);
	source_close(&k.from, m);
	free_memory(&k, m);
	return rc == ST_OK && !r->in_order ? ST_INVALID : rc;
}

void check_free(check_result *r, mem *m)
{
	mem_free(m, r->before.rec);
	mem_free(m, r->at.rec);
	mem_free(m, r->first.rec);
	mem_free(m, r->last.rec);
}
