/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a sort that was not finished. It is parsed strictly: unknown members, other versions
 * and impossible numbers are refused, so that the rest of the program can trust its sizes. */
#include "resume_state.h"
#include "base/size.h"
#include "io/json.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#define FORMAT "hetsort-state"

enum { VERSION = 4, FIRST_ROOM = 64 };

void resume_state_name(int32_t rank, char name[RESUME_NAME_BYTES])
{
	snprintf(name, RESUME_NAME_BYTES, RESUME_PREFIX "%" PRId32 ".json", rank);
}

void resume_state_run_name(int32_t rank, uint64_t number, char name[RESUME_NAME_BYTES])
{
	snprintf(name, RESUME_NAME_BYTES, RESUME_PREFIX "%" PRId32 ".run%" PRIu64, rank, number);
}

status resume_state_alloc(resume_state *s, size_t inputs, err *e)
{
	s->inputs = inputs;
	s->input = calloc(inputs ? inputs : 1, sizeof *s->input);
	return s->input ? ST_OK
			: err_set(e, ST_RESOURCE, "no memory for a state of %zu inputs", inputs);
}

status run_list_add(run_list *l, const run_note *n, err *e)
{
	if (l->runs == l->room) {
		const size_t room = l->room ? 2 * l->room : FIRST_ROOM;
		run_note *run =
			room < SIZE_MAX / sizeof *run ? realloc(l->run, room * sizeof *run) : NULL;
		if (!run)
			return err_set(e, ST_RESOURCE, "no memory for a list of %zu runs", room);
		l->run = run;
		l->room = room;
	}
	l->run[l->runs++] = *n;
	return ST_OK;
}

uint64_t run_list_next(const run_list *l)
{
	uint64_t next = 0;
	for (size_t i = 0; i < l->runs; i++)
		if (l->run[i].number >= next)
			next = l->run[i].number + 1;
	return next;
}

void run_list_free(run_list *l)
{
	free(l->run);
	*l = (run_list){ .run = NULL };
}

void resume_state_free(resume_state *s)
{
	run_list_free(&s->made);
	run_list_free(&s->files);
	free(s->input);
	*s = (resume_state){ 0 };
}

/* ------------------------------------------------------------------------------- writing */

static json_t *file_id_json(const file_id *is)
{
	return json_pack("{s:I, s:I, s:I}", "inode", (json_int_t)is->inode, "born_s",
			 (json_int_t)is->born_s, "born_ns", (json_int_t)is->born_ns);
}

/* Return the total of folded fields as text; NULL if it is 0. */
static json_t *total_json(checksum sum)
{
	return sum.total ? json_sprintf("%016" PRIx64, sum.total) : NULL;
}

static json_t *run_json(const run_note *n)
{
	json_t *o = json_pack("{s:I, s:I, s:I, s:I, s:o, s:o*}", "number", (json_int_t)n->number,
			      "first", (json_int_t)n->first, "records", (json_int_t)n->recs,
			      "sample_stride", (json_int_t)n->stride, "checksum",
			      json_checksum(n->sum), "total", total_json(n->sum));
	if (n->kept == n->recs && checksum_equal(n->dropped, (checksum){ 0 }))
		return o;
	o = json_with(o, "kept", json_integer((json_int_t)n->kept));
	return json_with(o, "checksum_dropped", json_checksum(n->dropped));
}

