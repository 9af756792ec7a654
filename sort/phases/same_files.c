/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects one file under two names, among all files that a job reads, makes, replaces or removes.
 * Detects two files under one name, if several ranks read the input.
 *
 * Names: each rank registers its own files, rank 0 also the files that all ranks share. Rank 0
 * gathers and compares them. Memory on rank 0: 250 bytes per file of each rank.
 *
 * Contents: every rank reads its slice under the same names. On one of the hosts, a name may lead
 * to an old copy of equal size, and the output would mix both copies. Ranks of one host compare
 * device and inode. Between hosts these numbers mean nothing, and times differ even between good
 * copies. So ranks on several hosts compare sizes and a checksum of some blocks, which costs 66
 * reads of 4 KiB per file. Memory: 32 bytes per file, twice. */
#include "same_files.h"
#include "base/arith.h"
#include "base/size.h"
#include "io/manifest.h"
#include "io/registry.h"
#include "model/wisdom.h"
#include "spill/resume_state.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

enum {
	MOST_FILES = 1 << 21, /* per rank: no command line names more */
	BLOCKS = 66,
	BLOCK_BYTES = 4096,
	FILES_AT_ONCE = 64
};

/* The files that rank 0 reads before the input, and the side files, which it writes at the end. */
static const struct named_file {
	file_role role;
	bool side;
	size_t path; /* offset in settings of the path, which is NULL if not requested */
} named_files[] = {
	{ ROLE_PLATFORM, false, offsetof(settings, sim_platform) },
	{ ROLE_LIST, false, offsetof(settings, files0_from) },
	{ ROLE_SPEEDS, false, offsetof(settings, speeds) },
	{ ROLE_LINKS, false, offsetof(settings, links) },
	{ ROLE_DISKS, false, offsetof(settings, disks) },
	{ ROLE_ORDER, false, offsetof(settings, apply) },
	{ ROLE_REPORT, true, offsetof(settings, report) },
	{ ROLE_TRACE, true, offsetof(settings, trace) },
	{ ROLE_PAGE, true, offsetof(settings, html) },
	{ ROLE_SIM_REPORT, true, offsetof(settings, sim_report) },
};

enum { NAMED_FILES = sizeof named_files / sizeof *named_files };

static const char *named_path(const settings *o, const struct named_file *f)
{
	const char *path;
	memcpy(&path, (const char *)o + f->path, sizeof path);
	return path;
}

/* Register an input of the command line. For a manifest, register also the parts that it names. For
 * a name with %r, register the files that no rank reads: the manifest of the parts, and parts
 * beyond the last rank. Errors are not reported here, but when the files are opened. */
