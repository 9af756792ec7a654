/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Turns written records into the output: closes gaps, syncs, verifies, and gives final names.
 *
 * A rank knows only after merging how many records it drops, and by then other ranks have written
 * their parts after its place. So the parts of a common file move towards the front, one after the
 * other, and the file is truncated after its last record. Costs a read and a write of the moved
 * bytes through the page cache. Memory: 4 MiB.
 *
 * If each rank has a part, or a manifest was requested, rank 0 writes a manifest. The manifest has
 * a summary of each verified file, and is written before any file gets its final name. It gets its
 * own name last, so only a complete set of parts has a manifest. */
#include "base/clock.h"
#include "base/arith.h"
#include "io/file.h"
#include "io/json.h"
#include "io/manifest.h"
#include "io/reader.h"
#include "finish.h"
#include "frame.h"
#include "memory_plan.h"
#include "open_output.h"
#include "same_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE_BYTES = 4 << 20 };

status output_read_again(job *j, uint64_t recs, direct_io direct, err *e)
{
	const output *out = &j->files.out;
	const settings *o = j->env.o;
	const bool whole = !shape_cuts(&o->shape);
	const layout part = LAYOUT_BYTES(settings_out_bytes(o), 0, 1);
	inspected *seen = &j->part.seen, parts = { .order = INSPECT_ANY };
	file_records from = { .fd = { .fd = out->fd, .direct = -1 },
			      .path = output_name(out),
			      .offset = out->offset,
			      .recs = recs };
	if (whole) {
		seen->records = 0;
		seen->sum = (checksum){ 0 };
	}
	io_fd_will_read(&from.fd, direct, out->offset, recs * part.record_bytes);
	status rc =
		reader_inspect(&from, whole ? &o->lay : &part, &j->env.m, whole ? seen : &parts, e);
	if (rc == ST_OK && !whole && !checksum_equal(parts.sum, seen->written))
		rc = err_set(e, ST_IO, "output %s is not as it was written", quoted(from.path));
	output_close(&from.fd);
	return rc;
}

/* Each write overwrites only bytes that have been moved. */
status output_move(job *j, uint64_t from, uint64_t to, uint64_t bytes)
{
	rank_env *env = &j->env;
	const output *o = &j->files.out;
	const char *path = output_name(o);
	unsigned char *room = mem_array(&env->m, PIECE_BYTES, 1, "moving records", &env->e);
	status rc = room ? ST_OK : ST_RESOURCE;
	for (uint64_t at = 0; rc == ST_OK && at < bytes; at += PIECE_BYTES) {
		const size_t n = (size_t)u64_min(PIECE_BYTES, bytes - at);
		rc = file_read_at(o->fd, room, n, from + at, path, &env->e);
		if (rc == ST_OK)
			rc = file_write_at(o->fd, room, n, to + at, path, &env->e);
	}
	mem_free(&env->m, room);
	return rc;
}

/* Collective: plan the parts without the records that have been dropped. */
static status replan_kept(job *j)
{
	const output_part *w = &j->part;
	const status rc =
		job_replan_out(j, w->seen.records, w->dropped.records, "records that are kept");
	return comm_agree(j->env.c, rc); /* a false count may have reached only some ranks */
}

/* Keep the records that --top allows after the records of earlier ranks, and drop the rest. With
 * --unique, each rank may have written --top records. */
static status cut_at_top(job *j)
{
	rank_env *env = &j->env;
	output_part *w = &j->part;
	const inspected all = w->seen;
	const uint64_t top = env->o->top, before = share_before(env, j->next.out);
	if (!top || j->next.before[env->c->size - 1] <= top)
		return ST_OK;
	const uint64_t mine = before < top ? u64_min(top - before, all.records) : 0;
	status rc = ST_OK;
	if (mine < all.records) {
		rc = output_read_again(j, mine, env->o->direct, &env->e);
		if (rc == ST_INVALID)
			err_set(&env->e, rc, "the output is not in order when it is read again");
		w->dropped.records += all.records - w->seen.records;
		w->dropped.sum =
			checksum_join(w->dropped.sum, checksum_without(all.sum, w->seen.sum));
	}
	rc = comm_agree(env->c, rc);
	return rc == ST_OK ? replan_kept(j) : rc;
}

