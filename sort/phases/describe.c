/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The first phase: the ranks check that they match, find how they share processors, look at their
 * files, and count the records. Reads no records.
 *
 * The handshake is the first message: rank 0 sends its greeting to all ranks, which compare it with
 * their own. The size and the fields of a greeting are the same in all versions, so that two
 * versions can detect that they differ. After it, messages mean the same to all ranks. */
#include "base/arith.h"
#include "base/pool.h"
#include "base/size.h"
#include "exchange/block.h"
#include "apply.h"
#include "frame.h"
#include "same_files.h"
#include "stream_copy.h"
#include "work_plan.h"
#include "workdir.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

/* ----------------------------------------------------------------------------------- handshake */

/* Increase it when messages or their order change, or a computation whose result must be the same
 * on all ranks. */
enum { PROTOCOL = 8 };

enum { HANDSHAKE_BYTES = 256, TEXT_BYTES = 32 };

typedef struct greeting {
	char version[TEXT_BYTES];
	char protocol[TEXT_BYTES];
	char order[TEXT_BYTES];
	char sizes[TEXT_BYTES];
	char layout[2 * TEXT_BYTES];
	char options[TEXT_BYTES]; /* a checksum of all options */
	char reserved[HANDSHAKE_BYTES - 7 * TEXT_BYTES];
} greeting;

_Static_assert(sizeof(greeting) == HANDSHAKE_BYTES, "the same size in all versions");

/* Sizes that shape messages. They detect a changed struct or enum even if PROTOCOL was
 * forgotten. */
static const uint64_t shapes[] = {
	/* structs that are sent as bytes */
	sizeof(item), offsetof(item, rank), offsetof(item, tail), sizeof(range), sizeof(rates),
	sizeof(checksum), sizeof(block_header), offsetof(block_header, block),
	offsetof(block_header, sum), sizeof(part_summary), offsetof(part_summary, sum_in),
	sizeof(rank_result), offsetof(rank_result, phase_s), offsetof(rank_result, rate),
	offsetof(rank_result, planned_in), offsetof(rank_result, shares_by),
	offsetof(rank_result, adapt_state), offsetof(rank_result, lanes),
	offsetof(rank_result, read_bytes), offsetof(rank_result, limit_bytes),
	offsetof(rank_result, out_file_bytes), offsetof(rank_result, limit_text),
	offsetof(rank_result, left_out), offsetof(rank_result, sum_in),
	offsetof(rank_result, status), offsetof(rank_result, text),
	/* values of enums in them */
	PHASES, ADAPT_CHANGED, PLAN_ONLINE, SCATTER_DYNAMIC, STRATEGIES, ST_INTERNAL, ST_SIGNAL,
	/* sizes of messages without a struct */
	HOST_BYTES, COMM_TAGS, ERR_TEXT_BYTES, LIMIT_TEXT_BYTES, LEFT_OUT_TEXT_BYTES,
	MAX_RECORD_BYTES
};

/* Fields as text, which reads the same with any byte order, and can be printed. */
static const struct field {
	const char *name; /* follows "another" */
	const char *fault;
	size_t at, bytes;
} fields[] = {
	{ "version", "version", offsetof(greeting, version), TEXT_BYTES },
	{ "protocol", "protocol", offsetof(greeting, protocol), TEXT_BYTES },
	{ "byte order", "order", offsetof(greeting, order), TEXT_BYTES },
	{ "set of type sizes", "sizes", offsetof(greeting, sizes), TEXT_BYTES },
	{ "record layout", "layout", offsetof(greeting, layout), 2 * TEXT_BYTES },
};

/* Compare version, protocol, byte order, sizes of types, record layout and options, if there are
 * other ranks. ST_PEER on a rank that differs from rank 0. */
