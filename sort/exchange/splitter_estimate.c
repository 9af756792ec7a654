/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Splitters from random records, read one by one before anything else is: the parts come out nearly
 * as planned, whatever the order of the input and however often keys repeat, because a record's
 * place in the input decides between equal ones. Costs MOST_SAMPLES reads, and rank 0 the items of
 * all. */
#include "distribute_disk.h"
#include "base/minmax.h"
#include "base/clock.h"
#include "base/splitmix.h"

#include <stdlib.h>
#include <sys/random.h>

enum { MOST_SAMPLES = 1024, MOST_SAMPLE_BYTES = 1 << 20 };

/* A sample at rank 0, and how many records it stands for. */
typedef struct weighed {
	const item *it;
	double weight;
} weighed;

static size_t sample_room(const layout *l)
{
	return size_min(MOST_SAMPLE_BYTES / item_bytes(l), MOST_SAMPLES);
}

static size_t samples_of(const layout *l, uint64_t share)
{
	return (size_t)u64_min(share, sample_room(l));
}

/* Not the same in every run: nobody who makes keys is to know what will be drawn of them. */
static uint64_t seed(void)
{
	uint64_t s;
	return getrandom(&s, sizeof s, 0) == sizeof s ? s : (uint64_t)(now_s() * 1e9);
}

/* One from each k-th part of the share, at a random place there. */
static status draw(rank_env *env, const share_plan *s, const reader *from, unsigned char *rec,
		   unsigned char *to)
{
	const layout *l = &env->o->lay;
	const uint64_t first = share_before(env, s->in), n = own_share(env, s->in);
	const size_t k = samples_of(l, n), isz = item_bytes(l);
	const records one = { rec, *l, 0 };
	uint64_t state = seed();
	status rc = ST_OK;
	for (size_t i = 0; i < k && rc == ST_OK; i++, to += isz) {
		const uint64_t lo = (uint64_t)((unsigned __int128)n * i / k);
		const uint64_t hi = (uint64_t)((unsigned __int128)n * (i + 1) / k);
		const uint64_t place = first + lo + splitmix(&state) % (hi - lo);
		rc = reader_read(from, place, 1, rec, &env->e);
		if (rc != ST_OK)
			break;
		const entry e = entry_make(rec, l, 0);
		item *it = (void *)to;
		item_of(it, &e, &one);
		it->lo |= place;
	}
	return rc;
}

/* Rank 0: the first item that has as much before it as the ranks before are to write. */
static void choose(const share_plan *s, weighed *w, size_t n, splitters *g)
{
	layout lay = g->lay;
	double before = 0;
	size_t at = 0;
	qsort_r(w, n, sizeof *w, item_order, &lay);
	for (size_t i = 0; i < g->count; i++) {
		while (at + 1 < n && before + w[at].weight / 2 < (double)s->before[i])
			before += w[at++].weight;
		if (n > 0)
			memcpy(splitters_item(g, i), w[at].it, item_bytes(&lay));
	}
}

static status choose_of_all(rank_env *env, const share_plan *s, const unsigned char *all,
			    splitters *g)
{
	const size_t p = (size_t)env->c->size, room = sample_room(&g->lay);
	weighed *w = mem_array(&env->m, p * room, sizeof *w, "samples", &env->e);
	size_t n = 0;
	for (size_t r = 0; w && r < p; r++) {
		const size_t k = samples_of(&g->lay, s->in[r]);
		for (size_t i = 0; i < k; i++)
			w[n++] = (weighed){ (const void *)(all +
							   (r * room + i) * item_bytes(&g->lay)),
					    (double)s->in[r] / (double)k };
	}
	if (w)
		choose(s, w, n, g);
	mem_free(&env->m, w);
	return w ? ST_OK : ST_RESOURCE;
}

status splitter_estimate(rank_env *env, const share_plan *s, const reader *from, splitters *g)
{
	const layout *l = &env->o->lay;
	const size_t p = (size_t)env->c->size, isz = item_bytes(l), bytes = sample_room(l) * isz;
	*g = (splitters){ .count = p - 1, .lay = *l };
	g->raw = mem_array(&env->m, g->count, isz, "splitters", &env->e);
	unsigned char *rec = mem_array(&env->m, 1, l->record_bytes, "a record", &env->e);
	unsigned char *mine = mem_array(&env->m, bytes, 1, "samples", &env->e);
	unsigned char *all =
		mem_array(&env->m, env->c->rank == 0 ? p : 0, bytes, "samples", &env->e);
	status rc = g->raw && rec && mine && all ? draw(env, s, from, rec, mine) : ST_RESOURCE;
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = comm_gather(env->c, mine, all, bytes, 0);
	if (rc == ST_OK && env->c->rank == 0)
		rc = choose_of_all(env, s, all, g);
	mem_free(&env->m, rec);
	mem_free(&env->m, mine);
	mem_free(&env->m, all);
	rc = comm_agree(env->c, rc);
	return rc == ST_OK ? comm_bcast(env->c, g->raw, g->count * isz, 0) : rc;
}
