/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Plans the memory of each rank before any record is read. If the records do not fit, sorted runs
 * spill to disk, or a message names the memory that the job needs. */
#include "base/arith.h"
#include "base/size.h"
#include "exchange/lanes.h"
#include "apply.h"
#include "memory_plan.h"
#include "work_plan.h"
#include "spill/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	CONTROL_BYTES = 64 << 10, /* messages of a few bytes */
	PEER_BYTES = 512,         /* counts, places of splitters, an outgoing stream */
	MOST_WAITING = 2,         /* threads that read while others compute */
	LEAST_BYTES = 64 << 10,   /* least memory of any job */
	SMALL_BYTES = 1 << 20,    /* less than half of what a started program uses */
};

const char *const *memory_plan_tmpdirs(const job *j, size_t *n)
{
	const settings *o = j->env.o;
	*n = o->tmpdirs ? o->tmpdirs : 1;
	if (o->workdir)
		return &o->workdir;
	return o->tmpdirs ? o->tmpdir : (const char *const *)&j->memory.tmpdir;
}

/* Return the memory for sending this rank's records and writing the received ones. */
static uint64_t exchange_bytes(const job *j, const memory_plan *mp, uint64_t out_recs)
{
	const rank_env *env = &j->env;
	const uint32_t rec = env->o->lay.record_bytes;
	const bool is_stream = j->files.in.is_stream;
	const uint64_t p = (uint64_t)env->c->size;
	const uint64_t n = is_stream ? POS_MASK : own_share(env, j->shares.in);
	const uint64_t out = is_stream ? POS_MASK : out_recs;
	if (p == 1)
		return 0;
	const unsigned lanes = mp->lanes ? mp->lanes : 1;
	return lanes_most_bytes(n, rec, mp->windows_bytes, env->c->size, comm_is_inside(env->c),
				lanes) +
	       lanes * writer_most_bytes(out / lanes, rec) + CONTROL_BYTES + p * lanes * PEER_BYTES;
}

/* Return whether ranks request parts of the input from rank 0, so that their shares are unknown. */
static bool is_dynamic(const rank_env *env)
{
	return env_scatters(env) && env->o->scatter == SCATTER_DYNAMIC;
}

/* Return the memory for changing the form of records while they are read, in addition to what a
 * sort needs. */
static uint64_t reading_bytes(const job *j)
{
	const input *in = &j->files.in;
	const uint64_t n = in->is_stream ? UINT64_MAX : j->shares.records;
	if (j->env.o->merge)
		return 0; /* part of the memory to read ahead (sorted_chunk.bounce_bytes) */
	return apply_bytes(j) +
	       reader_most_bytes(in, &j->env.o->lay, n, j->cpus.threads + MOST_WAITING);
}

/* Describe what this rank must hold, if it is to write out_recs records. */
static sort_plan_query memory_query(const job *j, const memory_plan *mp, uint64_t out_recs)
{
	const rank_env *env = &j->env;
	const input *in = &j->files.in;
	const uint64_t all = j->shares.records, share = own_share(env, j->shares.in);
	const uint64_t recs = is_dynamic(env) ? scatter_room(env, all, share) : share;
	const bool unsorted = env->c->size > 1 && !settings_sorts_first(env->o);
	sort_plan_query q = { .limit_bytes = mp->limit.rank_bytes,
			      .recs = recs,
			      .out_recs = out_recs,
			      .lay = env->o->lay,
			      .threads = j->cpus.threads,
			      .streams = (unsigned)env->c->size * (mp->lanes ? mp->lanes : 1),
			      .distributing = unsorted && !env->o->partition_only,
			      .unsorted = unsorted,
			      .drops = settings_drops(env->o),
			      .folds = env->o->unique,
			      .receives = env_scatters(env),
			      .exchange_bytes = exchange_bytes(j, mp, out_recs),
			      .holds = !in->is_stream && !env_scatters(env) && !env->o->workdir,
			      .keeps = env->o->workdir && recs > 0,
			      .kept = j->work.on ? &j->work.seal.kept : NULL,
			      .left_bytes = mp->limit.left_bytes,
			      .out_file_bytes = mp->out_file_bytes,
			      .out_in_memory = in->is_stream && mp->out_in_memory,
			      .memory_dirs = mp->memory_dirs,
			      .in_place = mp->in_place,
			      .test_run_recs = test_sizes_of(env->o)->run_recs };
	(void)memory_plan_tmpdirs(j, &q.dirs);
	q.limit_bytes -= u64_min(q.limit_bytes, reading_bytes(j));
	if (env_scatters(env)) /* the blocks of the scatter are freed before the exchange */
		q.exchange_bytes = u64_max(q.exchange_bytes, scatter_most_bytes(env, all));
	for (size_t i = 0; i < in->files; i++) {
		q.longest_recs = u64_max(q.longest_recs, in->file[i].count);
		q.sorted_files += env->o->merge && in->file[i].count > 0;
	}
	return q;
}