status phase_close_gaps(job *j)
{
	rank_env *env = &j->env;
	output *o = &j->files.out;
	const share_plan *old = &j->shares, *next = &j->next;
	const uint64_t record = settings_out_bytes(env->o);
	status rc = replan_kept(j);
	if (rc != ST_OK || o->is_stdout)
		return rc;
	rc = cut_at_top(j);
	/* parts move in the order of ranks, each to the new end of the preceding part */
	for (int r = 1; rc == ST_OK && !o->per_rank && r < env->c->size; r++) {
		const uint64_t to = o->header_bytes + next->before[r - 1] * record;
		if (old->before[r - 1] == next->before[r - 1] || next->out[r] == 0)
			continue; /* all ranks know that this part stays */
		if (r == env->c->rank) {
			rc = output_move(j, o->offset, to, next->out[r] * record);
			o->offset = to;
		}
		rc = comm_agree(env->c, rc);
	}
	if (rc == ST_OK && o->owner) {
		const uint64_t recs =
			o->per_rank ? own_share(env, next->out) : next->before[env->c->size - 1];
		const uint64_t bytes = o->header_bytes + recs * record + o->trailer_bytes;
		if (ftruncate(o->fd, (off_t)bytes) != 0)
			rc = err_sys(&env->e, errno, "cannot set the size of %s",
				     quoted(output_name(o)));
	}
	return rc;
}

status phase_sync(job *j)
{
	const settings *o = j->env.o;
	const status rc = j->part.found ? ST_OK : frame_write(j, FRAME_TRAILER);
	const bool sync = o->fsync || o->verify == VERIFY_REREAD;
	return rc == ST_OK ? output_sync(&j->files.out, sync, &j->env.e) : rc;
}

/* Read the output back from disk. First drop its pages from the cache, which is possible because
 * they have been synced. Direct I/O then bypasses pages that stay in the cache. */
status phase_reread(job *j)
{
	rank_env *env = &j->env;
	output *out = &j->files.out;
	const double t0 = now_s();
	target_find(&out->file, out->file.id, &out->fd);
	if (out->fd < 0 || out->file.named)
		return err_set(&env->e, ST_IO, "cannot open output %s again",
			       quoted(output_name(out)));
	(void)posix_fadvise(out->fd, 0, 0, POSIX_FADV_DONTNEED);
	const status rc = output_read_again(j, j->part.seen.records, DIRECT_ALWAYS, &env->e);
	if (rc == ST_INVALID)
		err_set(&env->e, rc, "output %s is not in order when it is read again",
			quoted(output_name(out)));
	close(out->fd);
	out->fd = -1;
	env->stats->verify_s += now_s() - t0;
	return rc;
}

/* Return the bytes of a summary and its keys. */
static size_t part_summary_bytes(const layout *l)
{
	return sizeof(part_summary) + 2 * (((size_t)l->key_bytes + 7) / 8 * 8);
}

part_summary part_summary_at(const unsigned char *all, int rank, const layout *l,
			     const unsigned char **first_key)
{
	const unsigned char *at = all + (size_t)rank * part_summary_bytes(l);
	part_summary c;
	memcpy(&c, at, sizeof c);
	*first_key = at + sizeof c;
	return c;
}