static void register_operand(registry *g, const char *path, int ranks, bool may_list)
{
	manifest m = { 0 };
	err unsaid = { ST_OK, "" };
	if (name_is_per_rank(path)) {
		char *name = name_expand(path, RANK_MANIFEST, NULL);
		if (name)
			registry_reads(g, ROLE_SOURCE_MANIFEST, name, -1);
		for (int r = ranks; name; r++) {
			free(name);
			name = name_expand(path, r, NULL);
			if (!name || access(name, F_OK) != 0)
				break;
			registry_reads(g, ROLE_INPUT, name, -1);
		}
		free(name);
		return;
	}
	const bool listed = may_list && role_begins_file(ROLE_MANIFEST, path);
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

/* Register the files that all ranks of this job share, as rank 0 sees them. may_list: an input may
 * be a manifest. */
static void register_shared(registry *g, const settings *o, int ranks, bool may_list)
{
	const bool parts = o->output && name_is_per_rank(o->output);
	char kept[WISDOM_PATH_BYTES];
	for (size_t i = 0; i < o->ninputs; i++)
		register_operand(g, o->inputs[i], ranks, may_list);
	if (o->workdir) /* no other file of the job may replace its files */
		registry_workdir(g, o->workdir, RESUME_PREFIX, true);
	for (const struct named_file *f = named_files; f < named_files + NAMED_FILES; f++) {
		const char *path = named_path(o, f);
		if (path && f->side)
			registry_writes(g, f->role, path, -1);
		else if (path)
			registry_reads(g, f->role, path, -1);
	}
	if (o->output && !parts)
		registry_writes(g, ROLE_OUTPUT, o->output, -1);
	if (o->output && (o->manifest || parts)) {
		char *name = o->manifest ? strdup(o->manifest)
					 : name_expand(o->output, RANK_MANIFEST, NULL);
		if (name)
			registry_writes(g, ROLE_MANIFEST, name, -1);
		free(name);
	}
	if (o->plan == PLAN_ONLINE && wisdom_path(o, kept))
		registry_writes(g, ROLE_WISDOM, kept, -1);
	if (o->explain || o->with_sum)
		registry_writes(g, ROLE_STDOUT, STREAM_NAME, -1);
}

static void register_own(registry *g, const settings *o, int rank, int ranks)
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

status messages_check(const settings *o, int ranks, err *e)
{
	struct stat st;
	registry g = { .use = NULL };
	if (fstat(STDERR_FILENO, &st) != 0 || !S_ISREG(st.st_mode))
		return ST_OK;
	register_shared(&g, o, ranks, true);
	for (int r = 0; r < ranks; r++)
		register_own(&g, o, r, ranks);
	const status rc = registry_check_messages(&g, e);
	registry_free(&g);
	return rc;
}

/* Return whether the output, or the part of rank 0, has the name of a file that will be refused. It
 * may be an input, and then the advice to use --force would be wrong. */
static bool output_is_refused(const settings *o)
{
	struct stat st;
	char *path = !o->output                    ? NULL
		     : name_is_per_rank(o->output) ? name_expand(o->output, 0, NULL)
						   : strdup(o->output);
	const bool exists = path && lstat(path, &st) == 0;
	free(path);
	return exists && !(o->force && S_ISREG(st.st_mode));
}

status files_check(const settings *o, int ranks, err *e)
{
	const struct named_file *end = named_files + NAMED_FILES;
	registry g = { .use = NULL };
	bool wanted = o->with_sum /* prints to standard output */ || output_is_refused(o);
	for (const struct named_file *f = named_files; f < end; f++)
		wanted |= f->side && named_path(o, f);
	if (!wanted)
		return ST_OK;
	register_shared(&g, o, ranks, true);
	for (int r = 0; r < ranks; r++)
		register_own(&g, o, r, ranks);
	status rc = registry_check(&g, e);
	registry_free(&g);
	for (const struct named_file *f = named_files; rc == ST_OK && f < end; f++) {
		const char *path = f->side ? named_path(o, f) : NULL;
		target t;
		if (!path || stream_is_standard(path))
			continue;
		rc = target_open(&t, path, e);
		if (rc == ST_OK)
			rc = target_check_role(&t, f->role, e);
		if (rc == ST_OK && !t.replaces)
			rc = target_try(&t, false, e);
		target_discard(&t);
	}
	return rc;
}

/* Check the uses that ranks have sent, `each` per rank. */
static status uses_are_sound(const file_use *use, size_t ranks, size_t each, err *e)
{
	for (size_t i = 0; i < ranks * each; i++)
		if (!registry_use_is_sound(&use[i], (int)(i / each)))
			return err_set(e, ST_PEER, "rank %zu sent an invalid file name", i / each);
	return ST_OK;
}

/* Gather the uses of all ranks at rank 0, and compare them. The other ranks send the same number of
 * entries, which is the largest number of files of any of them. Rank 0, which has the files that
 * all ranks share, adds its own entries. */
static status compare_uses(rank_env *env, registry *g, bool *late)
{
	const size_t ranks = env->c->rank == 0 ? (size_t)env->c->size : 0;
	const size_t own = ranks ? g->n : 0;
	uint64_t most;
	if (env->c->for_all || env->c->size == 1) /* there are no other lists */
		return registry_compare(g->use, g->n, late, &env->e);
	for (size_t i = 0; i < g->n; i++)
		g->use[i].host = env->c->host_id;
	status rc = comm_reduce(env->c, g->n - own, u64_max, &most);
	if (rc == ST_OK && most > MOST_FILES)
		rc = err_set(&env->e, ST_PEER, "a rank names too many files");
	if (rc != ST_OK)
		return rc;
	/* another rank may have sent a wrong number */
	const size_t room = size_max((size_t)most, g->n - own), sent = ranks * (size_t)most;
	file_use *mine = mem_array(&env->m, room, sizeof *mine, "names", &env->e);
	file_use *all = mem_array(&env->m, sent + own, sizeof *all, "names", &env->e);
	rc = comm_agree(env->c, mine && all ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK && g->n > own)
		memcpy(mine, g->use, g->n * sizeof *mine);
	if (rc == ST_OK)
		rc = comm_gather(env->c, mine, all, (size_t)most * sizeof *mine, 0);
	if (rc == ST_OK)
		rc = uses_are_sound(all, ranks, (size_t)most, &env->e);
	if (rc == ST_OK && own)
		memcpy(all + sent, g->use, own * sizeof *all);
	if (rc == ST_OK && ranks)
		rc = registry_compare(all, sent + own, late, &env->e);
	mem_free(&env->m, mine);
	mem_free(&env->m, all);
	return rc;
}

status same_files_check(rank_env *env, const input *in, bool *late)
{
	const comm *c = env->c;
	registry g = { .use = NULL };
	*late = false;
	if (c->rank == 0)
		register_shared(&g, env->o, c->size, in->lists);
	else if (env->o->workdir)
		registry_workdir(&g, env->o->workdir, RESUME_PREFIX, false);
	register_own(&g, env->o, c->rank, c->size);
	status rc = comm_agree(env->c, err_join(&env->e, &g.e));
	if (rc == ST_OK)
		rc = compare_uses(env, &g, late);
	registry_free(&g);
	return rc;
}

/* One file, as a rank sees it. */
typedef struct view {
	uint64_t dev, ino, bytes, sum;
} view;

/* Hash the first block, the last block, and blocks at equal distances between them. */
static status sum_blocks(const input_file *f, uint64_t *sum, err *e)
{
	unsigned char block[BLOCK_BYTES];
	const uint64_t bytes = (uint64_t)f->st.st_size;
	const uint64_t last = bytes > BLOCK_BYTES ? bytes - BLOCK_BYTES : 0;
	const size_t n = (size_t)(bytes - last);
	XXH3_state_t h;
	int fd;
	status rc = input_open(f, false, &fd, e);
	if (rc != ST_OK)
		return rc;
	XXH3_64bits_reset(&h);
	(void)posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM);
	for (uint64_t i = 0; i < BLOCKS && rc == ST_OK; i++) {
		const uint64_t at = i + 1 < BLOCKS ? last / (BLOCKS - 1) * i : last;
		rc = file_read_at(fd, block, n, at, f->path, e);
		if (rc == ST_OK)
			XXH3_64bits_update(&h, block, n);
	}
	*sum = XXH3_64bits_digest(&h);
	close(fd);
	return rc;
}