/* Return whether out_recs records fit. When merging or spilling, written records pass through
 * windows, so any number fits, unless the output is in memory. */
bool memory_plan_holds(const job *j, uint64_t out_recs)
{
	sort_plan b;
	sort_plan_query q = memory_query(j, &j->memory, out_recs);
	const bool in_memory = j->memory.out_in_memory;
	const uint64_t planned = own_share(&j->env, j->shares.out);
	if (in_memory && out_recs > planned)
		q.out_file_bytes += (out_recs - planned) * settings_out_bytes(j->env.o);
	q.spills = j->memory.sort.spills;
	if (q.spills || !q.distributing)
		return !in_memory || sort_plan_make(&b, &q);
	return sort_plan_make(&b, &q) && !b.spills;
}

/* Make the budget for the limit in mp. Return false if this is too little memory. */
static bool memory_fits(const job *j, memory_plan *mp)
{
	const uint64_t out = own_share(&j->env, j->shares.out);
	sort_plan_query q = memory_query(j, mp, out);
	if (!q.kept)
		return sort_plan_make(&mp->sort, &q) && !(mp->sort.spills && is_dynamic(&j->env));
	/* If this job has less memory or fewer ranks than the earlier job, one merge may be unable
	 * to read all of its runs. Keep as many as possible, and make longer runs of the other
	 * records. */
	kept_runs some = *q.kept;
	lower_bound n = { .lo = 0, .hi = some.count };
	mp->kept = some.count;
	if (sort_plan_make(&mp->sort, &q))
		return true;
	q.kept = &some;
	while (lower_bound_open(&n)) {
		some.count = n.mid + 1;
		lower_bound_step(&n, sort_plan_make(&mp->sort, &q));
	}
	mp->kept = some.count = n.lo;
	return sort_plan_make(&mp->sort, &q);
}

static uint64_t mean_windows(const job *j, uint64_t limit_bytes)
{
	const int p = j->env.c->size;
	return lanes_windows_bytes(j->shares.records * j->env.o->lay.record_bytes / (uint64_t)p, p,
				   limit_bytes);
}

/* Return whether this value of --memory is enough. The windows of the exchange grow with it. */
static bool memory_would_fit(const job *j, uint64_t bytes)
{
	memory_plan other = j->memory;
	other.limit.rank_bytes = bytes / j->cpus.ranks_here;
	other.windows_bytes = mean_windows(j, other.limit.rank_bytes);
	return memory_fits(j, &other);
}

/* Return the step to which a value of --memory is rounded, so that it is easy to read. */
static uint64_t step_to(uint64_t bytes)
{
	return bytes <= UINT64_C(1) << 20    ? LEAST_BYTES
	       : bytes <= UINT64_C(16) << 30 ? UINT64_C(1) << 20
					     : UINT64_C(1) << 30;
}