static status handshake(job *j)
{
	const settings *o = j->env.o;
	if (j->env.c->size == 1)
		return ST_OK;
	const uint16_t one = 0x0102;
	const unsigned char *low = (const void *)&one;
	char key[KEY_TEXT_BYTES];
	greeting mine = { HETSORT_VERSION, "", "", "", "", "", "" };
	snprintf(mine.protocol, sizeof mine.protocol, "%d.%016" PRIx64, PROTOCOL,
		 (uint64_t)XXH3_64bits(shapes, sizeof shapes));
	snprintf(mine.order, sizeof mine.order, "%s", *low == 2 ? "little-endian" : "big-endian");
	snprintf(mine.sizes, sizeof mine.sizes, "%zu,%zu,%zu,%zu,%zu", sizeof(void *),
		 sizeof(size_t), sizeof(item), sizeof(rank_result), sizeof(checksum));
	/* the text may be cut off, but the checksum of the options includes the whole layout */
	snprintf(mine.layout, sizeof mine.layout, "%" PRIu32 " bytes, key %.40s",
		 o->lay.record_bytes, layout_key_text(&o->lay, key));
	snprintf(mine.options, sizeof mine.options, "%016" PRIx64, o->sum);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		if (FAIL_DIFFER(fields[i].fault))
			((char *)&mine)[fields[i].at] ^= 1;
	greeting first = mine;
	status rc = comm_bcast(j->env.c, &first, sizeof first, 0);
	for (size_t i = 0; rc == ST_OK && i < sizeof fields / sizeof *fields; i++) {
		char *a = (char *)&mine + fields[i].at, *b = (char *)&first + fields[i].at;
		/* another program may send texts without an end */
		a[fields[i].bytes - 1] = b[fields[i].bytes - 1] = '\0';
		if (memcmp(a, b, fields[i].bytes) != 0)
			rc = err_set(&j->env.e, ST_PEER,
				     "it has another %s than rank 0: %s here, %s there",
				     fields[i].name, quoted(a), quoted(b));
	}
	if (rc == ST_OK && memcmp(mine.options, first.options, sizeof mine.options) != 0)
		rc = err_set(&j->env.e, ST_PEER, OTHER_OPTIONS);
	return rc;
}

enum { LEAST_PLACED_BYTES = 32 << 20 }; /* per rank; for less, threads are not bound */

/* Where a rank runs: the number of its host, and a hash of the processors; and the directory of the
 * output, 0 if it has %r in its name or cannot be found. */
typedef struct rank_site {
	uint64_t host, set, dev, ino;
} rank_site;

static void find_output_dir(const settings *o, rank_site *s)
{
	char dir[PATH_MAX];
	struct stat st;
	if (name_is_per_rank(output_dir(o, dir)) || stat(dir, &st) != 0)
		return;
	s->dev = st.st_dev;
	s->ino = st.st_ino;
}

/* Refuse a relative name of the output if ranks of this host have several working directories.
 * Their parts would not be next to the manifest, or they would not find the file that rank 0 makes.
 */
static status compare_output_dirs(rank_env *env, const rank_site *site)
{
	const rank_site *mine = &site[env->c->rank];
	for (int i = 0; i < env->c->rank; i++)
		if (site[i].host == mine->host && mine->ino && site[i].ino &&
		    (site[i].dev != mine->dev || site[i].ino != mine->ino))
			return err_set(&env->e, ST_REFUSED,
				       "output %s is in another directory here than on rank %d of "
				       "this host: start all ranks in one directory, or use an "
				       "absolute name",
				       quoted(env->o->output), i);
	return ST_OK;
}

/* Count the ranks that share the processors of this host. If the launcher has divided the
 * processors, a rank shares only with ranks that have the same processors. */
