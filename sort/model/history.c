/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --plan=online: shares by the times of earlier runs; the times of this run are kept for the
 * next. Rank 0 keeps the history. A fault in it never makes a run fail. */
#include "history.h"
#include "wisdom.h"

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
	const char **key; /* p, into text */
	char *text;
};

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

status history_open(rank_env *env, const rank_speeds *g, history **out)
{
	history *b = *out = calloc(1, sizeof *b);
	if (b) {
		b->p = g->p;
		b->key = calloc(g->p, sizeof *b->key);
		b->text = calloc(g->p, WISDOM_KEY_BYTES);
	}
	if (!b || !b->key || !b->text)
		return err_set(&env->e, ST_RESOURCE, "no memory for the names of %zu ranks", g->p);
	for (size_t i = 0; i < g->p; i++) {
		char *key = b->text + i * WISDOM_KEY_BYTES;
		key_of(&g->placement[i], key);
		b->key[i] = key;
	}
	return wisdom_open(&b->w, env->o, env->c->host, g->p, &env->note, &env->e);
}

status history_shares(rank_env *env, history *b, bool before, uint64_t total, uint64_t *share,
		      bool *known)
{
	return wisdom_shares(b->w, before ? PART_BEFORE : PART_AFTER, total, b->key, b->p, share,
			     known, &env->e);
}

void history_add(history *b, const run_times *t, err *note)
{
	wisdom_fade(b->w);
	for (size_t i = 0; i < b->p; i++) {
		wisdom_add(b->w, PART_BEFORE, b->key[i], t[i].in, t[i].before_s);
		wisdom_add(b->w, PART_AFTER, b->key[i], t[i].out, t[i].after_s);
	}
	wisdom_save(b->w, (uint64_t)time(NULL), note);
}