/* Return whether files in this directory take memory. A workdir that is missing will be made. */
static bool dir_takes_memory(const char *path)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *above = fd < 0 && errno == ENOENT ? strdup(path) : NULL;
	if (above) {
		for (size_t n = strlen(above); n > 1 && above[n - 1] == '/';)
			above[--n] = '\0';
		above[file_base(above) - above] = '\0';
		fd = open(*above ? above : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	}
	free(above);
	const bool takes = fd >= 0 && file_takes_memory(fd);
	if (fd >= 0)
		close(fd);
	return takes;
}

/* Refuse the job because of its files in memory. More memory for the sort does not help, so say
 * which of them must be on a disk. */
static status refuse_files(job *j)
{
	rank_env *env = &j->env;
	const memory_plan *mp = &j->memory;
	const uint64_t n = j->shares.records, ranks = j->cpus.ranks_here;
	const sort_plan_query q = memory_query(j, mp, own_share(env, j->shares.out));
	const uint64_t runs = sort_plan_run_file_bytes(&q);
	memory_plan other = *mp;
	char text[ERR_TEXT_BYTES] = "", bytes[SIZE_TEXT_BYTES];
	size_t dirs, i = 0;
	const char *const *dir = memory_plan_tmpdirs(j, &dirs);
	while (runs && i + 1 < dirs && !dir_takes_memory(dir[i]))
		i++;
	other.memory_dirs = 0;
	const bool runs_only = memory_fits(j, &other);
	if (mp->out_file_bytes)
		text_append(text, sizeof text, "output %s takes %s",
			    quoted(output_name(&j->files.out)),
			    size_text(mp->out_file_bytes * ranks, bytes));
	if (runs)
		text_append(text, sizeof text, "%sruns in %s %s %s", *text ? ", and " : "",
			    quoted(dir[i]), *text ? "would take" : "take",
			    size_text(runs * ranks, bytes));
	return err_set(&env->e, ST_RESOURCE,
		       "not enough memory for %" PRIu64 " record%s of %u byte%s (%s): %s, because "
		       "%s in memory; use %s%s%s on a disk",
		       n, plural(n), env->o->lay.record_bytes, plural(env->o->lay.record_bytes),
		       mp->limit.left_text, text,
		       runs && mp->out_file_bytes ? "these directories are" : "this directory is",
		       runs_only ? "" : "an output", runs_only || !runs ? "" : " and ",
		       !runs             ? ""
		       : env->o->workdir ? "a --workdir"
					 : "a --tmpdir");
}

/* Refuse the job, and name the least value of --memory that is enough. If rank 0 plans for all
 * ranks, name at least the value for the preceding ranks: the job needs the largest, and a search
 * takes long. */
static status refuse_memory(job *j)
{
	rank_env *env = &j->env;
	const memory_limit *limit = &j->memory.limit;
	char least[SIZE_TEXT_BYTES]; /* as --memory takes it */
	uint64_t enough = u64_max(j->memory.wanted_bytes, LEAST_BYTES);
	uint64_t few = j->memory.wanted_bytes; /* too few, or enough for the preceding ranks */
	while (enough <= INT64_MAX && !memory_would_fit(j, enough)) {
		few = enough;
		enough *= 2;
	}
	const bool any = enough <= INT64_MAX; /* otherwise no memory is enough */
	while (any && enough - few > step_to(enough)) {
		const uint64_t mid = few + (enough - few) / 2;
		const uint64_t at = mid / step_to(enough) * step_to(enough);
		*(memory_would_fit(j, at) ? &enough : &few) = at;
	}
	j->memory.wanted_bytes = any ? enough : 0;
	const uint64_t step = step_to(enough), n = j->shares.records;
	const unsigned shift = step == LEAST_BYTES ? 10 : step == UINT64_C(1) << 20 ? 20 : 30;
	const bool may = any && enough / j->cpus.ranks_here <= limit->most_bytes;
	env->stats->wanted_bytes = j->memory.wanted_bytes;
	snprintf(least, sizeof least, "%" PRIu64 "%c", enough >> shift, "KMG"[shift / 10 - 1]);
	return err_set(&env->e, ST_RESOURCE,
		       "not enough memory for %" PRIu64 " record%s of %u byte%s (%s)%s%s%s%s", n,
		       plural(n), env->o->lay.record_bytes, plural(env->o->lay.record_bytes),
		       limit->text,
		       may   ? "; use --memory="
		       : any ? "; they need "
			     : "",
		       any ? least : "", may ? " or more" : "",
		       is_dynamic(env) ? "; --scatter=dynamic cannot spill to disk" : "");
}

