/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names lie: links, mounts and folders lead two ranks to one file. Rank 0 gathers what each rank
 * reads and makes, as numbers of file systems and files, and looks for what is there twice. Only
 * numbers of one host are comparable; between hosts the lock of the output stands guard.
 * Memory: about 100 bytes for each file of each rank, on rank 0. */
#include "alias_check.h"
#include "base/minmax.h"
#include "io/name.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* In the order in which equal ones are to be found. */
enum kind { NOTHING, READ, REPLACED, MADE };
enum { MOST_FILES = 1 << 21 }; /* of a rank: no command line names more */
/* what, or the index of an input; of side file i, LAST_SIDE + i */
enum { OUTPUT = -1, MANIFEST = -2, LAST_SIDE = -2 - SIDE_FILES };

/* One file: itself, or, for what is to be made, its folder and name. */
typedef struct use {
	uint64_t dev, ino, mark;
	int32_t kind, rank, what, unused;
	char host[HOST_BYTES];
} use;

typedef struct uses {
	use *c;
	size_t n;
} uses;

static void add(const rank_env *env, uses *all, int kind, int what, const struct stat *st,
		uint64_t mark)
{
	use *c = &all->c[all->n++];
	*c = (use){ .dev = st->st_dev,
		    .ino = st->st_ino,
		    .mark = mark,
		    .kind = kind,
		    .rank = env->c->rank,
		    .what = what };
	memcpy(c->host, env->c->host, sizeof c->host);
}

static void add_target(const rank_env *env, uses *all, const target *t, int what)
{
	struct stat st;
	if (!t->base)
		return;
	if (fstat(t->dirfd, &st) == 0)
		add(env, all, MADE, what, &st, t->mark);
	if (fstatat(t->dirfd, t->base, &st, AT_SYMLINK_NOFOLLOW) == 0)
		add(env, all, REPLACED, what, &st, 0);
}

/* Devices and sockets may be read and written, and read twice, without harm. */
static bool matters(const struct stat *st)
{
	return !S_ISCHR(st->st_mode) && !S_ISSOCK(st->st_mode);
}

static void add_stream(const rank_env *env, const output *out, uses *all)
{
	struct stat st;
	if (output_stat_stream(out, &st) && matters(&st))
		add(env, all, REPLACED, OUTPUT, &st, 0);
}

/* They have been compared with all that has a name on the command line; a manifest's parts have
 * none. */
static void add_side_files(const rank_env *env, uses *all)
{
	struct stat st;
	for (int i = 0; i < SIDE_FILES; i++) {
		const char *path = settings_side_file(env->o, i).path;
		if (path && stat(path, &st) == 0)
			add(env, all, REPLACED, LAST_SIDE + i, &st, 0);
	}
}

static void collect(const rank_env *env, const files *f, uses *all)
{
	if (f->in.per_rank || env->c->rank == 0)
		for (size_t i = 0; i < f->in.files; i++)
			if (matters(&f->in.file[i].st))
				add(env, all, READ, (int)i, &f->in.file[i].st, 0);
	if (f->out.is_stdout)
		add_stream(env, &f->out, all);
	if (f->out.owner)
		add_target(env, all, &f->out.file, OUTPUT);
	add_target(env, all, &f->out.manifest, MANIFEST);
	if (env->c->rank == 0)
		add_side_files(env, all);
}

static int same(const use *a, const use *b)
{
	const int class_a = a->kind == MADE, class_b = b->kind == MADE;
	if (class_a != class_b)
		return class_a - class_b;
	if (a->ino != b->ino)
		return a->ino < b->ino ? -1 : 1;
	if (a->dev != b->dev)
		return a->dev < b->dev ? -1 : 1;
	if (a->mark != b->mark)
		return a->mark < b->mark ? -1 : 1;
	return memcmp(a->host, b->host, sizeof a->host);
}

static int by_file(const void *a_, const void *b_)
{
	const use *a = a_, *b = b_;
	const int d = same(a, b);
	if (d)
		return d;
	if (a->kind != b->kind)
		return a->kind - b->kind;
	return a->rank != b->rank ? a->rank - b->rank : a->what - b->what;
}