static status place_count(job *j)
{
	rank_env *env = &j->env;
	cpu_share *cpus = &j->cpus;
	const processors cpu = processors_find();
	status rc = ST_OK;
	*cpus = (cpu_share){ .ranks_here = (unsigned)env->c->size,
			     .sharing = (unsigned)env->c->size,
			     .before = (unsigned)env->c->rank };
	if (env->c->process_ranks < env->c->size) {
		rank_site mine = { .host = env->c->host_id, .set = cpu.set_hash };
		find_output_dir(env->o, &mine);
		rank_site *site = env_allgather(env, &mine, sizeof mine, "hosts", &rc);
		if (!site)
			return rc;
		*cpus = (cpu_share){ 0 };
		for (int i = 0; i < env->c->size; i++) {
			const bool here = site[i].host == mine.host;
			const bool shares = here && site[i].set == mine.set;
			cpus->ranks_here += here;
			cpus->sharing += shares;
			cpus->before += shares && i < env->c->rank;
		}
		rc = compare_output_dirs(env, site);
		mem_free(&env->m, site);
		cpus->apart = cpus->ranks_here < (unsigned)env->c->size;
	}
	cpus->processors = (double)processors_usable(&cpu) / cpus->sharing;
	const unsigned mine = (unsigned)cpus->processors;
	cpus->threads = env->o->threads ? env->o->threads : mine ? mine : 1;
	return rc;
}

/* Look for NUMA nodes, and bind the calling thread and the threads that it starts, before memory is
 * used. Looking takes as long as a short sort, so do it only for many records. */
static status place_threads(job *j)
{
	const settings *o = j->env.o;
	cpu_share *cpus = &j->cpus;
	const uint64_t recs = j->files.in.is_stream ? UINT64_MAX : j->shares.records;
	if (!o->explain &&
	    recs / (uint64_t)j->env.c->size * o->lay.record_bytes < LEAST_PLACED_BYTES)
		return ST_OK;
	cpus->numa = numa_open(o->explain);
	numa_place p = plan_place(j, cpus->before);
	if (p.binding != NUMA_UNBOUND && !o->explain && !numa_bind(cpus->numa))
		p = numa_plan(cpus->numa, cpus->sharing, cpus->before, cpus->threads, false);
	memcpy(j->mine.numa_nodes, p.nodes, sizeof p.nodes);
	j->mine.binding = (int32_t)p.binding;
	return ST_OK;
}

status inputs_find(rank_env *env, const settings *o, input *in)
{
	comm *c = env->c;
	bool all_parts = false;
	status rc = c->rank == 0 ? parts_find(o, c->size, &all_parts, &env->e) : ST_OK;
	uint8_t all = all_parts; /* another rank may have sent any byte */
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(c, &all, sizeof all, 0);
	return rc == ST_OK && (c->rank == 0 || !o->from_root)
		       ? input_describe(in, o, c->rank, all != 0, &env->e)
		       : rc;
}

/* Return whether a single rank need not know the size of its input: a stream. */
static bool is_read_as_it_arrives(const settings *o, const input *in)
{
	/* the records may end before the stream does, which only its size shows */
	const bool ends = in->frame.trailer_bytes || in->frame.records;
	return in->streams == 1 && in->files == 1 && !o->merge && !o->apply && !ends;
}

/* Find the files, and check streams. A single rank reads a single stream as it arrives. Other
 * streams are copied first, to files that only the process of rank 0 sees. */
static status find_files(job *j)
{
	const settings *o = j->env.o;
	const comm *c = j->env.c;
	err *e = &j->env.e;
	input *in = &j->files.in;
	status rc = inputs_find(&j->env, o, in);
	if (rc == ST_OK && o->output)
		rc = output_describe(&j->files.out, o, c->rank, e);
	if (rc != ST_OK)
		return rc;
	in->is_stream = c->size == 1 && is_read_as_it_arrives(o, in);
	if (c->size > 1 && o->merge && in->per_rank)
		return err_set(e, ST_REFUSED,
			       "--merge: all ranks read each input, so a name with %%r must be "
			       "the name of a manifest");
	if (c->size > 1 && j->files.out.is_stdout)
		return err_set(e, ST_REFUSED,
			       "output %s is a stream: a stream needs a single rank, not %d",
			       quoted(o->output), c->size);
	if (in->streams && o->explain)
		return err_set(e, ST_REFUSED,
			       "--explain cannot know the size of standard input and other "
			       "streams");
	if (in->streams && c->processes > 1 && !in->per_rank && !o->from_root)
		return err_set(e, ST_REFUSED,
			       "standard input and other streams reach only rank 0; use "
			       "--source=root to let it send records to the other ranks");
	return ST_OK;
}