json_t *resume_state_json(const resume_state *s, const input *in)
{
	char job[20], id[20], key[KEY_TEXT_BYTES];
	json_t *inputs = json_array(), *runs = json_array(), *files = json_array();
	snprintf(job, sizeof job, "%016" PRIx64, s->job);
	snprintf(id, sizeof id, "%016" PRIx64, s->out.id);
	for (size_t i = 0; i < s->inputs; i++) {
		const input_id *n = &s->input[i];
		inputs = json_and(
			inputs,
			json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "file",
				  json_name(in->file[i].path), "inode", (json_int_t)n->inode,
				  "bytes", (json_int_t)n->bytes, "mtime_s", (json_int_t)n->mtime_s,
				  "mtime_ns", (json_int_t)n->mtime_ns, "ctime_s",
				  (json_int_t)n->ctime_s, "ctime_ns", (json_int_t)n->ctime_ns));
	}
	for (size_t i = 0; i < s->made.runs; i++)
		runs = json_and(runs, run_json(&s->made.run[i]));
	for (size_t i = 0; i < s->files.runs; i++) {
		const run_note *n = &s->files.run[i];
		files = json_and(files, json_pack("{s:I, s:o}", "number", (json_int_t)n->number,
						  "is", file_id_json(&n->file)));
	}
	json_t *doc = json_pack(
		"{s:s, s:i, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s*, s:o, s:o, s:o, s:s*}",
		"format", FORMAT, "version", VERSION, "hetsort", HETSORT_VERSION, "job", job,
		"rank", (int)s->rank, "ranks", (int)s->ranks, "record_bytes",
		(int)s->lay.record_bytes, "key_offset", (int)s->lay.key_off, "key_bytes",
		(int)s->lay.key_bytes, "key", layout_fields_text(&s->lay, key), "inputs", inputs,
		"runs", runs, "files", files, "selection", *s->selection ? s->selection : NULL);
	if (s->dir.inode)
		doc = json_with(doc, "workdir", file_id_json(&s->dir));
	if (s->out.id == 0)
		return doc;
	return json_with(doc, "output",
			 json_pack("{s:s, s:I, s:o, s:I, s:o, s:o*}", "id", id, "records",
				   (json_int_t)s->out.records, "checksum",
				   json_checksum(s->out.sum), "dropped", (json_int_t)s->out.dropped,
				   "checksum_dropped", json_checksum(s->out.sum_dropped),
				   "total_dropped", total_json(s->out.sum_dropped)));
}

/* Write the state if rc, the status of the previous step, is ST_OK. Release the lock of n. */
static status notes_write(run_notes *n, status rc, err *e)
{
	if (rc == ST_OK) {
		rc = json_write(resume_state_json(n->s, n->in), n->to, n->fsync, e);
		if (rc == ST_OK || file_is(n->to->dirfd, n->to->base, &n->to->own.is))
			n->s->self = n->to->own.is;
	}
	pthread_mutex_unlock(&n->lock);
	return rc;
}

status run_notes_files(run_notes *n, const run_note *run, const bool *kept, size_t runs, err *e)
{
	status rc = ST_OK;
	pthread_mutex_lock(&n->lock);
	run_list *l = &n->s->files;
	while (l->runs > 0 && l->run[l->runs - 1].file.inode == 0)
		l->runs--; /* the planned files */
	for (size_t i = 0; rc == ST_OK && i < runs; i++)
		if (!kept[i])
			rc = run_list_add(l, &run[i], e);
	return notes_write(n, rc, e);
}

status run_notes_write(run_notes *n, const run_note *made, err *e)
{
	pthread_mutex_lock(&n->lock);
	return notes_write(n, made ? run_list_add(&n->s->made, made, e) : ST_OK, e);
}

/* ------------------------------------------------------------------------------- reading */

static status state_malformed(const char *name, const char *why, err *e)
{
	return err_set(e, ST_REFUSED, "state %s: %s", quoted(name), why);
}

/* The checksum and the total of a document that does not mention them. */
#define NO_SUM   "00000000000000000000000000000000"
#define NO_TOTAL "0000000000000000"