/* Return whether the output of this rank will be a new file in memory. An output that --resume may
 * find is part of the memory in use. */
static bool output_takes_memory(const job *j)
{
	const settings *o = j->env.o;
	const output *out = &j->files.out;
	struct stat st;
	if (!o->output || j->work.saved.all.id)
		return false;
	if (!out->is_stdout)
		return file_takes_memory(out->file.dirfd);
	return stream_is_standard(o->output) && fstat(STDOUT_FILENO, &st) == 0 &&
	       S_ISREG(st.st_mode) && file_takes_memory(STDOUT_FILENO);
}

/* Return whether the records of this rank are in memory, and will be used there, as reader_map
 * decides. */
static bool input_is_in_place(const job *j)
{
	const settings *o = j->env.o;
	const input *in = &j->files.in;
	if (in->is_stream || o->merge || env_scatters(&j->env) ||
	    !input_may_be_mapped(in, o->direct))
		return false;
	const int copy = in->file->fd; /* of a stream, else -1 */
	const int fd = copy >= 0 ? copy : open(in->file->path, O_PATH | O_CLOEXEC);
	const bool is = fd >= 0 && file_is_in_memory(fd);
	if (fd >= 0 && fd != copy)
		close(fd);
	return is;
}

/* The number of a rank's host (comm.h), and the bytes that the rank writes to a file in memory. */
typedef struct rank_files {
	uint64_t host, bytes;
} rank_files;

/* Find out which files of the job take memory. Ranks share a limit evenly, so each counts an equal
 * part of what all ranks of its host write. */
static status find_files_in_memory(job *j)
{
	rank_env *env = &j->env;
	const comm *c = env->c;
	memory_plan *mp = &j->memory;
	const unsigned here = j->cpus.ranks_here;
	const uint64_t own = c->for_all ? j->shares.records : own_share(env, j->shares.out);
	rank_files mine = { c->host_id, 0 };
	uint64_t any = 0;
	size_t dirs;
	const char *const *dir = memory_plan_tmpdirs(j, &dirs);
	mp->memory_dirs = 0;
	for (size_t i = 0; i < dirs; i++)
		mp->memory_dirs += dir_takes_memory(dir[i]);
	mp->in_place = input_is_in_place(j);
	mp->out_in_memory = output_takes_memory(j);
	if (mp->out_in_memory && !j->files.in.is_stream)
		mine.bytes = u64_min(own, env->o->top ? env->o->top : UINT64_MAX) *
			     settings_out_bytes(env->o);
	mp->out_file_bytes = mine.bytes / (c->for_all ? here : 1);
	status rc = comm_reduce(env->c, mine.bytes, u64_max, &any);
	if (rc != ST_OK || c->size == 1 || c->for_all || !any)
		return rc;
	rank_files *all = env_allgather(env, &mine, sizeof mine, "files in memory", &rc);
	mp->out_file_bytes = 0;
	for (int i = 0; all && i < c->size; i++)
		mp->out_file_bytes += all[i].host == mine.host ? all[i].bytes / here : 0;
	mem_free(&env->m, all);
	return rc;
}

/* Find the memory limit, and size the windows of the exchange by the least limit of any rank.
 * Refuse more records than an entry has bits to number; later sums rely on this. If all ranks are
 * in one process, they use the limit that rank 0 finds. */
