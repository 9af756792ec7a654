/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Wisdom by the models of libhetpart. Each kind of rank has a model for each part of a job. It is
 * fitted to measured times, in seconds of a single processor. All functions run at rank 0. They
 * read and write one small file; whatever it contains, no job fails because of it. */
#include "wisdom.h"
#include "io/file.h"
#include "shares.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

enum {
	KIND_BYTES = 128,
	MOST_MODELS = 1024, /* kept of earlier jobs; each takes 118 kB of memory */
	MEAN_POINTS = 960   /* of a mean cost: 5 % apart, up to 2^64 */
};

/* A job counts 0.6 times as much as the next one, so about the last three jobs matter. */
static const double FADE = 0.6;
static const uint64_t HALF_A_YEAR_S = UINT64_C(183) * 86400;

struct wisdom {
	char path[WISDOM_PATH_BYTES]; /* "": there is no file */
	char kind[KIND_BYTES];        /* of job; libhetpart calls it the host */
	bool keep;                    /* the file may be replaced */
	hetpart_wisdom *w;
	size_t p;
	wisdom_rank *rank;          /* [p] of this job; all arrays are in its memory */
	const wisdom_rank **order;  /* [p] rank[] sorted: similar ranks are neighbours */
	hetpart_cost **cost[PARTS]; /* [p] of rank[]; neighbours in `order` share costs */
};

/* ------------------------------------------------------------------------- place of the file */

void wisdom_name(char *s)
{
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && *s != '.' && *s != '_')
			*s = '-';
}

/* Write the name of this kind of jobs. */
static void wisdom_name_kind(const settings *o, char kind[KIND_BYTES])
{
	snprintf(kind, KIND_BYTES, "hosts %s threads %u record %u key %u %u%s",
		 strategy_names[o->strategy], o->threads, o->lay.record_bytes, o->lay.key_off,
		 o->lay.key_bytes, o->lay.fields ? " fields" : "");
}

/* Use --wisdom or $HETSORT_WISDOM, a directory or a file. Without them use the usual directory for
 * the state of programs. */
bool wisdom_path(const settings *o, char path[WISDOM_PATH_BYTES])
{
	char name[KIND_BYTES];
	const char *arg = o->wisdom ? o->wisdom : getenv("HETSORT_WISDOM");
	const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	const size_t len = arg ? strlen(arg) : 0;
	struct stat st;
	const bool is_dir =
		len > 0 && (arg[len - 1] == '/' || (stat(arg, &st) == 0 && S_ISDIR(st.st_mode)));
	int n = -1;
	wisdom_name_kind(o, name);
	wisdom_name(name);
	if (len > 0 && !is_dir)
		n = snprintf(path, WISDOM_PATH_BYTES, "%s", arg);
	else if (len > 0)
		n = snprintf(path, WISDOM_PATH_BYTES, "%s/%s.wisdom", arg, name);
	else if (state && *state == '/') /* the standard requires an absolute path */
		n = snprintf(path, WISDOM_PATH_BYTES, "%s/hetsort/%s.wisdom", state, name);
	else if (home && *home == '/')
		n = snprintf(path, WISDOM_PATH_BYTES, "%s/.local/state/hetsort/%s.wisdom", home,
			     name);
	if (n >= 0 && n < WISDOM_PATH_BYTES)
		return true;
	path[0] = '\0';
	return false;
}

/* ---------------------------------------------------------------------------------- the file */

/* Load the file if it is of this kind and young enough. Otherwise note why, if the file exists. */
static void wisdom_load(wisdom *w, err *note)
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
	const char *kind = rc == HETPART_OK ? hetpart_wisdom_host(found) : NULL;
	if (!kind) {
		/* replace a damaged file, but not a file of another type */
		w->keep = rc == HETPART_EFORMAT && role_wrote(ROLE_WISDOM, AT_FDCWD, w->path);
		err_set(note, ST_REFUSED, "wisdom is ignored%s: %s", w->keep ? " and replaced" : "",
			he.text);
	} else if (strstr(kind, " ranks ")) {
		err_set(note, ST_REFUSED,
			"wisdom %s is of an earlier version, which kept it by rank 0's host: "
			"learning starts again",
			quoted(w->path));
	} else if (strcmp(kind, w->kind) != 0) {
		w->keep = false;
		err_set(note, ST_REFUSED, "wisdom %s is not used: it is about other jobs, %s",
			quoted(w->path), quoted(kind));
	} else if (hetpart_wisdom_time(found) + HALF_A_YEAR_S < (uint64_t)time(NULL)) {
		err_set(note, ST_REFUSED,
			"wisdom %s is older than half a year: learning starts again",
			quoted(w->path));
	} else {
		w->w = found;
		return;
	}
	hetpart_wisdom_free(found);
}