static bool parse_run(const resume_state *s, json_t *one, run_note *n)
{
	const char *sum, *gone = NO_SUM, *total = NO_TOTAL;
	json_int_t number, first, recs, stride, kept = -1;
	const json_int_t most = INT64_MAX / s->lay.record_bytes;
	if (json_unpack(one, "{s:I, s:I, s:I, s:I, s:s, s?s, s?I, s?s !}", "number", &number,
			"first", &first, "records", &recs, "sample_stride", &stride, "checksum",
			&sum, "total", &total, "kept", &kept, "checksum_dropped", &gone) != 0 ||
	    !json_parse_checksum(sum, &n->sum) || !json_parse_hex(total, 1, &n->sum.total) ||
	    !json_parse_checksum(gone, &n->dropped) || number < 0 || number == INT64_MAX ||
	    first < 0 || recs <= 0 || (uint64_t)recs > POS_MASK || recs > most ||
	    first > most - recs || stride <= 0 || stride > RESUME_MOST_STRIDE || kept == 0 ||
	    kept > recs)
		return false;
	n->number = (uint64_t)number;
	n->first = (uint64_t)first;
	n->recs = (uint64_t)recs;
	n->stride = (uint64_t)stride;
	n->kept = (uint64_t)(kept < 0 ? recs : kept);
	return true;
}

static int by_number(const void *a_, const void *b_)
{
	const run_note *a = a_, *b = b_;
	return (a->number > b->number) - (a->number < b->number);
}

/* Sort a list by number. Return false if two runs have the same file. */
static bool sort_by_number(run_list *l)
{
	if (l->runs)
		qsort(l->run, l->runs, sizeof *l->run, by_number);
	for (size_t i = 1; i < l->runs; i++)
		if (l->run[i].number == l->run[i - 1].number)
			return false;
	return true;
}

static bool parse_file_id(json_t *one, file_id *is)
{
	json_int_t inode, s, ns;
	if (json_unpack(one, "{s:I, s:I, s:I !}", "inode", &inode, "born_s", &s, "born_ns", &ns) !=
	    0)
		return false;
	*is = (file_id){ (uint64_t)inode, s, ns };
	return true;
}

/* Parse the runs and their files. Give each run the note of its file, which must exist. */
static status parse_runs(resume_state *s, json_t *runs, json_t *files, const char *name, err *e)
{
	run_list *l = &s->made, *f = &s->files;
	status rc = ST_OK;
	for (size_t i = 0; rc == ST_OK && i < json_array_size(runs); i++) {
		run_note n = { .rank = s->rank };
		rc = parse_run(s, json_array_get(runs, i), &n)
			     ? run_list_add(l, &n, e)
			     : state_malformed(name, "its runs are impossible", e);
	}
	for (size_t i = 0; rc == ST_OK && i < json_array_size(files); i++) {
		run_note n = { .rank = s->rank };
		json_int_t number;
		json_t *is;
		if (json_unpack(json_array_get(files, i), "{s:I, s:o !}", "number", &number, "is",
				&is) != 0 ||
		    number < 0 || number == INT64_MAX || !parse_file_id(is, &n.file))
			return state_malformed(name, "its runs are impossible", e);
		n.number = (uint64_t)number;
		rc = run_list_add(f, &n, e);
	}
	if (rc == ST_OK && (!sort_by_number(l) || !sort_by_number(f)))
		return state_malformed(name, "two runs have the same file", e);
	for (size_t i = 0, k = 0; rc == ST_OK && i < l->runs; i++) {
		while (k < f->runs && f->run[k].number < l->run[i].number)
			k++;
		if (k == f->runs || f->run[k].number != l->run[i].number)
			return state_malformed(name, "a run does not have a file", e);
		l->run[i].file = f->run[k].file;
	}
	return rc;
}