/* Compare the counts and checksums of output and input. */
static status verify_sums(rank_env *env, uint64_t total, const part_summary *sum)
{
	const bool drops = settings_drops(env->o);
	const checksum came = checksum_join(sum->sum_out, sum->sum_dropped);
	const uint64_t out = env->o->unique ? sum->out
			     : env->o->top  ? u64_min(env->o->top, total)
					    : total;
	char also[40] = "";
	if (drops)
		snprintf(also, sizeof also, " and %" PRIu64 " dropped", sum->dropped);
	if (sum->again && !checksum_equal(sum->sum_in, sum->sum_again))
		return err_set(&env->e, ST_IO,
			       "input %s%s changed while it was being read: a program has it open "
			       "for writing",
			       quoted(env->o->ninputs ? env->o->inputs[0] : "-"),
			       env->o->ninputs > 1 ? " or another one" : "");
	if (sum->in != total || sum->out != out || sum->out + sum->dropped != total)
		return err_set(&env->e, ST_INVALID,
			       "%" PRIu64 " records were planned, %" PRIu64 " read%s %" PRIu64
			       " written%s",
			       total, sum->in, drops ? "," : " and", sum->out, also);
	if (sum->stated && !sum->unstated && !checksum_equal(sum->sum_in, sum->sum_stated))
		return err_set(&env->e, ST_IO,
			       "the input does not have the checksum that its manifests state: a "
			       "part or a manifest was changed or damaged");
	if (!checksum_equal(sum->sum_in, came))
		return err_set(&env->e, ST_INVALID,
			       "the output's checksum%s %016" PRIx64 "%016" PRIx64
			       " is not the input's, %016" PRIx64 "%016" PRIx64,
			       drops ? " (with the dropped records)" : "", came.hi, came.lo,
			       sum->sum_in.hi, sum->sum_in.lo);
	if (sum->sum_in.total != came.total)
		return err_set(&env->e, ST_INVALID,
			       "the sums of fields in the output are not the sums in the input");
	return ST_OK;
}

/* Add up the summaries, and compare each rank's first key with the last key of earlier ranks. */
static status check_part_summaries(rank_env *env, uint64_t total, verified *v)
{
	const layout *l = &env->o->lay;
	const unsigned char *last = NULL;
	part_summary sum = { 0 };
	for (int i = 0; i < env->c->size; i++) {
		const unsigned char *first;
		const part_summary one = part_summary_at(v->part_summaries, i, l, &first);
		if (__builtin_add_overflow(sum.in, one.in, &sum.in) ||
		    __builtin_add_overflow(sum.out, one.out, &sum.out) ||
		    __builtin_add_overflow(sum.dropped, one.dropped, &sum.dropped))
			return err_set(&env->e, ST_INVALID,
				       "ranks 0 to %d report more records than are possible", i);
		sum.sum_in = checksum_join(sum.sum_in, one.sum_in);
		sum.sum_out = checksum_join(sum.sum_out, one.sum_out);
		sum.sum_dropped = checksum_join(sum.sum_dropped, one.sum_dropped);
		sum.sum_file = checksum_join(sum.sum_file, one.sum_file);
		sum.sum_stated = checksum_join(sum.sum_stated, one.sum_stated);
		sum.sum_again = checksum_join(sum.sum_again, one.sum_again);
		sum.again |= one.again;
		sum.stated |= one.stated;
		sum.unstated |= one.unstated;
		if (!one.out || settings_gathers(env->o))
			continue;
		const int order = last ? key_copies_compare(l, last, first) : -1;
		if (order > 0 || (order == 0 && env->o->unique))
			return err_set(&env->e, ST_INVALID,
				       "rank %d's first key is %s the last key before it", i,
				       order ? "smaller than" : "the same as");
		last = first + l->key_bytes;
	}
	v->sum = sum.sum_in;
	v->sum_file = sum.sum_file;
	v->out = sum.out;
	return verify_sums(env, total, &sum);
}

/* Read the input again if it may have changed without a new time: a part may have been read before
 * the change, and another part after it. Each rank reads an equal part. Collective. */
static status sum_again(job *j, part_summary *mine)
{
	rank_env *env = &j->env;
	const input *in = &j->files.in;
	const bool root = env_scatters(env), all = in->per_rank || root;
	const size_t rank = all ? 0 : (size_t)env->c->rank, parts = all ? 1 : (size_t)env->c->size;
	reader_plan rp = { .lay = env->o->lay, .direct = env->o->direct };
	uint64_t written = 0;
	for (size_t i = 0; i < in->files; i++)
		written |= in->file[i].written;
	status rc = comm_reduce(env->c, written, u64_max, &mine->again);
	if (rc != ST_OK || !mine->again)
		return rc;
	rp.first = part_begin(in->records, rank, parts);
	if (!root || env->c->rank == 0)
		rp.n = part_begin(in->records, rank + 1, parts) - rp.first;
	if (env->o->apply && !all) { /* a rank knows only the places of its share */
		rp.first = share_before(env, j->shares.in);
		rp.n = own_share(env, j->shares.in);
	}
	return comm_agree(env->c, reader_sum(in, &rp, &env->m, &mine->sum_again, &env->e));
}