/* Compare the names of files, and the contents of files that every rank reads. If all ranks are on
 * one host, device and inode are enough. */
static status compare_inputs(job *j)
{
	rank_env *env = &j->env;
	const input *in = &j->files.in;
	const uint32_t record_bytes = input_file_bytes(in, &env->o->lay);
	for (size_t i = 0; i < in->files; i++)
		if (in->file[i].head == HEAD_LINES)
			err_set(&env->note, ST_REFUSED,
				"input %s looks like lines of text, but is cut into records of "
				"%u byte%s; sort(1) sorts lines",
				quoted(in->file[i].path), record_bytes, plural(record_bytes));
	const bool shared = env->c->size > 1 && !env->o->from_root && !in->per_rank;
	const bool apart = !env->o->explain && j->cpus.apart;
	const status rc = shared ? same_input(env, in, apart) : ST_OK;
	return rc == ST_OK ? same_files_check(env, in, &j->files.late_refused) : rc;
}

/* Gather the identities of the files that any rank reads, so that no rank removes one of them as
 * left by a killed job. Ranks that read the same files know them already. */
static status gather_reads(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	const bool apart = env->c->size > 1 && (in->per_rank || env->o->from_root);
	uint64_t most = in->files;
	status rc = apart ? comm_reduce(env->c, most, u64_max, &most) : ST_OK;
	if (rc != ST_OK || most == 0)
		return rc;
	if (most > UINT32_MAX)
		return err_set(&env->e, ST_PEER, "a rank sent an invalid number of input files");
	const size_t n = (size_t)most, ranks = apart ? (size_t)env->c->size : 1;
	in->reads.file = calloc(n, ranks * sizeof *in->reads.file);
	file_number *mine = apart ? calloc(n, sizeof *mine) : in->reads.file;
	if (!mine || !in->reads.file)
		rc = err_set(&env->e, ST_RESOURCE, "no memory for the names of %zu files", n);
	for (size_t i = 0; rc == ST_OK && i < in->files; i++)
		mine[i] = (file_number){ in->file[i].st.st_dev, in->file[i].st.st_ino };
	if (apart) {
		rc = comm_agree(env->c, rc);
		if (rc == ST_OK)
			rc = comm_allgather(env->c, mine, in->reads.file, n * sizeof *mine);
		free(mine);
	}
	in->reads.files = rc == ST_OK ? n * ranks : 0;
	return rc;
}

void output_note_stays(job *j, const char *name)
{
	err_set(&j->env.note, ST_REFUSED,
		"%s next to %s stays, because nothing proves that hetsort made it", quoted(name),
		quoted(output_name(&j->files.out)));
}

/* Find out whether an old manifest can be replaced at the end, and its surplus parts removed. */
static status check_old_set(job *j)
{
	rank_env *env = &j->env;
	target *m = &j->files.out.manifest;
	status rc = ST_OK;
	m->reads = &j->files.in.reads;
	if (m->base && m->replaces)
		rc = target_check_role(m, ROLE_MANIFEST, &env->e);
	return rc == ST_OK && m->replaces && env->o->force && j->files.out.per_rank
		       ? journal_check_surplus(m, env->o->output, (size_t)env->c->size, &env->e)
		       : rc;
}

/* Lock the output, and remove what killed jobs left next to it. */
static status lock_output(job *j)
{
	rank_env *env = &j->env;
	output *out = &j->files.out;
	const saved_output *saved = &j->work.saved;
	const bool fits = !out->per_rank || saved->part; /* parts need the same number of ranks */
	out->file.reads = &j->files.in.reads;
	out->file.patience_s = workdir_patience_s(env);
	out->kept_id = fits ? saved->all.id : 0;
	status rc = output_lock(out, env->c, &env->e);
	(void)err_join(&env->note, &out->manifest.past.note);
	if (rc == ST_OK)
		output_sweep_parts(out);
	if (rc == ST_OK && out->file.past.stays)
		output_note_stays(j, out->file.past.first);
	env->stats->leftovers += out->manifest.past.removed + out->file.past.removed;
	rc = comm_agree(env->c, rc);
	return rc == ST_OK ? output_share_lock(out, env->c) : rc;
}

