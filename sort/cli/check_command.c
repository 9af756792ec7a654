/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Checks whether inputs are in order (--check). If inputs have names with %r, each rank takes the
 * files with its number. Otherwise all ranks see the same files, and take equal parts of them. Rank
 * 0 combines the results, and compares the last record of each part with the first record of the
 * next part. Memory at rank 0: two records per rank. */
#include "check_order.h"
#include "operands.h"
#include "base/clock.h"
#include "base/pool.h"
#include "base/size.h"
#include "io/file.h"
#include "io/json.h"
#include "phases/same_files.h"
#include "report.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The result of a rank. The first and the last record of its part follow this struct, if any. */
typedef struct seen {
	uint64_t records, equal;
	checksum sum;
	double seconds;
	int32_t in_order;
	char host[HOST_BYTES];
} seen;

/* The place of a record to print. The record follows this struct. */
typedef struct shown {
	uint64_t number;
	char file[PATH_MAX];
} shown;

/* The ranks of the first two consecutive records in the wrong order. If they differ, these are the
 * last record of one rank and the first record of the other. */
typedef struct meeting {
	int32_t before, at; /* -1: all records are in order */
} meeting;

typedef struct checking {
	rank_env env;
	settings o;  /* with the files that operands stand for, and the layout of their manifest */
	char **name; /* rank 0: [names] these files */
	size_t names;
	input in;
	check_result r;
	phase at_phase;
	double seconds;
	seen *own;
	unsigned char *all; /* rank 0: [size] results */
	meeting where;
	shown *before, *at; /* the two records, if any are in the wrong order */
	seen sum;           /* rank 0: of all */
} checking;

/* ----------------------------------------------------------------------------------- the parts */

/* Add a name, which this function frees on failure. NULL: there was no memory for the name. */
static status names_add(checking *k, char *name)
{
	char **more = name ? realloc(k->name, (k->names + 1) * sizeof *more) : NULL;
	if (!more) {
		free(name);
		return err_set(&k->env.e, ST_RESOURCE, "no memory for %zu names", k->names + 1);
	}
	k->name = more;
	k->name[k->names++] = name;
	return ST_OK;
}

/* Add the manifest of the parts with these names. If it does not exist, add all parts up to the
 * first missing one. Add part 0 even if it is missing, so that opening it fails with a message. */
static status names_add_parts(checking *k, const char *pattern)
{
	err *e = &k->env.e;
	char *name = name_expand(pattern, RANK_MANIFEST, e);
	if (name && access(name, F_OK) == 0)
		return names_add(k, name);
	free(name);
	status rc = e->code;
	for (int r = 0; rc == ST_OK; r++) {
		name = name_expand(pattern, r, e);
		if (name && r > 0 && access(name, F_OK) != 0) {
			free(name);
			break;
		}
		rc = name ? names_add(k, name) : e->code;
	}
	return rc;
}

/* Find the files that operands stand for, and describe them as this rank sees them. For a single
 * rank, a name with %r stands for all of its parts. */
static status find_inputs(checking *k)
{
	const settings *o = k->env.o;
	comm *c = k->env.c;
	status rc = ST_OK;
	for (size_t i = 0; c->rank == 0 && rc == ST_OK && i < o->ninputs; i++)
		rc = name_is_per_rank(o->inputs[i]) ? names_add_parts(k, o->inputs[i])
						    : names_add(k, strdup(o->inputs[i]));
	/* without options, use the layout of the first manifest */
	for (size_t i = 0; rc == ST_OK && !o->layout_named && i < k->names; i++) {
		manifest m;
		if (!role_begins_file(ROLE_MANIFEST, k->name[i]))
			continue;
		rc = manifest_load(&m, k->name[i], &k->env.e);
		if (rc == ST_OK)
			k->o.lay = m.lay;
		manifest_free(&m);
		break;
	}
	rc = comm_agree(c, rc);
	if (rc == ST_OK)
		rc = comm_bcast(c, &k->o.lay, sizeof k->o.lay, 0);
	if (c->size == 1) {
		k->o.inputs = (const char *const *)k->name;
		k->o.ninputs = k->names;
	}
	if (rc == ST_OK)
		rc = inputs_find(&k->env, &k->o, &k->in);
	if (rc == ST_OK && k->in.streams && c->size > 1)
		rc = err_set(&k->env.e, ST_REFUSED,
			     "--check of standard input and other streams needs a single rank");
	rc = comm_agree(c, rc);
	return rc == ST_OK && c->size > 1 && !k->in.per_rank
		       ? same_input(&k->env, &k->in, c->processes > 1)
		       : rc;
}

