/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To the disk, and under the final names. Where each rank has a part, or a manifest was asked for,
 * rank 0 writes what was verified of each file as JSON, next to them, before any has its name; the
 * manifest gets its own last. A complete set of parts has one, and no other has. */
#include "frame.h"
#include "phases.h"
#include "io/file.h"
#include "io/json.h"
#include "io/manifest.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What a file has of the sorted records. */
typedef struct listed {
	uint64_t records;
	checksum sum;
	const unsigned char *first, *last; /* keys, where there are records */
} listed;

static void list_rank(const rank_env *env, const verified *v, int rank, listed *f)
{
	const layout *l = &env->o->lay;
	const unsigned char *first;
	const part_summary c = part_summary_at(v->part_summaries, rank, l, &first);
	if (c.out && !f->first)
		f->first = first;
	if (c.out)
		f->last = first + l->key_bytes;
	f->records += c.out;
	f->sum = checksum_join(f->sum, c.sum_out);
}

static json_t *part_json(const rank_env *env, int number, const char *path, const listed *f,
			 uint64_t trailer_bytes)
{
	const layout *l = &env->o->lay;
	const char *slash = strrchr(path, '/');
	json_t *o = json_pack("{s:i, s:o, s:I, s:o}", "rank", number, "file",
			      json_name(slash ? slash + 1 : path), "records",
			      (json_int_t)f->records, "checksum", json_checksum(f->sum));
	if (number == 0 && env->o->header_bytes)
		o = json_with(o, "header_bytes", json_integer((json_int_t)env->o->header_bytes));
	if (trailer_bytes)
		o = json_with(o, "trailer_bytes", json_integer((json_int_t)trailer_bytes));
	if (f->records == 0)
		return o;
	o = json_with(o, "first_key", json_hex(f->first, l->key_bytes));
	o = json_with(o, "last_key", json_hex(f->last, l->key_bytes));
	if (l->fields == 0)
		return o;
	o = json_with(o, "first_values", manifest_values(l, f->first));
	return json_with(o, "last_values", manifest_values(l, f->last));
}

static json_t *parts_json(const rank_env *env, const files *of, const verified *v)
{
	json_t *parts = json_array();
	for (int i = 0; i < env->c->size; i++) {
		err e = { 0 };
		listed f = { 0 };
		char *path = name_expand(env->o->output, i, &e);
		list_rank(env, v, i, &f);
		parts = json_and(parts,
				 path ? part_json(env, i, path, &f,
						  i + 1 == env->c->size ? of->trailer_bytes : 0)
				      : NULL);
		free(path);
	}
	return parts;
}

/* The one file that all ranks have written. */
static json_t *whole_json(const rank_env *env, const files *of, const verified *v)
{
	listed f = { 0 };
	for (int i = 0; i < env->c->size; i++)
		list_rank(env, v, i, &f);
	return json_and(json_array(), part_json(env, 0, env->o->output, &f, of->trailer_bytes));
}

static json_t *manifest_json(const rank_env *env, const files *f, const verified *v)
{
	const layout *l = &env->o->lay;
	char key[KEY_TEXT_BYTES];
	json_t *parts = f->out.per_rank ? parts_json(env, f, v) : whole_json(env, f, v);
	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:s*, s:o*, s:I, s:s, s:o}", "format",
			 "hetsort-manifest", "version", 1, "record_bytes", (int)l->record_bytes,
			 "key_offset", (int)l->key_off, "key_bytes", (int)l->key_bytes, "key",
			 layout_fields_text(l, key), "sorted_inside",
			 env->o->partition_only ? json_false() : NULL, "records",
			 (json_int_t)v->out, "checksum_kind", CHECKSUM_NAME, "parts", parts);
}

status phase_sync(rank_env *env, files *f, const output_part *w)
{
	const status rc = w->found ? ST_OK : frame_write(env, f, FRAME_TRAILER);
	if (rc != ST_OK)
		return rc;
	return output_sync(&f->out, env->o->fsync || env->o->verify == VERIFY_REREAD, &env->e);
}

/* Does the record number n of this file have that key? */
static status check_record(rank_env *env, const output *out, uint64_t n, const unsigned char *key,
			   unsigned char *record)
{
	const layout *l = &env->o->lay;
	char q[QUOTED_BYTES];
	const status rc =
		file_read_at(out->file.fd, record, l->record_bytes,
			     out->header_bytes + n * l->record_bytes, out->file.path, &env->e);
	if (rc != ST_OK)
		return rc;
	return key_copy_compare(l, key, record) == 0
		       ? ST_OK
		       : err_set(&env->e, ST_IO,
				 "%s is not as it was written: record %" PRIu64 " is another",
				 err_quoted(out->file.path, q), n);
}

/* A second look at what this rank's file holds, where each rank's part of it begins and ends: a
 * write or a sync may have said that it is done. */
static status check_parts(rank_env *env, const output *out, const verified *v)
{
	const layout *l = &env->o->lay;
	const unsigned char *parts = out->per_rank ? v->own : v->part_summaries;
	const int n = out->per_rank ? 1 : env->c->size;
	unsigned char *record = mem_array(&env->m, 1, l->record_bytes, "a record", &env->e);
	status rc = record ? ST_OK : ST_RESOURCE;
	uint64_t before = 0;
	for (int i = 0; rc == ST_OK && i < n; i++) {
		const unsigned char *key;
		const part_summary c = part_summary_at(parts, i, l, &key);
		if (c.out)
			rc = check_record(env, out, before, key, record);
		if (c.out && rc == ST_OK)
			rc = check_record(env, out, before + c.out - 1, key + l->key_bytes, record);
		before += c.out;
	}
	mem_free(&env->m, record);
	return rc;
}

/* It tells keys of the records: no more may read it than the parts. */
static status stage_manifest(rank_env *env, files *f, const verified *v)
{
	output *out = &f->out;
	char q[QUOTED_BYTES];
	struct stat st;
	if (fstat(out->file.fd, &st) != 0)
		return err_sys(&env->e, errno, "cannot look at %s", err_quoted(out->file.path, q));
	out->manifest.most = st.st_mode;
	return json_stage(manifest_json(env, f, v), &out->manifest, out->file.id, env->o->fsync,
			  &env->e);
}

status phase_commit(rank_env *env, files *f, const verified *v)
{
	output *out = &f->out;
	char q[QUOTED_BYTES];
	/* A rank that stood still until the others gave up must not name what they have left. */
	status rc = comm_agree(env->c, ST_OK);
	if (rc == ST_OK && out->owner && !env->o->partition_only) /* there they are anywhere */
		rc = check_parts(env, out, v);
	if (rc == ST_OK && out->owner)
		rc = frame_check(env, f, out->file.fd, &env->e);
	if (rc == ST_OK && out->manifest.base)
		rc = stage_manifest(env, f, v);
	rc = comm_agree(env->c, rc);
	if (rc == ST_OK)
		rc = output_commit(out, env->c, &env->note, &env->e);
	if (rc != ST_OK && out->journaled && env->c->rank == 0)
		err_set(&env->note, rc,
			"all parts of %s are complete; hetsort --clean gives them their names",
			err_quoted(out->manifest.path, q));
	return rc;
}
