/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plan=online: shares by the times of earlier runs; the times of this run are kept for the
 * next. Rank 0 keeps the history. A fault in it never makes a run fail. */
#include "history.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOST_SHOWN = 36 }; /* characters of a host's name in a key; the hash stands for the rest */

struct history {
	wisdom *w;
	size_t p;
	wisdom_rank *rank; /* p */
};

/* A host's name, a hash of all of it, and one of the processors there. */
static void key_of(const placement *s, char *key)
{
	placement host = *s;
	host.cpus = 0;
	for (char *c = host.host; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_')
			*c = '-';
	snprintf(key, WISDOM_KEY_BYTES, "%.*s:%08" PRIx32 ":%08" PRIx32, HOST_SHOWN, host.host,
		 (uint32_t)placement_hash(&host), (uint32_t)placement_hash(s));
}

void history_free(history *b)
{
	if (!b)
		return;
	wisdom_free(b->w);
	free(b->rank);
	free(b);
}

static int by_key(const void *a, const void *b)
{
	const wisdom_rank *const *x = a, *const *y = b;
	return strcmp((*x)->key, (*y)->key);
}

/* Ranks in the same place share its processors; none uses more than it has threads. */
static void find_cpus(wisdom_rank *rank, const rank_speeds *g, unsigned threads, wisdom_rank **at)
{
	for (size_t i = 0; i < g->p; i++)
		at[i] = &rank[i];
	qsort(at, g->p, sizeof *at, by_key);
	for (size_t i = 0, together; i < g->p; i += together) {
		const uint32_t count = g->placement[at[i] - rank].count;
		for (together = 1; i + together < g->p; together++)
			if (by_key(&at[i], &at[i + together]) != 0)
				break;
		double cpus = (count ? count : 1) / (double)together;
		if (threads && cpus > threads)
			cpus = threads;
		for (size_t k = i; k < i + together; k++)
			at[k]->cpus = cpus;
	}
}

status history_open(rank_env *env, const rank_speeds *g, history **out)
{
	history *b = *out = calloc(1, sizeof *b);
	wisdom_rank **at = calloc(g->p, sizeof *at);
	if (b) {
		b->p = g->p;
		b->rank = calloc(g->p, sizeof *b->rank);
	}
	if (!b || !b->rank || !at) {
		free(at);
		return err_set(&env->e, ST_RESOURCE, "no memory for the names of %zu ranks", g->p);
	}
	for (size_t i = 0; i < g->p; i++)
		key_of(&g->placement[i], b->rank[i].key);
	find_cpus(b->rank, g, env->o->threads, at);
	free(at);
	return wisdom_open(&b->w, env->o, &env->note, &env->e);
}

status history_shares(rank_env *env, history *b, bool before, uint64_t total, uint64_t *share,
		      bool *known)
{
	return wisdom_shares(b->w, before ? PART_BEFORE : PART_AFTER, total, b->rank, b->p, share,
			     known, &env->e);
}

status history_costs(rank_env *env, history *b, bool before, uint64_t total, rank_costs **out)
{
	return wisdom_costs(b->w, before ? PART_BEFORE : PART_AFTER, total, b->rank, b->p, out,
			    &env->e);
}

void history_add(history *b, const run_times *t, err *note)
{
	wisdom_learn(b->w, b->rank, t, b->p);
	wisdom_save(b->w, (uint64_t)time(NULL), note);
}