/* The message that rank 0 sends before its views. */
typedef struct reference {
	char host[HOST_BYTES];
	uint64_t host_id, files, streams;
} reference;

/* Compare the number of files, their sizes, and which files they are, with rank 0. */
static status compare_with_rank0(rank_env *env, const input *in, const view *mine, view *others)
{
	reference first = { .host_id = env->c->host_id,
			    .files = in->files,
			    .streams = in->streams };
	memcpy(first.host, env->c->host, sizeof first.host);
	status rc = comm_bcast(env->c, &first, sizeof first, 0);
	if (rc == ST_OK && first.files != in->files)
		rc = err_set(&env->e, ST_PEER,
			     "the input has %zu file%s here, but %" PRIu64 " on rank 0 (%.*s)",
			     in->files, plural(in->files), first.files, HOST_BYTES - 1, first.host);
	if (rc == ST_OK && first.streams != in->streams)
		rc = err_set(&env->e, ST_PEER, "some inputs are streams here, but not on rank 0");
	rc = comm_agree(env->c, rc);
	if (rc != ST_OK)
		return rc;
	memcpy(others, mine, in->files * sizeof *mine);
	rc = comm_bcast(env->c, others, in->files * sizeof *others, 0);
	const bool same_host = first.host_id == env->c->host_id;
	for (size_t i = 0; rc == ST_OK && i < in->files; i++) {
		const view *a = &mine[i], *b = &others[i];
		const char *how = a->bytes != b->bytes ? "has another size"
				  : !same_host ? (a->sum != b->sum ? "has other content" : NULL)
				  : a->dev != b->dev || a->ino != b->ino ? "is another file"
									 : NULL;
		if (how)
			rc = err_set(&env->e, ST_PEER, "input %s %s than on rank 0 (%.*s)",
				     quoted(in->file[i].path), how, HOST_BYTES - 1, first.host);
	}
	return rc;
}