status phase_verify(job *j)
{
	rank_env *env = &j->env;
	rank_result *r = env->stats;
	const input *in = &j->files.in;
	const output_part *w = &j->part;
	verified *v = &j->verified;
	const size_t bytes = part_summary_bytes(&env->o->lay), key = env->o->lay.key_bytes;
	const size_t p = env->c->rank == 0 ? (size_t)env->c->size : 0;
	part_summary mine = { .in = r->in,
			      .out = w->seen.records,
			      .dropped = w->dropped.records,
			      .sum_in = r->sum_in,
			      .sum_out = w->seen.sum,
			      .sum_dropped = w->dropped.sum,
			      .sum_file =
				      shape_cuts(&env->o->shape) ? w->seen.written : w->seen.sum };
	v->own = mem_array(&env->m, 1, bytes, "checksums", &env->e);
	v->part_summaries = mem_array(&env->m, p, bytes, "checksums", &env->e);
	status rc = comm_agree(env->c, v->own && v->part_summaries ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = same_as_stated(env, in);
	if (rc == ST_OK)
		rc = sum_again(j, &mine);
	if (rc != ST_OK)
		return rc;
	/* add the checksums that manifests state for the files that this rank reports */
	for (size_t i = 0; i < in->files && (env->c->rank == 0 || in->per_rank); i++) {
		/* if records changed their form, same_as_stated has compared them */
		const input_stated *stated = shape_is_on(&in->shape) ? NULL : in->file[i].stated;
		mine.stated += stated != NULL;
		mine.unstated += stated == NULL;
		if (stated)
			mine.sum_stated = checksum_join(mine.sum_stated, stated->sum);
	}
	memcpy(v->own, &mine, sizeof mine);
	if (mine.out) {
		memcpy(v->own + sizeof mine, w->seen.first_key, key);
		memcpy(v->own + sizeof mine + key, w->seen.last_key, key);
	}
	rc = comm_gather(env->c, v->own, v->part_summaries, bytes, 0);
	if (rc == ST_OK && p) {
		const double t0 = now_s();
		rc = check_part_summaries(env, j->shares.records, v);
		r->verify_s += now_s() - t0;
	}
	return comm_agree(env->c, rc);
}

void verified_free(mem *m, verified *v)
{
	mem_free(m, v->own);
	mem_free(m, v->part_summaries);
	*v = (verified){ .own = NULL };
}

/* Describe a file with the records of the ranks [from, to). */
static json_t *part_json(const job *j, const char *path, int from, int to)
{
	const settings *s = j->env.o;
	const layout *l = &s->lay;
	const unsigned char *first = NULL, *last = NULL; /* keys, if there are records */
	uint64_t n = 0;
	checksum sum = { 0 };
	if (!path)
		return NULL;
	for (int i = from; i < to; i++) {
		const unsigned char *key;
		const part_summary c = part_summary_at(j->verified.part_summaries, i, l, &key);
		if (c.out && !first)
			first = key;
		if (c.out)
			last = key + l->key_bytes;
		n += c.out;
		sum = checksum_join(sum, c.sum_file);
	}
	json_t *o =
		json_pack("{s:i, s:o, s:I, s:o}", "rank", from, "file", json_name(file_base(path)),
			  "records", (json_int_t)n, "checksum", json_checksum(sum));
	if (from == 0 && j->files.out.header_bytes)
		o = json_with(o, "header_bytes",
			      json_integer((json_int_t)j->files.out.header_bytes));
	if (to == j->env.c->size && j->files.trailer_bytes)
		o = json_with(o, "trailer_bytes", json_integer((json_int_t)j->files.trailer_bytes));
	if (n == 0 || settings_unordered(s))
		return o;
	o = json_with(o, "first_key", json_hex(first, l->key_bytes));
	o = json_with(o, "last_key", json_hex(last, l->key_bytes));
	if (l->fields == 0)
		return o;
	o = json_with(o, "first_values", manifest_values(l, first));
	return json_with(o, "last_values", manifest_values(l, last));
}

static json_t *manifest_json(const job *j)
{
	const settings *o = j->env.o;
	const uint32_t bytes = settings_out_bytes(o);
	const layout plain = LAYOUT_BYTES(bytes, 0, 1);
	const layout *l = settings_unordered(o) ? &plain : &o->lay;
	/* if ranks have no files of their own, all have written one file */
	const int size = j->env.c->size, ranks = j->files.out.per_rank ? 1 : size; /* per file */
	char key[KEY_TEXT_BYTES];
	json_t *parts = json_array();
	for (int i = 0; i < size; i += ranks) {
		char *path = name_expand(o->output, i, NULL);
		parts = json_and(parts, part_json(j, path, i, i + ranks));
		free(path);
	}
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:s*, s:o*, s:o*, s:I, s:s, s:o}", "format",
			 "hetsort-manifest", "version", 1, "record_bytes", (int)l->record_bytes,
			 "key_offset", (int)l->key_off, "key_bytes", (int)l->key_bytes, "key",
			 layout_fields_text(l, key), "sorted_inside",
			 o->partition_only ? json_false() : NULL, "ordered",
			 settings_unordered(o) ? json_false() : NULL, "records",
			 (json_int_t)j->verified.out, "checksum_kind", CHECKSUM_NAME, "parts",
			 parts);
}