/* Parse the checkpoint of the output; it is NULL if the output was not complete. */
static bool parse_output(resume_state *s, json_t *output)
{
	const char *id, *sum, *sum_dropped = NO_SUM, *total = NO_TOTAL;
	json_int_t n, gone = 0;
	if (!output)
		return true;
	if (json_unpack(output, "{s:s, s:I, s:s, s?I, s?s, s?s !}", "id", &id, "records", &n,
			"checksum", &sum, "dropped", &gone, "checksum_dropped", &sum_dropped,
			"total_dropped", &total) != 0 ||
	    !json_parse_hex(id, 1, &s->out.id) || !json_parse_checksum(sum, &s->out.sum) ||
	    !json_parse_checksum(sum_dropped, &s->out.sum_dropped) ||
	    !json_parse_hex(total, 1, &s->out.sum_dropped.total) || s->out.id == 0 || n < 0 ||
	    n > INT64_MAX / s->lay.record_bytes || gone < 0 ||
	    gone > INT64_MAX / s->lay.record_bytes)
		return false;
	s->out.records = (uint64_t)n;
	s->out.dropped = (uint64_t)gone;
	return true;
}

static bool possible_ns(json_int_t ns)
{
	return ns >= 0 && ns <= 999999999;
}

static bool parse_inputs(resume_state *s, json_t *inputs)
{
	for (size_t i = 0; i < s->inputs; i++) {
		const char *file;
		json_int_t inode, bytes, m_s, m_ns, c_s, c_ns;
		if (json_unpack(json_array_get(inputs, i), "{s:s, s:I, s:I, s:I, s:I, s:I, s:I !}",
				"file", &file, "inode", &inode, "bytes", &bytes, "mtime_s", &m_s,
				"mtime_ns", &m_ns, "ctime_s", &c_s, "ctime_ns", &c_ns) != 0 ||
		    bytes < 0 || !possible_ns(m_ns) || !possible_ns(c_ns))
			return false;
		s->input[i] = (input_id){ (uint64_t)inode, (uint64_t)bytes, m_s, m_ns, c_s, c_ns };
	}
	return true;
}

/* Check the version before the rest, because another version has other members. */
static status check_version(json_t *doc, const char *name, err *e)
{
	const char *format, *made_by = "";
	int version = 0;
	if (json_unpack(doc, "{s:s, s?i, s?s}", "format", &format, "version", &version, "hetsort",
			&made_by) != 0 ||
	    strcmp(format, FORMAT) != 0)
		return state_malformed(name, "is not a state of hetsort", e);
	if (version != VERSION || strcmp(made_by, HETSORT_VERSION) != 0)
		return state_malformed(name,
				       "was written by another version of hetsort: use that "
				       "version to resume it, or to remove it with --clean",
				       e);
	return ST_OK;
}

status resume_state_parse(json_t *doc, const char *name, resume_state *s, err *e)
{
	const char *format, *made_by, *job, *fields = NULL, *selection = "";
	int version;
	json_int_t rec, off, key;
	json_t *inputs, *runs, *files, *output = NULL, *dir = NULL;
	*s = (resume_state){ 0 };
	status rc = check_version(doc, name, e);
	if (rc != ST_OK)
		return rc;
	if (json_unpack(
		    doc,
		    "{s:s, s:i, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s?s, s:o, s:o, s:o, s?o, s?o, "
		    "s?s!}",
		    "format", &format, "version", &version, "hetsort", &made_by, "job", &job,
		    "rank", &s->rank, "ranks", &s->ranks, "record_bytes", &rec, "key_offset", &off,
		    "key_bytes", &key, "key", &fields, "inputs", &inputs, "runs", &runs, "files",
		    &files, "workdir", &dir, "output", &output, "selection", &selection) != 0)
		return state_malformed(name, "is not a state of hetsort", e);
	if (s->ranks <= 0 || s->ranks > RESUME_MOST_RANKS || s->rank < 0 || s->rank >= s->ranks ||
	    !layout_restore(&s->lay, rec, off, key, fields) || !json_parse_hex(job, 1, &s->job) ||
	    !json_is_array(inputs) || !json_is_array(runs) || !json_is_array(files) ||
	    (dir && !parse_file_id(dir, &s->dir)) || strlen(selection) >= sizeof s->selection)
		return state_malformed(name, "its sizes are impossible", e);
	snprintf(s->selection, sizeof s->selection, "%s", selection);
	rc = resume_state_alloc(s, json_array_size(inputs), e);
	if (rc != ST_OK)
		return rc;
	if (!parse_inputs(s, inputs) || !parse_output(s, output))
		rc = state_malformed(name, "its inputs or output are impossible", e);
	if (rc == ST_OK)
		rc = parse_runs(s, runs, files, name, e);
	if (rc != ST_OK)
		resume_state_free(s);
	return rc;
}

