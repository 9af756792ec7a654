/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fuzzer of the state of a sort that has not ended. Any bytes are either refused with a sentence,
 * or the state has possible numbers of runs. When it is written and parsed again, it is the same.
 */
#include "../../../scripts/fuzz.h"
#include "io/json.h"
#include "spill/resume_state.h"

static void check_numbers(const resume_state *s)
{
	const uint64_t most = INT64_MAX / s->lay.record_bytes;
	fuzz_check(s->ranks > 0 && s->rank >= 0 && s->rank < s->ranks);
	fuzz_check(s->lay.key_bytes > 0 && s->lay.record_bytes <= MAX_RECORD_BYTES &&
		   (uint64_t)s->lay.key_off + s->lay.key_bytes <= s->lay.record_bytes);
	for (size_t i = 0; i < s->made.runs; i++) {
		const run_note *n = &s->made.run[i];
		fuzz_check(n->recs > 0 && n->recs <= POS_MASK && n->recs <= most &&
			   n->first <= most - n->recs);
		fuzz_check(n->stride > 0 && n->stride <= RESUME_MOST_STRIDE);
		fuzz_check(n->rank == s->rank && n->number < run_list_next(&s->made));
	}
	fuzz_check(s->out.records <= most);
	fuzz_check(s->out.id || (!s->out.records && !s->out.sum.hi && !s->out.sum.lo));
}

static bool same_runs(const run_list *a, const run_list *b)
{
	for (size_t i = 0; a->runs == b->runs && i < a->runs; i++) {
		const run_note *x = &a->run[i], *y = &b->run[i];
		if (x->rank != y->rank || memcmp(&x->file, &y->file, sizeof x->file) != 0 ||
		    x->first != y->first || x->recs != y->recs || x->number != y->number ||
		    x->stride != y->stride || x->sum.hi != y->sum.hi || x->sum.lo != y->sum.lo)
			return false;
	}
	return a->runs == b->runs;
}

static bool same(const resume_state *a, const resume_state *b)
{
	return a->job == b->job && a->rank == b->rank && a->ranks == b->ranks &&
	       a->inputs == b->inputs && memcmp(&a->lay, &b->lay, sizeof a->lay) == 0 &&
	       same_runs(&a->made, &b->made) && same_runs(&a->files, &b->files) &&
	       memcmp(&a->dir, &b->dir, sizeof a->dir) == 0 &&
	       memcmp(a->input, b->input, a->inputs * sizeof *a->input) == 0 &&
	       memcmp(&a->out, &b->out, sizeof a->out) == 0;
}

/* Parse text of len arbitrary bytes. */
static status parse(const char *text, size_t len, const char *name, resume_state *s, err *e)
{
	json_t *doc = NULL;
	*s = (resume_state){ 0 };
	status rc = json_parse(text, len, "state", name, &doc, e);
	if (rc == ST_OK)
		rc = resume_state_parse(doc, name, s, e);
	json_decref(doc);
	return rc;
}

static void check_again(const resume_state *s)
{
	static char name[] = "name";
	err e = { ST_OK, "" };
	resume_state again;
	input in = { .file = calloc(s->inputs + 1, sizeof *in.file), .files = s->inputs };
	for (size_t i = 0; in.file && i < s->inputs; i++)
		in.file[i].path = name;
	json_t *doc = in.file ? resume_state_json(s, &in) : NULL;
	char *text = doc ? json_dumps(doc, JSON_INDENT(2)) : NULL;
	fuzz_check(text != NULL);
	fuzz_check(parse(text, strlen(text), "again", &again, &e) == ST_OK);
	fuzz_check(same(s, &again) && resume_state_fits(s, &again, "again", &e) == ST_OK &&
		   resume_state_same_ranks(s, &again, "again", &e) == ST_OK &&
		   resume_state_same_inputs(s, &again, &in, "again", &e) == ST_OK &&
		   resume_state_inputs_hash(s) == resume_state_inputs_hash(&again));
	resume_state_free(&again);
	free(text);
	json_decref(doc);
	free(in.file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	err e = { ST_OK, "" };
	resume_state s;
	/* a copy of exactly this length, so that a read of one more byte is detected */
	char *text = malloc(size ? size : 1);
	if (!text)
		return 0;
	if (size)
		memcpy(text, data, size);
	const status rc = parse(text, size, "fuzz", &s, &e);
	free(text);
	fuzz_check(rc == e.code && (rc == ST_OK) == !e.text[0] && fuzz_clean(e.text));
	if (rc == ST_OK) {
		check_numbers(&s);
		check_again(&s);
	} else {
		fuzz_check(!s.made.run && !s.input);
	}
	resume_state_free(&s);
	return 0;
}
