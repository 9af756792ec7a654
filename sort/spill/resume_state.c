/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The state of a sort that was not finished. Read strictly: unknown members, other versions and
 * numbers that no sort has are refused, so that users of a state can trust its sizes. */
#include "resume_state.h"
#include "base/size.h"
#include "budget.h"
#include "io/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "hetsort-state"

enum { VERSION = 2, MOST_RANKS = 1 << 20, MOST_STRIDE = 1 << 20 };

status resume_state_alloc(resume_state *s, int32_t ranks, size_t inputs, err *e)
{
	*s = (resume_state){ .ranks = ranks, .inputs = inputs };
	s->share_in = calloc((size_t)ranks, sizeof *s->share_in);
	s->input = calloc(inputs ? inputs : 1, sizeof *s->input);
	if (s->share_in && s->input)
		return ST_OK;
	resume_state_free(s);
	return err_set(e, ST_RESOURCE, "no memory for a state of %" PRId32 " ranks", ranks);
}

status resume_state_plan_runs(resume_state *s, uint64_t run_recs, size_t stride, err *e)
{
	const uint64_t own = s->share_in[s->rank];
	s->run_recs = own ? run_recs : 0;
	s->stride = own ? stride : 0;
	s->runs = own ? (size_t)((own - 1) / run_recs + 1) : 0;
	s->run = calloc(s->runs ? s->runs : 1, sizeof *s->run);
	return s->run ? ST_OK
		      : err_set(e, ST_RESOURCE, "no memory for a state of %zu runs", s->runs);
}

void resume_state_free(resume_state *s)
{
	free(s->run);
	free(s->share_in);
	free(s->input);
	*s = (resume_state){ 0 };
}

/* ------------------------------------------------------------------------------- writing */

static json_t *input_json(const input_id *id, const char *path)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:I, s:I, s:I}", "file", json_name(path), "inode",
			 (json_int_t)id->inode, "bytes", (json_int_t)id->bytes, "mtime_s",
			 (json_int_t)id->mtime_s, "mtime_ns", (json_int_t)id->mtime_ns, "ctime_s",
			 (json_int_t)id->ctime_s, "ctime_ns", (json_int_t)id->ctime_ns);
}

static json_t *output_json(const output_checkpoint *out)
{
	char id[20];
	snprintf(id, sizeof id, "%016" PRIx64, out->id);
	return json_pack("{s:s, s:I, s:o, s:I, s:o}", "id", id, "records", (json_int_t)out->records,
			 "checksum", json_checksum(out->sum), "dropped", (json_int_t)out->dropped,
			 "checksum_dropped", json_checksum(out->sum_dropped));
}

json_t *resume_state_json(const resume_state *s, const input *in)
{
	char job[20], key[KEY_TEXT_BYTES];
	json_t *shares = json_array(), *inputs = json_array(), *runs = json_array();
	snprintf(job, sizeof job, "%016" PRIx64, s->job);
	for (int32_t i = 0; i < s->ranks; i++)
		shares = json_and(shares, json_integer((json_int_t)s->share_in[i]));
	for (size_t i = 0; i < s->inputs; i++)
		inputs = json_and(inputs, input_json(&s->input[i], in->file[i].path));
	for (size_t i = 0; i < s->runs; i++)
		runs = json_and(runs, s->run[i].noted ? json_checksum(s->run[i].sum) : json_null());
	json_t *doc = json_pack(
		"{s:s, s:i, s:s, s:s, s:i, s:i, s:i, s:i, s:i, s:s*, s:I, s:I, s:o, s:o, "
		"s:o, s:s*}",
		"format", FORMAT, "version", VERSION, "hetsort", HETSORT_VERSION, "job", job,
		"rank", (int)s->rank, "ranks", (int)s->ranks, "record_bytes",
		(int)s->lay.record_bytes, "key_offset", (int)s->lay.key_off, "key_bytes",
		(int)s->lay.key_bytes, "key", layout_fields_text(&s->lay, key), "run_records",
		(json_int_t)s->run_recs, "sample_stride", (json_int_t)s->stride, "share_in", shares,
		"inputs", inputs, "runs", runs, "selection", *s->selection ? s->selection : NULL);
	return s->out.id ? json_with(doc, "output", output_json(&s->out)) : doc;
}

status run_notes_add(run_notes *n, size_t run, checksum sum, err *e)
{
	if (run >= n->s->runs)
		return err_set(e, ST_INTERNAL, "the state has no run %zu", run);
	pthread_mutex_lock(&n->lock);
	n->s->run[run] = (run_note){ true, sum };
	const status rc = json_write(resume_state_json(n->s, n->in), n->to, true, n->fsync, e);
	pthread_mutex_unlock(&n->lock);
	return rc;
}

