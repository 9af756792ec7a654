/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wisdom through libhetpart's models: for each kind of rank and each part of a run one cost, fitted
 * to what was seen. Called at rank 0. Reads and writes one small file; nothing it finds there can
 * make a run fail. */
#include "wisdom.h"
#include "shares.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, KIND_BYTES = 128 };

/* A run counts 0.6 as much as the next one: about three are remembered. */
static const double FADE = 0.6;
static const uint64_t HALF_A_YEAR_S = UINT64_C(183) * 86400;
static const char MAGIC[] = "hetpart-wisdom ";

struct wisdom {
	char path[PATH_BYTES]; /* "": nowhere to keep it */
	char kind[KIND_BYTES]; /* of run, what libhetpart calls the host */
	bool keep;             /* may be saved there */
	hetpart_wisdom *w;
};

/* ------------------------------------------------------------------------------------ its place */

static bool is_folder(const char *path)
{
	struct stat st;
	const size_t len = strlen(path);
	return (len > 0 && path[len - 1] == '/') || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* The kind as a name: what is neither letter nor digit becomes '-'. */
static void as_name(const char *kind, char *name)
{
	for (; *kind; kind++, name++) {
		*name = '-';
		if (*kind == '.' || *kind == '_' || (*kind >= '0' && *kind <= '9') ||
		    (*kind >= 'a' && *kind <= 'z') || (*kind >= 'A' && *kind <= 'Z'))
			*name = *kind;
	}
	*name = '\0';
}

/* --wisdom, $HETSORT_WISDOM: a folder or a file; else the usual folder for what programs remember.
 */
static bool find_path(wisdom *w, const settings *o)
{
	char name[KIND_BYTES];
	const char *arg = o->wisdom ? o->wisdom : getenv("HETSORT_WISDOM");
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	int n = -1;
	as_name(w->kind, name);
	if (arg && *arg && !is_folder(arg))
		n = snprintf(w->path, sizeof w->path, "%s", arg);
	else if (arg && *arg)
		n = snprintf(w->path, sizeof w->path, "%s/%s.wisdom", arg, name);
	else if (state && *state == '/') /* the standard wants it absolute */
		n = snprintf(w->path, sizeof w->path, "%s/hetsort/%s.wisdom", state, name);
	else if (home && *home == '/')
		n = snprintf(w->path, sizeof w->path, "%s/.local/state/hetsort/%s.wisdom", home,
			     name);
	if (n >= 0 && (size_t)n < sizeof w->path)
		return true;
	w->path[0] = '\0';
	return false;
}

/* All folders above path that are missing. What goes wrong shows when the file is written. */
static void make_folders(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
}

/* ---------------------------------------------------------------------------------- the file */

static bool is_wisdom(const char *path)
{
	char start[sizeof MAGIC - 1];
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	const ssize_t n = fd < 0 ? -1 : read(fd, start, sizeof start);
	if (fd >= 0)
		close(fd);
	return n == 0 || (n == (ssize_t)sizeof start && memcmp(start, MAGIC, sizeof start) == 0);
}

/* Sound, and of this kind and young enough? Otherwise what there is to say. */
static void judge(wisdom *w, hetpart_wisdom *found, err *note)
{
	char q[QUOTED_BYTES], qk[QUOTED_BYTES];
	const uint64_t now = (uint64_t)time(NULL), then = hetpart_wisdom_time(found);
	if (strcmp(hetpart_wisdom_host(found), w->kind) != 0) {
		w->keep = false;
		err_set(note, ST_REFUSED, "wisdom %s is left alone: it is about other runs, %s",
			err_quoted(w->path, q), err_quoted(hetpart_wisdom_host(found), qk));
	} else if (then + HALF_A_YEAR_S < now) {
		err_set(note, ST_REFUSED, "wisdom %s is older than half a year: starting anew",
			err_quoted(w->path, q));
	} else {
		w->w = found;
		return;
	}
	hetpart_wisdom_free(found);
}

static void load(wisdom *w, err *note)
{
	hetpart_wisdom *found = NULL;
	hetpart_err he = { HETPART_OK, "" };
	struct stat st;
	w->keep = w->path[0];
	if (!w->keep) {
		err_set(note, ST_REFUSED, "no place for wisdom: neither --wisdom nor HOME is set");
		return;
	}
	if (stat(w->path, &st) != 0 && (errno == ENOENT || errno == ENOTDIR))
		return;
	const hetpart_status rc = hetpart_wisdom_load(&found, w->path, NULL, 0, &he);
	if (rc == HETPART_OK) {
		judge(w, found, note);
		return;
	}
	/* a damaged file is replaced, another kind of file is not */
	w->keep = rc == HETPART_EFORMAT && is_wisdom(w->path);
	err_set(note, ST_REFUSED, "wisdom is ignored%s: %s", w->keep ? " and replaced" : "",
		he.text);
}

status wisdom_open(wisdom **out, const settings *o, const char *host, size_t ranks, err *note,
		   err *e)
{
	wisdom *w = calloc(1, sizeof *w);
	hetpart_err he = { HETPART_OK, "" };
	*out = w;
	if (!w)
		return err_set(e, ST_RESOURCE, "no memory for wisdom");
	snprintf(w->kind, sizeof w->kind, "%s %s ranks %zu threads %u record %u key %u %u%s", host,
		 strategy_names[o->strategy], ranks, o->threads, o->lay.record_bytes,
		 o->lay.key_off, o->lay.key_bytes, o->lay.fields ? " fields" : "");
	find_path(w, o);
	load(w, note);
	return w->w ? ST_OK : shares_status(hetpart_wisdom_create(&w->w, w->kind, &he), &he, e);
}

void wisdom_save(wisdom *w, uint64_t time_s, err *note)
{
	hetpart_err he = { HETPART_OK, "" };
	if (!w->keep)
		return;
	make_folders(w->path);
	if (hetpart_wisdom_set_time(w->w, time_s, &he) != HETPART_OK ||
	    hetpart_wisdom_save(w->w, w->path, &he) != HETPART_OK)
		err_set(note, ST_IO, "wisdom is not kept: %s", he.text);
}

void wisdom_free(wisdom *w)
{
	if (w)
		hetpart_wisdom_free(w->w);
	free(w);
}

/* ----------------------------------------------------------------------------------- learning */

static hetpart_model *model_of(wisdom *w, part of, const char *key)
{
	char name[WISDOM_KEY_BYTES];
	hetpart_model *m = NULL;
	snprintf(name, sizeof name, "%s:%s", of == PART_BEFORE ? "before" : "after", key);
	return hetpart_wisdom_model(w->w, name, &m, NULL) == HETPART_OK ? m : NULL;
}

void wisdom_fade(wisdom *w)
{
	const char *name;
	hetpart_model *m;
	for (size_t i = 0; (name = hetpart_wisdom_model_name(w->w, i)); i++)
		if (hetpart_wisdom_model(w->w, name, &m, NULL) == HETPART_OK)
			(void)!hetpart_model_decay(m, FADE, NULL);
}

void wisdom_add(wisdom *w, part of, const char *key, uint64_t n, double seconds)
{
	hetpart_model *m = model_of(w, of, key);
	const hetpart_point seen = { (double)n, seconds };
	if (m && seconds > 0) /* what cannot be taken is not learnt */
		(void)!hetpart_model_add(m, &seen, 1, NULL);
}

/* Rank `like` has the same key as rank i and comes before it; i itself if none does. */
static size_t first_alike(const char *const *key, size_t i)
{
	size_t like = 0;
	while (strcmp(key[like], key[i]) != 0)
		like++;
	return like;
}

/* A cost for each rank; those that are alike share one. mean: of what is known. */
static hetpart_status fit(wisdom *w, part of, const char *const *key, size_t p,
			  const hetpart_model *mean, hetpart_cost **cost, hetpart_err *he)
{
	for (size_t i = 0; i < p; i++) {
		const size_t like = first_alike(key, i);
		if (like < i) {
			cost[i] = cost[like];
			continue;
		}
		const hetpart_model *m = model_of(w, of, key[i]);
		const hetpart_status st = hetpart_model_cost(
			&cost[i], m && hetpart_model_weight(m) > 0 ? m : mean, he);
		if (st != HETPART_OK)
			return st;
	}
	return HETPART_OK;
}

static void free_costs(hetpart_cost **cost, const char *const *key, size_t p)
{
	for (size_t i = p; cost && i-- > 0;)
		if (first_alike(key, i) == i)
			hetpart_cost_free(cost[i]);
	free(cost);
}

static hetpart_status pool(wisdom *w, part of, const char *const *key, size_t p,
			   hetpart_model **mean, hetpart_err *he)
{
	hetpart_status st = hetpart_model_create(mean, he);
	for (size_t i = 0; i < p && st == HETPART_OK; i++) {
		const hetpart_model *m = model_of(w, of, key[i]);
		if (m && first_alike(key, i) == i)
			st = hetpart_model_merge(*mean, m, he);
	}
	return st;
}

status wisdom_shares(wisdom *w, part of, uint64_t n, const char *const *key, size_t p,
		     uint64_t *share, bool *known, err *e)
{
	hetpart_err he = { HETPART_OK, "" };
	hetpart_model *mean = NULL;
	hetpart_plan *plan = NULL;
	hetpart_cost **cost = calloc(p, sizeof *cost);
	*known = false;
	if (!cost)
		return err_set(e, ST_RESOURCE, "no memory for the costs of %zu ranks", p);
	hetpart_status st = pool(w, of, key, p, &mean, &he);
	*known = st == HETPART_OK && hetpart_model_weight(mean) > 0;
	if (*known)
		st = fit(w, of, key, p, mean, cost, &he);
	if (st == HETPART_OK && *known)
		st = hetpart_share_unrelated_create(&plan, n, (const hetpart_cost *const *)cost, p,
						    NULL, &he);
	for (size_t i = 0; plan && i < p; i++)
		share[i] = hetpart_plan_share(plan, i);
	hetpart_plan_free(plan);
	hetpart_model_free(mean);
	free_costs(cost, key, p);
	if (st == HETPART_EINVAL || st == HETPART_ERANGE) { /* costs that are no costs */
		*known = false;
		st = HETPART_OK;
	}
	return shares_status(st, &he, e);
}
