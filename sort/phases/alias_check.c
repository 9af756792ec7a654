/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Each rank registers its own files, rank 0 also those that all ranks share; rank 0 gathers and
 * compares them. Touches nothing. Memory on rank 0: 250 bytes per file of each rank. */
#include "alias_check.h"
#include "base/minmax.h"
#include "io/manifest.h"
#include "io/file.h"
#include "io/registry.h"
#include "model/wisdom.h"
#include "spill/resume_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FILES = 1 << 21 }; /* of a rank: no command line names more */

side_file side_file_of(const settings *o, int i)
{
	const side_file of[SIDE_FILES] = { { ROLE_REPORT, o->report },
					   { ROLE_TRACE, o->trace },
					   { ROLE_PAGE, o->html },
					   { ROLE_SIM_REPORT, o->sim_report } };
	return of[i];
}

/* ------------------------------------------------------------------------------ registration */

/* An input, or the parts that a manifest names. Whoever opens them says what is wrong with it. */
static void read_operand(registry *g, const char *path)
{
	manifest m = { 0 };
	err unsaid = { ST_OK, "" };
	const bool listed = role_begins_file(ROLE_MANIFEST, path);
	registry_reads(g, listed ? ROLE_SOURCE_MANIFEST : ROLE_INPUT, path, -1);
	if (listed && manifest_load(&m, path, &unsaid) == ST_OK)
		for (size_t i = 0; i < m.parts; i++) {
			char *part = manifest_part_path(path, &m.part[i], &g->e);
			if (part)
				registry_reads(g, ROLE_INPUT, part, -1);
			free(part);
		}
	manifest_free(&m);
}

/* What ranks do not read as their own: the manifest of such parts, and parts beyond theirs. */
static void read_rest(registry *g, const char *pattern, int ranks)
{
	char *name = name_expand_text(pattern, "manifest", NULL);
	if (name)
		registry_reads(g, ROLE_SOURCE_MANIFEST, name, -1);
	for (int r = ranks; name; r++) {
		free(name);
		name = name_expand(pattern, r, NULL);
		if (!name || access(name, F_OK) != 0)
			break;
		registry_reads(g, ROLE_INPUT, name, -1);
	}
	free(name);
}

static void write_manifest(registry *g, const settings *o)
{
	char *name =
		o->manifest ? strdup(o->manifest) : name_expand_text(o->output, "manifest", NULL);
	if (name)
		registry_writes(g, ROLE_MANIFEST, name, -1);
	free(name);
}

/* What all ranks of this job share, as rank 0 sees it. */
static void add_shared(registry *g, const settings *o, int ranks)
{
	const struct {
		file_role role;
		const char *path;
	} read[] = { { ROLE_PLATFORM, o->sim_platform },
		     { ROLE_SPEEDS, o->speeds },
		     { ROLE_LINKS, o->links },
		     { ROLE_DISKS, o->disks } };
	char kept[WISDOM_PATH_BYTES];
	for (size_t i = 0; i < o->ninputs; i++)
		if (name_is_per_rank(o->inputs[i]))
			read_rest(g, o->inputs[i], ranks);
		else
			read_operand(g, o->inputs[i]);
	for (size_t i = 0; i < sizeof read / sizeof *read; i++)
		if (read[i].path)
			registry_reads(g, read[i].role, read[i].path, -1);
	if (o->workdir)
		registry_workdir(g, o->workdir, RESUME_PREFIX, true);
	if (o->output && !name_is_per_rank(o->output))
		registry_writes(g, ROLE_OUTPUT, o->output, -1);
	if (o->output && (o->manifest || name_is_per_rank(o->output)))
		write_manifest(g, o);
	if (o->plan == PLAN_ONLINE && wisdom_path(o, kept))
		registry_writes(g, ROLE_WISDOM, kept, -1);
	if (o->explain || o->with_sum)
		registry_writes(g, ROLE_STDOUT, STREAM_NAME, -1);
	for (int i = 0; i < SIDE_FILES; i++)
		if (side_file_of(o, i).path)
			registry_writes(g, side_file_of(o, i).role, side_file_of(o, i).path, -1);
}