/* ------------------------------------------------------------------------------- reading */

static status malformed(const char *name, const char *why, err *e)
{
	char q[QUOTED_BYTES];
	return err_set(e, ST_REFUSED, "state %s: %s", err_quoted(name, q), why);
}

/* n numbers of 16 digits each, and no more. */
static bool parse_hex(const char *text, size_t n, uint64_t *number)
{
	char digits[17] = "";
	if (strlen(text) != 16 * n || strspn(text, "0123456789abcdef") != 16 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		memcpy(digits, text + 16 * i, 16);
		number[i] = strtoull(digits, NULL, 16);
	}
	return true;
}

static bool parse_checksum(const char *text, checksum *sum)
{
	uint64_t half[2];
	if (!parse_hex(text, 2, half))
		return false;
	*sum = (checksum){ half[0], half[1] };
	return true;
}

/* null: nothing was read for that run yet. */
static bool parse_runs(resume_state *s, json_t *runs)
{
	if (!json_is_array(runs) || json_array_size(runs) != s->runs)
		return false;
	for (size_t i = 0; i < s->runs; i++) {
		const json_t *one = json_array_get(runs, i);
		const char *sum = json_string_value(one);
		s->run[i].noted = sum != NULL;
		if (sum ? !parse_checksum(sum, &s->run[i].sum) : !json_is_null(one))
			return false;
	}
	return true;
}

/* NULL: the output was not complete. */
static bool parse_output(resume_state *s, json_t *output)
{
	const char *id, *sum, *sum_dropped = "00000000000000000000000000000000";
	json_int_t n, gone = 0;
	if (!output)
		return true;
	if (json_unpack(output, "{s:s, s:I, s:s, s?I, s?s !}", "id", &id, "records", &n, "checksum",
			&sum, "dropped", &gone, "checksum_dropped", &sum_dropped) != 0 ||
	    !parse_hex(id, 1, &s->out.id) || !parse_checksum(sum, &s->out.sum) ||
	    !parse_checksum(sum_dropped, &s->out.sum_dropped) || s->out.id == 0 || n < 0 ||
	    n > INT64_MAX / s->lay.record_bytes || gone < 0 ||
	    gone > INT64_MAX / s->lay.record_bytes)
		return false;
	s->out.records = (uint64_t)n;
	s->out.dropped = (uint64_t)gone;
	return true;
}