static status find_limit(job *j)
{
	rank_env *env = &j->env;
	comm *c = env->c;
	const settings *o = env->o;
	memory_limit *limit = &j->memory.limit;
	const uint64_t n = own_share(env, j->shares.in);
	const bool common = c->process_ranks == c->size; /* rank 0 finds it */
	const memory_plan any = { .limit.rank_bytes = UINT64_MAX };
	const sort_plan_query q = memory_query(j, &any, own_share(env, j->shares.out));
	sort_plan b;
	/* If this rank's arrays are smaller than the memory that starting the program took, no
	 * limit can matter. Reading the limits takes longer than such a sort. But ranks that
	 * exchange records size their windows by the limit, and a report shows it. */
	const bool small = c->size == 1 && !j->files.in.is_stream && !o->merge &&
			   !settings_reports(o) && sort_plan_make(&b, &q) && !b.spills &&
			   b.core_bytes <= SMALL_BYTES;
	const memory_limit_query lq = { .root = "",
					.wish = o->memory,
					.node_ranks = j->cpus.ranks_here,
					.process_ranks = (unsigned)c->process_ranks,
					.wish_only = small };
	uint64_t least = 0;
	status rc = ST_OK;
	if (n > POS_MASK)
		rc = err_set(&env->e, ST_REFUSED, "%" PRIu64 " records are too many for one rank",
			     n);
	else if (c->rank == 0 || !common)
		rc = memory_limit_find(&lq, limit, &env->e);
	rc = comm_agree(c, rc);
	if (rc == ST_OK && !small)
		rc = find_files_in_memory(j);
	if (rc == ST_OK && common)
		rc = comm_bcast(c, limit, sizeof *limit, 0);
	if (rc == ST_OK)
		rc = comm_reduce(c, limit->rank_bytes, u64_min, &least);
	if (rc == ST_OK && (!*limit->text || !memchr(limit->text, '\0', sizeof limit->text) ||
			    !memchr(limit->left_text, '\0', sizeof limit->left_text)))
		rc = err_set(&env->e, ST_PEER, "rank 0 sent an invalid memory limit");
	j->memory.windows_bytes = mean_windows(j, least);
	return comm_agree(c, rc);
}

/* Refuse the job: because of its files in memory, if it would fit without them. */
static status refuse(job *j)
{
	memory_plan bare = j->memory;
	bare.out_file_bytes = bare.memory_dirs = 0;
	if ((j->memory.out_file_bytes || j->memory.memory_dirs) && memory_fits(j, &bare))
		return refuse_files(j);
	j->memory = bare; /* which --memory is enough without them */
	return refuse_memory(j);
}

/* Check that the planned files can be made: runs, and an output in memory. */
static status check_files(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const memory_plan *mp = &j->memory;
	size_t dirs;
	const char *const *dir = memory_plan_tmpdirs(j, &dirs);
	const output *out = &j->files.out;
	const sort_plan *b = &mp->sort;
	if (mp->out_file_bytes && out->owner && !j->work.resuming &&
	    file_is_in_memory(out->file.dirfd)) { /* as output_create will do */
		const uint64_t mine = own_share(env, j->shares.out), all = j->shares.records;
		const status rc = file_reserve(
			out->file.dirfd,
			u64_min(out->per_rank ? mine : all, o->top ? o->top : UINT64_MAX) *
				settings_out_bytes(o),
			out->file.path, &env->e);
		if (rc != ST_OK)
			return rc;
	}
	const bool may_be_missing = o->workdir && o->explain;
	if (!b->spills || may_be_missing)
		return ST_OK;
	/* The space on disks is looked at when runs are created: until then it may change. The size
	 * of a tmpfs is as good as its memory. Runs that --resume may find have their space. */
	uint64_t bytes = 0;
	if (mp->memory_dirs && !o->workdir && b->runs > b->memory_runs &&
	    !__builtin_mul_overflow(b->disk_bytes, j->cpus.ranks_here, &bytes))
		return spill_dirs_check(dir, dirs, bytes,
					b->disk_bytes / (b->runs - b->memory_runs), &env->e);
	return spill_dirs_check(dir, dirs, 0, 0, &env->e);
}