/* Verify that record n of this file has the key. */
static status check_record(job *j, uint64_t n, const unsigned char *key, unsigned char *record)
{
	const output *out = &j->files.out;
	const layout *l = &j->env.o->lay;
	const status rc =
		file_read_at(out->file.fd, record, l->record_bytes,
			     out->header_bytes + n * l->record_bytes, out->file.path, &j->env.e);
	if (rc != ST_OK || key_copy_compare(l, key, record) == 0)
		return rc;
	return err_set(&j->env.e, ST_IO, "%s is not as it was written: record %" PRIu64 " differs",
		       quoted(out->file.path), n);
}

/* Read the first and the last record of each part in this rank's file again. A write or a sync may
 * have reported success without effect. */
static status check_parts(job *j)
{
	rank_env *env = &j->env;
	const bool per_rank = j->files.out.per_rank;
	const layout *l = &env->o->lay;
	const int n = per_rank ? 1 : env->c->size;
	unsigned char *record = mem_array(&env->m, 1, l->record_bytes, "a record", &env->e);
	status rc = record ? ST_OK : ST_RESOURCE;
	uint64_t before = 0;
	for (int i = 0; rc == ST_OK && i < n; i++) {
		const unsigned char *key;
		const part_summary c = part_summary_at(
			per_rank ? j->verified.own : j->verified.part_summaries, i, l, &key);
		if (c.out)
			rc = check_record(j, before, key, record);
		if (c.out && rc == ST_OK)
			rc = check_record(j, before + c.out - 1, key + l->key_bytes, record);
		before += c.out;
	}
	mem_free(&env->m, record);
	return rc;
}

status phase_commit(job *j)
{
	rank_env *env = &j->env;
	output *out = &j->files.out;
	struct stat st;
	/* a rank that was suspended until the other ranks gave up must not rename their files */
	status rc = comm_agree(env->c, ST_OK);
	/* without an order there are no keys to compare */
	if (rc == ST_OK && out->owner && !env->o->partition_only && !settings_unordered(env->o))
		rc = check_parts(j);
	if (rc == ST_OK && out->owner)
		rc = frame_check(j, out->file.fd, &env->e);
	if (rc == ST_OK && out->manifest.base && fstat(out->file.fd, &st) != 0) {
		rc = err_sys(&env->e, errno, "cannot look at %s", quoted(out->file.path));
	} else if (rc == ST_OK && out->manifest.base) {
		/* the manifest contains keys, so only readers of the parts may read it */
		out->manifest.most = st.st_mode;
		rc = json_stage(manifest_json(j), &out->manifest, out->file.id, env->o->fsync,
				&env->e);
	}
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = output_commit(out, env->c, &env->e);
	(void)err_join(&env->note, &out->manifest.past.note);
	if (rc != ST_OK && out->journaled && env->c->rank == 0)
		err_set(&env->note, rc,
			"all parts of %s are complete; hetsort --clean gives them their names",
			quoted(out->manifest.path));
	return rc;
}