status same_input(rank_env *env, const input *in, bool sample)
{
	view *mine = mem_array(&env->m, in->files, sizeof *mine, "inputs", &env->e);
	view *others = mem_array(&env->m, in->files, sizeof *others, "inputs", &env->e);
	status rc = mine && others ? ST_OK : ST_RESOURCE;
	for (size_t i = 0; i < in->files && rc == ST_OK; i++) {
		const input_file *f = &in->file[i];
		mine[i] = (view){ f->st.st_dev, f->st.st_ino, (uint64_t)f->st.st_size, 0 };
		if (sample && !f->is_stream)
			rc = sum_blocks(f, &mine[i].sum, &env->e);
	}
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = comm_agree(env->c, compare_with_rank0(env, in, mine, others));
	mem_free(&env->m, mine);
	mem_free(&env->m, others);
	return rc;
}

/* The records that a rank has read from a file. */
typedef struct amount {
	uint64_t recs;
	checksum sum;
} amount;

/* Add up at rank 0 the records that each rank has read from the files that all ranks read. */
static status gather_amounts(rank_env *env, const input *in)
{
	const size_t ranks = env->c->rank == 0 ? (size_t)env->c->size : 0;
	amount *all = mem_array(&env->m, ranks * FILES_AT_ONCE, sizeof *all, "inputs", &env->e);
	status rc = comm_agree(env->c, all ? ST_OK : ST_RESOURCE);
	for (size_t first = 0; first < in->files && rc == ST_OK; first += FILES_AT_ONCE) {
		const size_t n = size_min(FILES_AT_ONCE, in->files - first);
		amount mine[FILES_AT_ONCE] = { 0 };
		for (size_t i = 0; i < n; i++) {
			const input_stated *s = in->file[first + i].stated;
			if (s)
				mine[i] = (amount){ s->read_recs, s->read };
		}
		rc = comm_gather(env->c, mine, all, sizeof mine, 0);
		for (size_t k = 0; rc == ST_OK && k < (ranks ? n : 0); k++) {
			input_stated *s = in->file[first + k].stated;
			for (size_t r = 1; s && r < ranks; r++) {
				const amount *a = &all[r * FILES_AT_ONCE + k];
				s->read_recs += a->recs;
				s->read = checksum_join(s->read, a->sum);
			}
		}
	}
	mem_free(&env->m, all);
	return rc;
}

status same_as_stated(rank_env *env, const input *in)
{
	const bool shared = env->c->size > 1 && !in->per_rank && !env->o->from_root;
	status rc = shared ? gather_amounts(env, in) : ST_OK;
	for (size_t i = 0; i < in->files; i++) {
		input_stated *s = in->file[i].stated;
		if (!s)
			continue;
		if (rc == ST_OK && (!shared || env->c->rank == 0))
			rc = input_check_stated(&in->file[i], &env->e);
		s->read_recs = 0;
		s->read = (checksum){ 0 };
	}
	return comm_agree(env->c, rc);
}