/* Make the budget of this rank. */
static status make_budget(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	memory_plan *mp = &j->memory;
	size_t dirs;
	const char *const *dir = memory_plan_tmpdirs(j, &dirs);
	if (j->files.in.is_stream) {
		/* A named directory for runs is checked now. An unusable default matters only if
		 * the job spills, and is reported then. */
		const sort_plan_query q = memory_query(j, mp, 0);
		const uint64_t record = (uint64_t)o->lay.record_bytes * j->cpus.ranks_here;
		uint64_t bytes = 0;
		err e = { ST_OK, "" };
		const status rc = spill_dirs_room(dir, dirs, &bytes, &e);
		if (rc != ST_OK && o->tmpdirs)
			return err_join(&env->e, &e);
		sort_plan_stream(&mp->sort, &q, rc == ST_OK ? bytes / record : POS_MASK);
		return ST_OK;
	}
	if (j->apply.gathers) {
		apply_plan(j, &mp->sort);
		return check_files(j);
	}
	const bool fit = memory_fits(j, mp);
	if (env_scatters(env) && !env->c->threads_allowed)
		mp->sort.workers = 1; /* the same thread makes runs and receives */
	return fit ? check_files(j) : refuse(j);
}

static void note_budget(job *j)
{
	const sort_plan *b = &j->memory.sort;
	rank_result *r = j->env.stats;
	/* calibration may have used more already */
	r->planned_bytes = u64_max(b->bytes, j->env.m.peak_bytes);
	r->spill_bytes = b->disk_bytes;
	r->out_file_bytes = j->memory.out_file_bytes;
	size_t dirs;
	(void)memory_plan_tmpdirs(j, &dirs);
	r->run_file_bytes = b->disk_bytes / dirs * j->memory.memory_dirs;
	r->spill_runs = b->spills ? b->runs - b->memory_runs : 0;
}

void memory_plan_ended(job *j)
{
	sort_plan_query q = memory_query(j, &j->memory, 0);
	q.recs = j->data.n;
	if (q.out_in_memory)
		j->memory.out_file_bytes = q.recs * settings_out_bytes(j->env.o);
	j->memory.sort.runs = j->data.s->count;
	sort_plan_end(&j->memory.sort, &q, j->data.disk.spill);
	note_budget(j);
}

/* Agree on the lanes of all ranks: as many as one of them needs. A rank uses all of them if it has
 * at least half of the processors for that, so that as few ranks as possible get longer streams
 * than the others. needed: by this rank; most: that its processors can use. */
static status agree_lanes(job *j, uint32_t needed, uint32_t most)
{
	rank_env *env = &j->env;
	memory_plan *mp = &j->memory;
	const uint32_t mine[] = { needed, most };
	status rc = ST_OK;
	uint32_t(*all)[2] = env_allgather(env, mine, sizeof mine, "lanes", &rc);
	mp->lanes = 1;
	for (int i = 0; all && rc == ST_OK && i < env->c->size; i++) {
		if (all[i][0] == 0 || all[i][0] > all[i][1] || all[i][1] > EXCHANGE_MOST_LANES)
			rc = comm_noted(env->c, ST_PEER);
		mp->lanes = all[i][0] > mp->lanes ? all[i][0] : mp->lanes;
	}
	for (int i = 0; all && rc == ST_OK && i < env->c->size; i++)
		mp->lanes_used[i] = 2 * all[i][1] < mp->lanes ? all[i][1] : mp->lanes;
	mem_free(&env->m, all);
	if (rc != ST_OK)
		return rc;
	lanes_spread(mp->lanes_used, j->shares.out, (size_t)env->c->size, mp->lanes);
	if (mp->lanes_used[env->c->rank] > most)
		mp->lanes_why = "as many as other ranks use";
	return ST_OK;
}