/* Add two counts; UINT64_MAX if the sum is too large. */
static uint64_t counts_add(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* If ranks have their own files, find how many records are in the files of lower ranks, because
 * records are numbered in the order of ranks. */
static status count_before(job *j)
{
	rank_env *env = &j->env;
	input *in = &j->files.in;
	status rc = ST_OK;
	if (!in->per_rank || !shape_is_on(&in->shape))
		return ST_OK;
	uint64_t *all = env_allgather(env, &in->records, sizeof in->records, "counts", &rc);
	for (int i = 0; all && i < env->c->rank; i++)
		in->shape.before += all[i];
	mem_free(&env->m, all);
	return rc;
}

/* Find the number of records. If ranks have their own files, rank 0 also finds the shares s->in. */
static status count_records(job *j)
{
	rank_env *env = &j->env;
	const input *in = &j->files.in;
	share_plan *s = &j->shares;
	uint64_t mine = in->records, bytes;
	status rc = ST_OK;
	if (in->is_stream)
		return ST_OK;
	if (env->o->from_root && comm_bcast(env->c, &mine, sizeof mine, 0) != ST_OK)
		return ST_PEER;
	s->records = mine;
	if (in->per_rank) {
		rc = comm_gather(env->c, &mine, s->in, sizeof mine, 0);
		if (rc == ST_OK)
			rc = comm_reduce(env->c, mine, counts_add, &s->records);
		if (rc == ST_OK && s->records == UINT64_MAX)
			rc = err_set(&env->e, ST_REFUSED, "too many records");
	} else {
		rc = comm_bcast(env->c, &s->records, sizeof s->records, 0);
		if (rc == ST_OK && s->records != mine)
			rc = err_set(&env->e, ST_PEER,
				     "the input has %" PRIu64 " records here, but %" PRIu64
				     " on rank 0: is it the same file?",
				     mine, s->records);
	}
	if (rc == ST_OK && (__builtin_mul_overflow(s->records, env->o->lay.record_bytes, &bytes) ||
			    bytes > INT64_MAX))
		rc = err_set(&env->e, ST_REFUSED,
			     "%" PRIu64 " records are more than a file can hold", s->records);
	return rc == ST_OK ? shape_check(&in->shape, s->records, &env->e) : rc;
}

/* Allocate the plans that later steps fill in, and name the directory for runs if the user named
 * none: $TMPDIR, or the directory of the output. */
static status make_plans(job *j)
{
	rank_env *env = &j->env;
	const settings *o = env->o;
	const char *named = getenv("TMPDIR"), *slash = o->output ? strrchr(o->output, '/') : NULL;
	status rc = share_plan_make(env, &j->shares);
	if (rc == ST_OK)
		rc = scatter_plan_make(env, &j->scatter);
	if (rc == ST_OK && !o->tmpdirs && !o->workdir) {
		j->memory.tmpdir = named && *named == '/'                      ? strdup(named)
				   : !o->output || output_is_stream(o->output) ? strdup("/tmp")
				   : slash ? strndup(o->output, (size_t)(slash - o->output) + 1)
					   : strdup(".");
		if (!j->memory.tmpdir)
			rc = err_set(&env->e, ST_RESOURCE, "no memory for a name");
	}
	return rc;
}

status phase_describe(job *j)
{
	static job_step *const look[] = { handshake,     make_plans,     place_count,
					  find_files,    compare_inputs, gather_reads,
					  check_old_set, workdir_check,  apply_describe };
	static job_step *const lock[] = { workdir_open, lock_output };
	static job_step *const count[] = { copy_streams, frame_read,  count_records,
					   count_before, apply_count, place_threads };
	status rc = job_each(j, look, sizeof look / sizeof *look);
	if (rc == ST_OK && !j->env.o->explain)
		rc = job_each(j, lock, sizeof lock / sizeof *lock);
	return rc == ST_OK ? job_each(j, count, sizeof count / sizeof *count) : rc;
}