/* "input 'a' of rank 1" */
static void name_use(const rank_env *env, const files *f, const use *c, char *text, size_t bytes)
{
	char q[QUOTED_BYTES], whose[32] = "";
	const settings *o = env->o;
	const side_file side =
		c->what < MANIFEST ? settings_side_file(o, c->what - LAST_SIDE) : (side_file){ 0 };
	char *path = NULL;
	if (c->what >= 0 ? f->in.per_rank : c->what == OUTPUT && f->out.per_rank)
		path = name_expand(c->what >= 0 ? o->inputs[c->what] : o->output, c->rank, NULL);
	const char *shown = path                  ? path
			    : c->what == OUTPUT   ? o->output
			    : c->what == MANIFEST ? f->out.manifest.path
			    : side.path           ? side.path
						  : f->in.file[c->what].path;
	if (env->c->size > 1)
		snprintf(whose, sizeof whose, " of rank %d", (int)c->rank);
	snprintf(text, bytes, "%s %s%s",
		 c->what >= 0          ? "input"
		 : c->what == MANIFEST ? "manifest"
		 : side.what           ? side.what
				       : "output",
		 err_quoted(shown, q), whose);
	free(path);
}

static status refuse(rank_env *env, const files *f, const use *a, const use *b)
{
	char ta[QUOTED_BYTES + 64], tb[QUOTED_BYTES + 64];
	name_use(env, f, a, ta, sizeof ta);
	name_use(env, f, b, tb, sizeof tb);
	return err_set(&env->e, ST_REFUSED, "%s is the same file as %s", tb, ta);
}

/* What is read stands first among equal ones. That a file is replaced twice is no trouble by itself
 * (they are links): that the same one is made twice is. */
static status compare(rank_env *env, const files *f, use *c, size_t n)
{
	qsort(c, n, sizeof *c, by_file);
	for (size_t i = 1; i < n; i++)
		if (c[i].kind != NOTHING && c[i - 1].kind != NOTHING && c[i - 1].kind != REPLACED &&
		    same(&c[i - 1], &c[i]) == 0)
			return refuse(env, f, &c[i - 1], &c[i]);
	return ST_OK;
}

static size_t own_uses(const input *in)
{
	return in->files + 4 + SIDE_FILES; /* output and manifest, and what they replace */
}

/* As many places for each rank as the one with most files needs. */
static status most_uses(rank_env *env, uint64_t mine, uint64_t *most)
{
	const status rc = comm_reduce(env->c, mine, u64_max, most);
	return rc == ST_OK && *most > MOST_FILES
		       ? err_set(&env->e, ST_PEER, "a rank names too many files")
		       : rc;
}

/* The ranks' uses one after the other: does each speak of itself, and of what there is? */
static status validate(rank_env *env, const input *in, const use *c, size_t ranks, size_t most)
{
	const size_t inputs = in->per_rank ? env->o->ninputs : in->files;
	for (size_t i = 0; i < ranks * most; i++, c++)
		if (c->kind < NOTHING || c->kind > MADE || c->what < LAST_SIDE ||
		    c->what >= (int64_t)inputs ||
		    (c->kind != NOTHING && c->rank != (int32_t)(i / most)))
			return err_set(&env->e, ST_PEER,
				       "what rank %zu says of its files makes no sense", i / most);
	return ST_OK;
}

status alias_check(rank_env *env, const files *f)
{
	const size_t all_ranks = env->c->for_all ? 1 : (size_t)env->c->size;
	const size_t ranks = env->c->rank == 0 ? all_ranks : 0;
	const size_t own = own_uses(&f->in);
	uint64_t most;
	status rc = most_uses(env, own, &most);
	if (rc != ST_OK)
		return rc;
	const size_t bytes = (size_t)most * sizeof(use);
	/* what this rank has said may have come out as less */
	const size_t room = size_max((size_t)most, own);
	uses mine = { mem_array(&env->m, room, sizeof(use), "names", &env->e), 0 };
	use *all = mem_array(&env->m, ranks, bytes, "names", &env->e);
	rc = comm_agree(env->c, mine.c && all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		collect(env, f, &mine);
		if (env->c->for_all)
			memcpy(all, mine.c, bytes);
		else
			rc = comm_gather(env->c, mine.c, all, bytes, 0);
	}
	if (rc == ST_OK && ranks)
		rc = validate(env, &f->in, all, ranks, most);
	if (rc == ST_OK && ranks)
		rc = compare(env, f, all, ranks * most);
	mem_free(&env->m, mine.c);
	mem_free(&env->m, all);
	return rc;
}