status wisdom_open(wisdom **out, const settings *o, err *note, err *e)
{
	wisdom *w = calloc(1, sizeof *w);
	hetpart_err he = { HETPART_OK, "" };
	*out = w;
	if (!w)
		return err_set(e, ST_RESOURCE, "no memory for wisdom");
	wisdom_name_kind(o, w->kind);
	(void)wisdom_path(o, w->path);
	wisdom_load(w, note);
	return w->w ? ST_OK : shares_status(hetpart_wisdom_create(&w->w, w->kind, &he), &he, e);
}

void wisdom_save(wisdom *w, uint64_t time_s, err *note)
{
	hetpart_err he = { HETPART_OK, "" };
	if (!w->keep)
		return;
	for (char *p = strchr(w->path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(w->path, 0700); /* a failure shows when the file is written */
		*p = '/';
	}
	if (hetpart_wisdom_set_time(w->w, time_s, &he) != HETPART_OK ||
	    hetpart_wisdom_save(w->w, w->path, &he) != HETPART_OK)
		err_set(note, ST_IO, "cannot save wisdom: %s", he.text);
}

/* ----------------------------------------------------------------------------------- learning */

static const char *const part_names[PARTS] = { "before:", "after:" };

static hetpart_model *wisdom_model(hetpart_wisdom *w, run_part of, const char *key)
{
	char name[WISDOM_KEY_BYTES];
	hetpart_model *m = NULL;
	snprintf(name, sizeof name, "%s%s", part_names[of], key);
	return hetpart_wisdom_model(w, name, &m, NULL) == HETPART_OK ? m : NULL;
}

/* Add the time of one part of the job to the rank's model in `next`. Ignore impossible times. */
static void learn_part(const wisdom *w, hetpart_wisdom *next, run_part of, const wisdom_rank *rank,
		       uint64_t n, double seconds)
{
	const hetpart_point seen = { (double)n, seconds * rank->cpus };
	if (!n || !(seconds > 0))
		return;
	hetpart_model *m = wisdom_model(next, of, rank->key);
	if (m && !(hetpart_model_weight(m) > 0)) { /* the first rank with this key */
		const hetpart_model *old = wisdom_model(w->w, of, rank->key);
		if (old && hetpart_model_merge(m, old, NULL) == HETPART_OK)
			(void)!hetpart_model_decay(m, FADE, NULL);
	}
	if (m)
		(void)!hetpart_model_add(m, &seen, 1, NULL);
}

void wisdom_learn(wisdom *w, const run_times *t)
{
	hetpart_wisdom *next = NULL, *const before = w->w;
	err noted_already = { ST_OK, "" };
	w->w = NULL;
	wisdom_load(w, &noted_already); /* again, because other jobs may have saved it */
	if (w->w)
		hetpart_wisdom_free(before);
	else
		w->w = before;
	if (hetpart_wisdom_create(&next, w->kind, NULL) != HETPART_OK)
		return;
	for (size_t i = 0; i < w->p; i++) {
		learn_part(w, next, PART_BEFORE, &w->rank[i], t[i].in, t[i].before_s);
		learn_part(w, next, PART_AFTER, &w->rank[i], t[i].out, t[i].after_s);
	}
	/* add older models after those just learnt, so the file has the newest first */
	const char *name;
	hetpart_model *from, *to;
	for (size_t i = 0; (name = hetpart_wisdom_model_name(w->w, i)); i++) {
		if (hetpart_wisdom_model_name(next, MOST_MODELS - 1))
			break;
		if (hetpart_wisdom_model(w->w, name, &from, NULL) == HETPART_OK &&
		    hetpart_model_weight(from) > 0 &&
		    hetpart_wisdom_model(next, name, &to, NULL) == HETPART_OK &&
		    !(hetpart_model_weight(to) > 0))
			(void)!hetpart_model_merge(to, from, NULL);
	}
	hetpart_wisdom_free(w->w);
	w->w = next;
}

/* ------------------------------------------------------------------------ ranks that are alike */

/* Return the next character of a host's name: '0' for any number, 0 at the end. */
static int next_of_name(const char **s)
{
	if (!**s || **s == ':')
		return 0;
	if (**s < '0' || **s > '9')
		return (unsigned char)*(*s)++;
	while (**s >= '0' && **s <= '9')
		(*s)++;
	return '0';
}

/* Compare names of hosts without their numbers. Names that differ only in numbers form a group. */
static int compare_groups(const char *a, const char *b)
{
	int x, y;
	do {
		x = next_of_name(&a);
		y = next_of_name(&b);
	} while (x == y && x);
	return x - y;
}

/* Order hosts by group, and ranks of a group by host. */
static int compare_keys(const char *a, const char *b)
{
	const int group = compare_groups(a, b);
	return group ? group : strcmp(a, b);
}

/* How similar two ranks are, the most similar first. */
enum { SAME_KEY, SAME_HOST, SAME_GROUP, ANY, LIKENESSES };

static bool is_like(int how, const char *a, const char *b)
{
	const char *place = strrchr(a, ':');
	switch (how) {
	case SAME_KEY:
		return strcmp(a, b) == 0;
	case SAME_HOST:
		return place && strncmp(a, b, (size_t)(place - a) + 1) == 0 &&
		       strrchr(b, ':') == b + (place - a);
	case SAME_GROUP:
		return compare_groups(a, b) == 0;
	default:
		return true;
	}
}

/* ---------------------------------------------------------------------------------------- costs */

/* A model of one part of a job, and its cost, which is made when it is first needed. */
typedef struct known_rank {
	const char *key;
	const hetpart_model *model;
	hetpart_cost *cost;
} known_rank;

typedef struct known_ranks {
	known_rank *at; /* in order of compare_keys */
	size_t n;
} known_ranks;

static int compare_known(const void *a, const void *b)
{
	return compare_keys(((const known_rank *)a)->key, ((const known_rank *)b)->key);
}

/* Return the known ranks that are most similar to the rank with this key; they are neighbours. */
static known_ranks nearest_known(const known_ranks *k, const char *key)
{
	known_ranks found = { k->at, 0 };
	for (int how = SAME_KEY; how < LIKENESSES && !found.n; how++)
		for (size_t i = 0; i < k->n; i++)
			if (is_like(how, key, k->at[i].key)) {
				if (!found.n)
					found.at = &k->at[i];
				found.n++;
			}
	return found;
}

/* Make the cost of up to n records on a rank with `cpus` processors: the mean of the known
 * ranks. */
static hetpart_status mean_cost(const known_ranks *k, double cpus, uint64_t n, hetpart_cost **out,
				hetpart_err *he)
{
	hetpart_point point[MEAN_POINTS];
	size_t points = 0;
	double last_s = 0;
	for (size_t i = 0; i < k->n; i++) {
		const hetpart_status st =
			k->at[i].cost ? HETPART_OK
				      : hetpart_model_cost(&k->at[i].cost, k->at[i].model, he);
		if (st != HETPART_OK)
			return st;
	}
	for (uint64_t x = 1; points < MEAN_POINTS; x += x / 20 + 1) {
		double per_s = 0; /* sum of speeds */
		for (size_t i = 0; i < k->n; i++)
			per_s += 1 / hetpart_cost_eval(k->at[i].cost, x);
		const double s = (double)k->n / per_s / cpus;
		last_s = s > last_s ? s : last_s;
		point[points++] = (hetpart_point){ (double)x, last_s };
		if (x >= n || x > UINT64_MAX / 2)
			break;
	}
	return hetpart_cost_piecewise(out, point, points, 1, he);
}

static int compare_ranks(const void *a, const void *b)
{
	const wisdom_rank *const *x = a, *const *y = b;
	return compare_keys((*x)->key, (*y)->key);
}

static void forget_costs(wisdom *w, run_part of)
{
	const hetpart_cost *freed = NULL;
	for (size_t i = 0; i < w->p; i++) {
		hetpart_cost **cost = &w->cost[of][w->order[i] - w->rank];
		if (*cost != freed) {
			freed = *cost;
			hetpart_cost_free(*cost);
		}
		*cost = NULL;
	}
}

static void forget_ranks(wisdom *w)
{
	for (int k = 0; k < PARTS; k++)
		forget_costs(w, (run_part)k);
	free(w->rank);
	w->p = 0;
}

status wisdom_set_ranks(wisdom *w, const wisdom_rank *rank, size_t p, err *e)
{
	forget_ranks(w);
	w->rank = calloc(p, sizeof *w->rank + sizeof *w->order + PARTS * sizeof *w->cost[0]);
	if (!w->rank)
		return err_set(e, ST_RESOURCE, "no memory for the names of %zu ranks", p);
	w->order = (void *)(w->rank + p);
	w->cost[PART_BEFORE] = (void *)(w->order + p);
	w->cost[PART_AFTER] = w->cost[PART_BEFORE] + p;
	w->p = p;
	for (size_t i = 0; i < p; i++) {
		w->rank[i] = rank[i];
		w->order[i] = &w->rank[i];
	}
	qsort(w->order, p, sizeof *w->order, compare_ranks);
	return ST_OK;
}

void wisdom_free(wisdom *w)
{
	if (!w)
		return;
	hetpart_wisdom_free(w->w);
	forget_ranks(w);
	free(w);
}

/* Set the costs of all ranks; ranks that are alike share one cost. */
static hetpart_status set_costs(wisdom *w, run_part of, const known_ranks *k, uint64_t n,
				hetpart_err *he)
{
	known_ranks last = { NULL, 0 }, by = last;
	hetpart_cost *cost = NULL;
	for (size_t i = 0; i < w->p; i++) {
		const wisdom_rank *r = w->order[i], *prev = i ? w->order[i - 1] : r;
		if (i == 0 || strcmp(prev->key, r->key) != 0)
			by = nearest_known(k, r->key);
		if (by.at != last.at || by.n != last.n || prev->cpus < r->cpus ||
		    prev->cpus > r->cpus) {
			const hetpart_status st = mean_cost(&by, r->cpus, n, &cost, he);
			if (st != HETPART_OK)
				return st;
			last = by;
		}
		w->cost[of][r - w->rank] = cost;
	}
	return HETPART_OK;
}

status wisdom_costs(wisdom *w, run_part of, uint64_t n, const hetpart_cost *const **out, err *e)
{
	const size_t len = strlen(part_names[of]);
	hetpart_err he = { HETPART_ENOMEM, "no memory for the costs of ranks" };
	const char *name;
	size_t all = 0;
	while (hetpart_wisdom_model_name(w->w, all))
		all++;
	known_ranks k = { calloc(all + 1, sizeof *k.at), 0 };
	hetpart_status st = k.at ? HETPART_OK : HETPART_ENOMEM;
	for (size_t i = 0; k.at && (name = hetpart_wisdom_model_name(w->w, i)); i++) {
		hetpart_model *m;
		if (strncmp(name, part_names[of], len) == 0 &&
		    hetpart_wisdom_model(w->w, name, &m, NULL) == HETPART_OK &&
		    hetpart_model_weight(m) > 0)
			k.at[k.n++] = (known_rank){ name + len, m, NULL };
	}
	*out = NULL;
	forget_costs(w, of);
	if (k.n > 0) {
		qsort(k.at, k.n, sizeof *k.at, compare_known);
		st = set_costs(w, of, &k, n, &he);
		*out = st == HETPART_OK ? (const hetpart_cost *const *)w->cost[of] : NULL;
	}
	for (size_t i = 0; i < k.n; i++)
		hetpart_cost_free(k.at[i].cost);
	free(k.at);
	if (st == HETPART_EINVAL || st == HETPART_ERANGE) /* no valid cost follows from the times */
		return ST_OK;
	return shares_status(st, &he, e);
}

status wisdom_shares(wisdom *w, run_part of, uint64_t n, uint64_t *share, bool *known, err *e)
{
	hetpart_err he = { HETPART_OK, "" };
	hetpart_plan *plan = NULL;
	const hetpart_cost *const *cost;
	status rc = wisdom_costs(w, of, n, &cost, e);
	hetpart_status st = HETPART_OK;
	if (rc == ST_OK && cost)
		st = hetpart_share_unrelated_create(&plan, n, cost, w->p, NULL, &he);
	for (size_t i = 0; plan && i < w->p; i++)
		share[i] = hetpart_plan_share(plan, i);
	*known = plan != NULL;
	hetpart_plan_free(plan);
	if (rc == ST_OK && st != HETPART_EINVAL && st != HETPART_ERANGE)
		rc = shares_status(st, &he, e);
	return rc;
}