/* What belongs to one of the ranks. */
static void add_own(registry *g, const settings *o, int rank, int ranks)
{
	const int shown = ranks > 1 ? rank : -1;
	for (size_t i = 0; i <= o->ninputs; i++) {
		const char *pattern = i < o->ninputs ? o->inputs[i] : o->output;
		char *path = pattern && name_is_per_rank(pattern) ? name_expand(pattern, rank, NULL)
								  : NULL;
		if (path && i < o->ninputs)
			registry_reads(g, ROLE_INPUT, path, shown);
		else if (path)
			registry_writes(g, ROLE_OUTPUT, path, shown);
		free(path);
	}
}

/* --------------------------------------------------------------------- by rank 0, at the start */

static status can_be_made(const side_file *f, err *e)
{
	target t;
	char q[QUOTED_BYTES];
	status rc = target_open(&t, f->path, e);
	if (rc == ST_OK)
		rc = target_check_role(&t, f->role, e);
	if (rc == ST_OK && faccessat(t.dirfd, ".", W_OK | X_OK, 0) != 0)
		rc = err_refuse(e, errno, "cannot make %s %s", role_name(f->role),
				err_quoted(f->path, q));
	target_discard(&t);
	return rc;
}

status side_files_check(const settings *o, int ranks, err *e)
{
	registry g = { .use = NULL };
	bool wanted = o->with_sum; /* which is printed */
	for (int i = 0; i < SIDE_FILES; i++)
		wanted = wanted || side_file_of(o, i).path;
	if (!wanted)
		return ST_OK;
	add_shared(&g, o, ranks);
	for (int r = 0; r < ranks; r++)
		add_own(&g, o, r, ranks);
	status rc = registry_check(&g, e);
	registry_free(&g);
	for (int i = 0; rc == ST_OK && i < SIDE_FILES; i++) {
		const side_file f = side_file_of(o, i);
		if (f.path && !stream_is_standard(f.path))
			rc = can_be_made(&f, e);
	}
	return rc;
}

/* -------------------------------------------------------------------------------- by all ranks */

/* As many places for each rank as the one with most files needs. */
static status most_uses(rank_env *env, uint64_t mine, uint64_t *most)
{
	const status rc = comm_reduce(env->c, mine, u64_max, most);
	return rc == ST_OK && *most > MOST_FILES
		       ? err_set(&env->e, ST_PEER, "a rank names too many files")
		       : rc;
}

/* The uses of all ranks, one rank after the other. */
static status validate(rank_env *env, const file_use *u, size_t ranks, size_t most)
{
	for (size_t i = 0; i < ranks * most; i++)
		if (!registry_use_is_sound(&u[i], (int)(i / most)))
			return err_set(&env->e, ST_PEER, "rank %zu sent an impossible file",
				       i / most);
	return ST_OK;
}

static status compare_all(rank_env *env, const registry *g, bool *late)
{
	const size_t all_ranks = env->c->for_all ? 1 : (size_t)env->c->size;
	const size_t ranks = env->c->rank == 0 ? all_ranks : 0;
	uint64_t most;
	status rc = most_uses(env, g->n, &most);
	if (rc != ST_OK)
		return rc;
	/* a wrong number may have come for the most of all ranks */
	const size_t room = size_max((size_t)most, g->n);
	file_use *mine = mem_array(&env->m, room, sizeof *mine, "names", &env->e);
	file_use *all = mem_array(&env->m, ranks * most, sizeof *all, "names", &env->e);
	rc = comm_agree(env->c, mine && all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK) {
		memset(mine, 0, room * sizeof *mine);
		if (g->n)
			memcpy(mine, g->use, g->n * sizeof *mine);
		if (env->c->for_all)
			memcpy(all, mine, (size_t)most * sizeof *mine);
		else
			rc = comm_gather(env->c, mine, all, (size_t)most * sizeof *mine, 0);
	}
	if (rc == ST_OK && ranks)
		rc = validate(env, all, ranks, most);
	if (rc == ST_OK && ranks)
		rc = registry_compare(all, ranks * most, late, &env->e);
	mem_free(&env->m, mine);
	mem_free(&env->m, all);
	return rc;
}

status alias_check(rank_env *env, bool *late)
{
	const comm *c = env->c;
	registry g = { .use = NULL };
	*late = false;
	if (c->rank == 0)
		add_shared(&g, env->o, c->size);
	else if (env->o->workdir)
		registry_workdir(&g, env->o->workdir, RESUME_PREFIX, false);
	add_own(&g, env->o, c->rank, c->size);
	status rc = g.e.code != ST_OK ? err_set(&env->e, g.e.code, "%s", g.e.text) : ST_OK;
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = compare_all(env, &g, late);
	registry_free(&g);
	return rc;
}