status resume_state_load(const char *path, resume_state *s, err *e)
{
	json_t *doc = NULL;
	*s = (resume_state){ 0 };
	status rc = json_read(AT_FDCWD, true, "state", path, &doc, e);
	if (rc == ST_OK)
		rc = resume_state_parse(doc, path, s, e);
	if (rc == ST_OK && !file_id_at(AT_FDCWD, path, &s->self))
		rc = err_refuse(e, errno, "cannot look at state %s", quoted(path));
	json_decref(doc);
	return rc;
}

/* ------------------------------------------------------------------------------- comparing */

void resume_state_inputs(resume_state *s, const input *in)
{
	for (size_t i = 0; i < s->inputs; i++) {
		const struct stat *st = &in->file[i].st;
		s->input[i] = (input_id){ st->st_ino,         (uint64_t)st->st_size,
					  st->st_mtim.tv_sec, st->st_mtim.tv_nsec,
					  st->st_ctim.tv_sec, st->st_ctim.tv_nsec };
	}
}

uint64_t resume_state_inputs_hash(const resume_state *s)
{
	return XXH3_64bits(s->input, s->inputs * sizeof *s->input);
}

status resume_state_same_inputs(const resume_state *was, const resume_state *is, const input *in,
				const char *name, err *e)
{
	if (was->inputs != is->inputs)
		return err_set(e, ST_REFUSED, "state %s has %zu input file%s, not %zu",
			       quoted(name), was->inputs, plural(was->inputs), is->inputs);
	for (size_t i = 0; i < is->inputs; i++) {
		const input_id *a = &was->input[i], *b = &is->input[i];
		const bool same_times = a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns &&
					a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns;
		const char *what = a->inode != b->inode   ? "was replaced by another file"
				   : a->bytes != b->bytes ? "has changed its size"
				   : !same_times          ? "has changed"
							  : NULL;
		if (what)
			return err_set(e, ST_REFUSED, "input %s %s since state %s was written",
				       quoted(in->file[i].path), what, quoted(name));
	}
	return ST_OK;
}

status resume_state_same_ranks(const resume_state *was, const resume_state *is, const char *name,
			       err *e)
{
	if (was->ranks == is->ranks && was->rank == is->rank)
		return ST_OK;
	return err_set(e, ST_REFUSED,
		       "state %s belongs to rank %" PRId32 " of %" PRId32 ", not to rank %" PRId32
		       " of %" PRId32 ", and each rank has inputs of its own (%%r)",
		       quoted(name), was->rank, was->ranks, is->rank, is->ranks);
}

status resume_state_fits(const resume_state *was, const resume_state *is, const char *name, err *e)
{
	char key[KEY_TEXT_BYTES], key_is[KEY_TEXT_BYTES];
	const layout *a = &was->lay, *b = &is->lay;
	if (!layout_equal(a, b))
		return err_set(e, ST_REFUSED,
			       "state %s has records of %u byte%s with the key '%s', not of %u "
			       "with '%s'",
			       quoted(name), a->record_bytes, plural(a->record_bytes),
			       layout_key_text(a, key), b->record_bytes,
			       layout_key_text(b, key_is));
	if (strcmp(was->selection, is->selection) != 0)
		return err_set(e, ST_REFUSED, "state %s belongs to a sort with '%s', not with '%s'",
			       quoted(name), was->selection, is->selection);
	return ST_OK;
}