/* Check the records of this rank. A disorder is not returned as a failure, because all ranks must
 * combine their results. */
static status check_own_part(checking *k)
{
	const settings *o = &k->o;
	comm *c = k->env.c;
	const unsigned here = processors_count() / (unsigned)c->process_ranks;
	check_plan p = { .lay = o->lay,
			 .threads = o->threads ? o->threads
				    : here     ? here
					       : 1,
			 .direct = o->direct,
			 .sum = o->with_sum,
			 .unique = o->unique,
			 .n = UINT64_MAX };
	if (c->size > 1 && !k->in.per_rank) { /* the first ranks take one record more */
		const uint64_t size = (uint64_t)c->size, rank = (uint64_t)c->rank;
		const uint64_t each = k->in.records / size, rest = k->in.records % size;
		p.n = each + (rank < rest);
		p.first = rank * each + (rank < rest ? rank : rest);
	}
	const double t0 = now_s();
	k->at_phase = PH_READ;
	const status rc = check_order(&k->in, &p, &k->env.m, &k->r, &k->env.e);
	k->seconds = now_s() - t0;
	return comm_agree(c, rc == ST_INVALID ? ST_OK : rc);
}

/* -------------------------------------------------------------------------------- combined */

/* Return the bytes of a result and its two records. */
static size_t seen_bytes(const checking *k)
{
	return (sizeof(seen) + 2 * (size_t)k->o.lay.record_bytes + 7) / 8 * 8;
}

static const seen *seen_of(const checking *k, int rank)
{
	return (const void *)(k->all + (size_t)rank * seen_bytes(k));
}

static void shown_fill(const checking *k, const check_place *p, shown *to)
{
	to->number = p->number;
	snprintf(to->file, sizeof to->file, "%s", p->file);
	memcpy(to + 1, p->rec, k->o.lay.record_bytes);
}

/* Broadcast the two records in the wrong order, if any, from the ranks that have them. */
static status share_meeting(checking *k)
{
	comm *c = k->env.c;
	const size_t bytes = sizeof(shown) + k->o.lay.record_bytes;
	status rc = comm_bcast(c, &k->where, sizeof k->where, 0);
	const meeting w = k->where;
	if (rc != ST_OK || w.at < 0)
		return rc;
	if (w.at >= c->size || w.before < 0 || w.before > w.at)
		return err_set(&k->env.e, ST_PEER, "rank 0 named a rank that does not exist");
	if (c->rank == w.before)
		shown_fill(k, w.before == w.at ? &k->r.before : &k->r.last, k->before);
	if (c->rank == w.at)
		shown_fill(k, w.before == w.at ? &k->r.at : &k->r.first, k->at);
	rc = comm_bcast(c, k->before, bytes, w.before);
	if (rc == ST_OK)
		rc = comm_bcast(c, k->at, bytes, w.at);
	k->before->file[PATH_MAX - 1] = k->at->file[PATH_MAX - 1] = '\0';
	return rc;
}