static bool parse_shares(resume_state *s, json_t *shares)
{
	uint64_t sum = 0;
	for (int32_t i = 0; i < s->ranks; i++) {
		json_t *one = json_array_get(shares, (size_t)i);
		const json_int_t v = json_integer_value(one);
		if (!json_is_integer(one) || v < 0 || (uint64_t)v > POS_MASK)
			return false;
		s->share_in[i] = (uint64_t)v;
		if (__builtin_add_overflow(sum, s->share_in[i], &sum))
			return false;
	}
	return sum <= INT64_MAX / s->lay.record_bytes;
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

/* Could a sort have cut the rank's share into such runs? */
static bool possible_runs(const resume_state *s, json_int_t run_recs, json_int_t stride)
{
	const uint64_t own = s->share_in[s->rank], each = (uint64_t)run_recs;
	if (own == 0)
		return run_recs == 0 && stride == 0;
	return run_recs > 0 && each <= own && (own - 1) / each < BUDGET_MOST_RUNS && stride > 0 &&
	       stride <= MOST_STRIDE;
}

static bool possible_ranks(const resume_state *s)
{
	return s->ranks > 0 && s->ranks <= MOST_RANKS && s->rank >= 0 && s->rank < s->ranks;
}

static status parse_document(json_t *doc, const char *name, resume_state *s, err *e)
{
	const char *format, *made_by, *job, *fields = NULL, *selection = "";
	int version, rank, ranks;
	json_int_t rec, off, key, run_recs, stride;
	json_t *shares, *inputs, *runs, *output = NULL;
	resume_state h = { 0 };
	if (json_unpack(
		    doc,
		    "{s:s, s:i, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s?s, s:I, s:I, s:o, s:o, s:o, "
		    "s?o, s?s!}",
		    "format", &format, "version", &version, "hetsort", &made_by, "job", &job,
		    "rank", &rank, "ranks", &ranks, "record_bytes", &rec, "key_offset", &off,
		    "key_bytes", &key, "key", &fields, "run_records", &run_recs, "sample_stride",
		    &stride, "share_in", &shares, "inputs", &inputs, "runs", &runs, "output",
		    &output, "selection", &selection) != 0 ||
	    strcmp(format, FORMAT) != 0)
		return malformed(name, "is no state of hetsort", e);
	if (version != VERSION || strcmp(made_by, HETSORT_VERSION) != 0)
		return malformed(name, "is of another version", e);
	h.rank = rank;
	h.ranks = ranks;
	if (!possible_ranks(&h) || !layout_restore(&h.lay, rec, off, key, fields) ||
	    !parse_hex(job, 1, &h.job) || !json_is_array(inputs) ||
	    strlen(selection) >= sizeof s->selection || json_array_size(shares) != (size_t)ranks)
		return malformed(name, "its sizes are impossible", e);
	status rc = resume_state_alloc(s, ranks, json_array_size(inputs), e);
	if (rc != ST_OK)
		return rc;
	s->job = h.job;
	s->rank = rank;
	s->lay = h.lay;
	strcpy(s->selection, selection);
	if (!parse_shares(s, shares) || !parse_inputs(s, inputs) ||
	    !possible_runs(s, run_recs, stride) || !parse_output(s, output))
		rc = malformed(name, "its shares, runs, inputs or output are impossible", e);
	if (rc == ST_OK)
		rc = resume_state_plan_runs(s, (uint64_t)run_recs, (size_t)stride, e);
	if (rc == ST_OK && !parse_runs(s, runs))
		rc = malformed(name, "the checksums of its runs are impossible", e);
	if (rc != ST_OK)
		resume_state_free(s);
	return rc;
}

status resume_state_parse(const char *text, size_t len, const char *name, resume_state *s, err *e)
{
	json_t *doc = NULL;
	*s = (resume_state){ 0 };
	status rc = json_parse(text, len, "state", name, &doc, e);
	if (rc == ST_OK)
		rc = parse_document(doc, name, s, e);
	json_decref(doc);
	return rc;
}

status resume_state_load(const char *path, resume_state *s, err *e)
{
	json_t *doc = NULL;
	*s = (resume_state){ 0 };
	status rc = json_read("state", path, &doc, e);
	if (rc == ST_OK)
		rc = parse_document(doc, path, s, e);
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

/* Refuses another file, and one that was written to since. */
static status same_inputs(const resume_state *was, const resume_state *is, const input *in,
			  const char *name, err *e)
{
	char q[QUOTED_BYTES], qi[QUOTED_BYTES];
	if (was->inputs != is->inputs)
		return err_set(e, ST_REFUSED, "state %s is of %zu input file%s, not of %zu",
			       err_quoted(name, q), was->inputs, plural(was->inputs), is->inputs);
	for (size_t i = 0; i < is->inputs; i++) {
		const input_id *a = &was->input[i], *b = &is->input[i];
		const bool same_times = a->mtime_s == b->mtime_s && a->mtime_ns == b->mtime_ns &&
					a->ctime_s == b->ctime_s && a->ctime_ns == b->ctime_ns;
		const char *what = a->inode != b->inode   ? "is another file"
				   : a->bytes != b->bytes ? "has another size"
				   : !same_times          ? "was changed"
							  : NULL;
		if (what)
			return err_set(e, ST_REFUSED, "input %s %s since state %s was made",
				       err_quoted(in->file[i].path, qi), what, err_quoted(name, q));
	}
	return ST_OK;
}

status resume_state_fits(const resume_state *was, const resume_state *is, const input *in,
			 const char *name, err *e)
{
	char q[QUOTED_BYTES], key[KEY_TEXT_BYTES], key_is[KEY_TEXT_BYTES];
	const layout *a = &was->lay, *b = &is->lay;
	if (was->ranks != is->ranks || was->rank != is->rank)
		return err_set(e, ST_REFUSED,
			       "state %s is of rank %" PRId32 " of %" PRId32 ", not of %" PRId32
			       " of %" PRId32,
			       err_quoted(name, q), was->rank, was->ranks, is->rank, is->ranks);
	if (!layout_equal(a, b))
		return err_set(e, ST_REFUSED,
			       "state %s is of records of %u byte%s with the key '%s', not of %u "
			       "with '%s'",
			       err_quoted(name, q), a->record_bytes, plural(a->record_bytes),
			       layout_key_text(a, key), b->record_bytes,
			       layout_key_text(b, key_is));
	if (strcmp(was->selection, is->selection) != 0)
		return err_set(e, ST_REFUSED, "state %s is of a sort with '%s', not with '%s'",
			       err_quoted(name, q), was->selection, is->selection);
	return same_inputs(was, is, in, name, e);
}
