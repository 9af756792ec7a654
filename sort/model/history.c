/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plan=online: shares by what earlier runs have shown, and this run told to the next. Rank 0
 * keeps the history. Nothing that goes wrong with it makes a run fail. */
#include "history.h"
#include "wisdom.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { HOST_SHOWN = 36 }; /* characters of a host's name in a key; the hash tells the rest */

struct history {
	wisdom *w;
	size_t p;
	const char **key; /* p, into text */
	char *text;
};

/* What a rank tells of its run. */
typedef struct run_times {
	double before_s, after_s;
	uint64_t in, out;
} run_times;

static void key_of(const placement *s, char *key)
{
	char host[HOST_BYTES];
	memcpy(host, s->host, sizeof host);
	for (char *c = host; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '.' && *c != '_')
			*c = '-';
	snprintf(key, WISDOM_KEY_BYTES, "%.*s:%016" PRIx64, HOST_SHOWN, host, placement_hash(s));
}

void history_free(history *b)
{
	if (!b)
		return;
	wisdom_free(b->w);
	free(b->key);
	free(b->text);
	free(b);
}

status history_open(job *j, const rank_speeds *g)
{
	history *b = calloc(1, sizeof *b);
	j->history = b;
	if (b) {
		b->p = g->p;
		b->key = calloc(g->p, sizeof *b->key);
		b->text = calloc(g->p, WISDOM_KEY_BYTES);
	}
	if (!b || !b->key || !b->text)
		return err_set(&j->e, ST_RESOURCE, "no memory for the names of %zu ranks", g->p);
	for (size_t i = 0; i < g->p; i++) {
		char *key = b->text + i * WISDOM_KEY_BYTES;
		key_of(&g->placement[i], key);
		b->key[i] = key;
	}
	return wisdom_open(&b->w, j->o, j->c->host, g->p, &j->note, &j->e);
}

status history_shares(job *j, bool before, uint64_t *share, bool *known)
{
	return wisdom_shares(j->history->w, before ? PART_BEFORE : PART_AFTER, j->records,
			     j->history->key, j->history->p, share, known, &j->e);
}

static run_times own_times(const job *j)
{
	const double *t = j->mine.phase_s;
	const bool merging = j->o->strategy == BY_MERGING;
	return (run_times){ .before_s = t[PH_READ] + (merging ? t[PH_SORT] : 0),
			    .after_s = t[PH_MERGE] + t[PH_WRITE] + (merging ? 0 : t[PH_SORT]),
			    .in = j->mine.in,
			    .out = j->mine.out };
}

static void learn(history *b, const run_times *t, err *note)
{
	wisdom_fade(b->w);
	for (size_t i = 0; i < b->p; i++) {
		wisdom_add(b->w, PART_BEFORE, b->key[i], t[i].in, t[i].before_s);
		wisdom_add(b->w, PART_AFTER, b->key[i], t[i].out, t[i].after_s);
	}
	wisdom_save(b->w, (uint64_t)time(NULL), note);
}

/* The output stands already: only the network can fail here. */
status phase_update_wisdom(job *j)
{
	const size_t p = j->c->rank == 0 ? (size_t)j->c->size : 0;
	const run_times mine = own_times(j);
	if (j->o->plan != PLAN_ONLINE || j->in.is_stdin || j->work.resuming)
		return ST_OK; /* what was not read takes no time */
	run_times *all = mem_array(&j->m, p, sizeof *all, "times", &j->note);
	status rc = comm_agree(j->c, all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		rc = comm_gather(j->c, &mine, all, sizeof mine, 0);
		if (rc == ST_OK && p)
			learn(j->history, all, &j->note);
	} else if (!j->c->broken) {
		rc = ST_OK;
	}
	mem_free(&j->m, all);
	return rc;
}