/* Gather the results of the ranks, and find the first disorder. */
static status combine_seen(checking *k)
{
	rank_env *env = &k->env;
	const uint32_t bytes = k->o.lay.record_bytes;
	const size_t ranks = env->c->rank == 0 ? (size_t)env->c->size : 0;
	k->own = mem_array(&env->m, 1, seen_bytes(k), "a rank", &env->e);
	k->all = mem_array(&env->m, ranks, seen_bytes(k), "ranks", &env->e);
	k->before = mem_array(&env->m, 1, sizeof *k->before + bytes, "a record", &env->e);
	k->at = mem_array(&env->m, 1, sizeof *k->at + bytes, "a record", &env->e);
	status rc =
		comm_agree(env->c, k->own && k->all && k->before && k->at ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	*k->own = (seen){ k->r.records, k->r.equal, k->r.sum, k->seconds, k->r.in_order, "" };
	memcpy(k->own->host, env->c->host, sizeof k->own->host);
	memcpy(k->own + 1, k->r.first.rec, bytes);
	memcpy((unsigned char *)(k->own + 1) + bytes, k->r.last.rec, bytes);
	rc = comm_gather(env->c, k->own, k->all, seen_bytes(k), 0);
	const unsigned char *before = NULL; /* the last record of the ranks before r */
	int last = -1;
	k->where = (meeting){ -1, -1 };
	for (int r = 0; rc == ST_OK && r < (int)ranks; r++) {
		const seen *s = seen_of(k, r);
		if (s->records == 0)
			continue;
		const unsigned char *first = (const unsigned char *)(s + 1);
		const int border = before ? order_compare(&k->o.lay, before, first) : -1;
		if (k->where.at < 0 && order_wrong(border, k->o.unique))
			k->where = (meeting){ last, r };
		if (k->where.at < 0 && !s->in_order)
			k->where = (meeting){ r, r };
		k->sum.records += s->records;
		k->sum.equal += s->equal + (border == 0);
		k->sum.sum = checksum_join(k->sum.sum, s->sum);
		before = first + bytes;
		last = r;
	}
	k->sum.in_order = k->where.at < 0;
	return rc == ST_OK ? comm_agree(env->c, share_meeting(k)) : rc;
}

/* ----------------------------------------------------------------------------------- the result */

/* Return the key in hexadecimal digits, to be freed, with a blank between fields. Bytes are in the
 * order of the record. NULL: no memory. */
static char *key_text(const layout *l, const shown *s)
{
	static const char digit[] = "0123456789abcdef";
	const unsigned char *rec = (const unsigned char *)(s + 1);
	const key_field whole = { .off = l->key_off, .bytes = l->key_bytes };
	char *text = malloc(2 * (size_t)l->key_bytes + KEY_FIELDS_MAX + 1), *to = text;
	for (uint32_t i = 0; text && i < (l->fields ? l->fields : 1); i++) {
		const key_field *f = l->fields ? &l->field[i] : &whole;
		if (i > 0)
			*to++ = ' ';
		for (uint32_t b = 0; b < f->bytes; b++) {
			*to++ = digit[rec[f->off + b] >> 4];
			*to++ = digit[rec[f->off + b] & 15];
		}
	}
	if (text)
		*to = '\0';
	return text;
}

static const char *input_text(const char *file, char q[QUOTED_BYTES])
{
	return strcmp(file, "-") == 0 ? "standard input" : err_quoted(file, q);
}

static json_t *shown_json(const checking *k, int rank, const shown *s)
{
	char *key = key_text(&k->o.lay, s);
	json_t *o = key ? json_pack("{s:i, s:o, s:I, s:s}", "rank", rank, "file",
				    json_name(s->file), "record", (json_int_t)s->number, "key", key)
			: NULL;
	free(key);
	return o;
}

/* Make the report. Counts are null if a rank has stopped at a disorder, because they would not
 * include all records. */
static json_t *check_report_json(const checking *k)
{
	const layout *l = &k->o.lay;
	const bool whole = k->sum.in_order || k->o.with_sum;
	char key[KEY_TEXT_BYTES];
	json_t *ranks = json_array(), *disorder = k->where.at < 0 ? json_null() : json_object();
	for (int r = 0; r < k->env.c->size; r++) {
		const seen *s = seen_of(k, r);
		const uint64_t bytes = s->records * l->record_bytes;
		ranks = json_and(ranks,
				 json_pack("{s:i, s:s, s:I, s:I, s:f, s:b}", "rank", r, "host",
					   s->host, "records", (json_int_t)s->records, "read_bytes",
					   (json_int_t)bytes, "read_s", s->seconds, "in_order",
					   s->in_order != 0));
	}
	if (k->where.at >= 0) {
		disorder = json_with(disorder, "before", shown_json(k, k->where.before, k->before));
		disorder = json_with(disorder, "at", shown_json(k, k->where.at, k->at));
	}
	return json_pack("{s:s, s:i, s:i, s:s, s:b, s:b, s:o, s:o, s:o, s:s, s:o, s:f, s:o}",
			 "format", "hetsort-check", "version", 1, "record_bytes",
			 (int)l->record_bytes, "key", layout_key_text(l, key), "unique",
			 k->o.unique, "in_order", k->sum.in_order != 0, "disorder", disorder,
			 "records", whole ? json_integer((json_int_t)k->sum.records) : json_null(),
			 "equal_keys", whole ? json_integer((json_int_t)k->sum.equal) : json_null(),
			 "checksum_kind", CHECKSUM_NAME, "checksum",
			 k->o.with_sum ? json_checksum(k->sum.sum) : json_null(), "seconds",
			 k->seconds, "ranks", ranks);
}

/* Print the result at rank 0, and write the report. */
static status print_answer(checking *k)
{
	const settings *o = &k->o;
	if (k->env.c->rank != 0)
		return ST_OK;
	/* print the first record that is out of order, and the record before it */
	if (k->where.at >= 0 && o->wish == WISH_ORDER) {
		char q[QUOTED_BYTES];
		char *at = key_text(&o->lay, k->at), *before = key_text(&o->lay, k->before);
		const bool equal = order_compare(&o->lay, (const unsigned char *)(k->before + 1),
						 (const unsigned char *)(k->at + 1)) == 0;
		fprintf(stderr, "hetsort: record %" PRIu64 " of %s is out of order: its key %s %s ",
			k->at->number, input_text(k->at->file, q), at ? at : "",
			equal ? "is the" : "comes before the");
		fprintf(stderr, "%s of record %" PRIu64, equal || !before ? "key" : before,
			k->before->number);
		if (strcmp(k->before->file, k->at->file) != 0)
			fprintf(stderr, " of %s", input_text(k->before->file, q));
		fputs(equal ? ", but --unique allows each key only once\n" : "\n", stderr);
		free(at);
		free(before);
	}
	if (k->where.at < 0 && o->verbosity > 0)
		fprintf(stderr, "hetsort: %" PRIu64 " record%s: in order\n", k->sum.records,
			plural(k->sum.records));
	if (o->with_sum)
		printf("records: %" PRIu64 "\nchecksum: %016" PRIx64 "%016" PRIx64
		       "\nequal keys: %" PRIu64 "\n",
		       k->sum.records, k->sum.sum.hi, k->sum.sum.lo, k->sum.equal);
	if (o->with_sum && (fflush(stdout) != 0 || ferror(stdout)))
		return err_set(&k->env.e, ST_IO, "cannot write to standard output");
	return o->report ? json_write_role(ROLE_REPORT, o->report, check_report_json(k), true,
					   &k->env.e)
			 : ST_OK;
}

/* Print the failures of all ranks, at rank 0. */
static void print_failures(checking *k, status rc)
{
	comm *c = k->env.c;
	rank_result mine = { .rank = c->rank, .status = k->env.e.code, .phase = k->at_phase };
	rank_result *all = c->rank == 0 ? calloc((size_t)c->size, sizeof *all) : &mine;
	memcpy(mine.host, c->host, sizeof mine.host);
	memcpy(mine.text, k->env.e.text, sizeof mine.text);
	if (comm_agree(c, all ? ST_OK : ST_RESOURCE) == ST_OK &&
	    comm_gather(c, &mine, all, sizeof mine, 0) == ST_OK && c->rank == 0) {
		const job_result res = { .status = rc,
					 .size = c->size,
					 .job_ranks = c->size,
					 .processes = c->processes,
					 .rank = all };
		report_errors(&res, stderr);
	} else if (!all) {
		fprintf(stderr,
			"hetsort: the check failed, but there is no memory for the reasons\n");
	}
	if (all != &mine)
		free(all);
}

status check_command(comm *c, const settings *o)
{
	checking k = { .env = { .c = c, .o = o }, .o = *o, .r = { .in_order = true } };
	status rc = find_inputs(&k);
	if (rc == ST_OK)
		rc = check_own_part(&k);
	if (rc == ST_OK)
		rc = same_as_stated(&k.env, &k.in);
	if (rc == ST_OK)
		rc = combine_seen(&k);
	if (rc == ST_OK)
		rc = comm_agree(c, print_answer(&k));
	if (rc != ST_OK && !atomic_load(&c->broken))
		print_failures(&k, rc);
	if (rc == ST_OK && k.where.at >= 0)
		rc = ST_INVALID;
	mem_free(&k.env.m, k.r.recs);
	input_free(&k.in);
	for (size_t i = 0; i < k.names; i++)
		free(k.name[i]);
	free(k.name);
	mem_free(&k.env.m, k.own);
	mem_free(&k.env.m, k.all);
	mem_free(&k.env.m, k.before);
	mem_free(&k.env.m, k.at);
	return rc;
}