/* Agree on the lanes that are useful, at most `most` for this rank. */
static status try_lanes(job *j, uint64_t mean, unsigned most, bool on_disk)
{
	memory_plan *mp = &j->memory;
	const unsigned mine = lanes_wanted(j->cpus.threads, mean, mp->windows_bytes, j->env.c->size,
					   on_disk, &mp->lanes_why);
	if (mine > most)
		mp->lanes_why = "links, disks or other ranks are slower";
	return agree_lanes(j, mine < most ? mine : most, mine);
}

static status open_lanes_used(rank_env *env, memory_plan *mp)
{
	if (!mp->lanes_used) /* else rank 0 plans for several ranks */
		mp->lanes_used = mem_array(&env->m, (size_t)env->c->size, sizeof *mp->lanes_used,
					   "lanes", &env->e);
	return comm_agree(env->c, mp->lanes_used ? ST_OK : ST_RESOURCE);
}

/* Plan the lanes: as many as are useful, fewer if runs are on disk, one if memory is short. Ranks
 * that sort last have one. */
static status plan_lanes(job *j)
{
	rank_env *env = &j->env;
	memory_plan *mp = &j->memory;
	const settings *o = env->o;
	const int p = env->c->size;
	const uint64_t mean = j->shares.records / (uint64_t)p * o->lay.record_bytes;
	const uint32_t forced = (uint32_t)test_sizes_of(o)->lanes;
	enum { IN_MEMORY, ON_DISK, SHORT };
	uint64_t worst = SHORT;
	unsigned most = 1;
	mp->lanes = 1;
	if (p == 1 || !settings_sorts_first(o) || o->merge)
		return ST_OK;
	/* with any number of threads: the same on all ranks */
	if (!forced &&
	    lanes_wanted(UINT32_MAX, mean, mp->windows_bytes, p, false, &mp->lanes_why) == 1)
		return ST_OK;
	status rc = open_lanes_used(env, mp);
	if (rc == ST_OK && forced)
		return agree_lanes(j, forced, forced);
	if (rc == ST_OK)
		rc = plan_lanes_most(j, &most);
	for (uint64_t try = IN_MEMORY; rc == ST_OK && try < worst; try++) {
		rc = try_lanes(j, mean, most, try == ON_DISK);
		if (rc == ST_OK && mp->lanes == 1)
			return rc;
		const bool fits = rc == ST_OK && memory_fits(j, mp);
		const uint64_t mine = !fits ? SHORT : mp->sort.spills ? ON_DISK : IN_MEMORY;
		if (rc == ST_OK)
			rc = comm_reduce(env->c, mine, u64_max, &worst);
		if (worst <= try)
			return rc;
	}
	mp->lanes_why = "memory is short";
	return rc == ST_OK ? agree_lanes(j, 1, 1) : rc;
}

status phase_budget(job *j)
{
	rank_result *r = j->env.stats;
	size_t dirs;
	status rc = find_limit(j);
	if (rc == ST_OK)
		rc = plan_lanes(j);
	if (rc == ST_OK)
		rc = make_budget(j);
	r->lanes = (int32_t)(j->memory.lanes > 1 ? j->memory.lanes_used[j->env.c->rank] : 1);
	snprintf(r->lanes_why, sizeof r->lanes_why, "%s",
		 j->memory.lanes_why ? j->memory.lanes_why : "");
	r->limit_bytes = j->memory.limit.rank_bytes;
	memcpy(r->limit_text, j->memory.limit.text, sizeof r->limit_text);
	note_budget(j);
	if (rc == ST_OK && !j->files.in.is_stream)
		plan_time(j, *memory_plan_tmpdirs(j, &dirs));
	return rc;
}
