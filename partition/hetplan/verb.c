/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verb.c - perform a verb: make the request from a file and options, plan, and print the answer; or
 * answer a batch of requests, one per line. An invalid line gets an answer, too, and the batch
 * continues. A batch keeps only one line in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hetplan.h"
#include "number.h"

/* -------------------------------------------------------------------------------- the request */

static bool read_input(hp_job *job, const char *path)
{
	char *text;
	size_t bytes;
	const bool ok = hp_read_file(job, path, &text, &bytes) && hp_parse(job, text, bytes, 1);
	free(text);
	return ok;
}

/* Replace the members "compute" and "link", from options, by "processors". The last link may be
 * missing. */
static bool pair_costs(hp_job *job, json_t *set)
{
	json_t *const compute = json_object_get(set, "compute");
	json_t *const link = json_object_get(set, "link");
	const size_t n = json_array_size(compute), links = json_array_size(link);
	if (!compute && !link)
		return true;
	job->missing = n == 0 ? "compute" : links == 0 && n > 1 ? "link" : NULL;
	if (links != n && links + 1 != n)
		return hp_fail(job, NULL,
			       "'--link': %zu entries, but '--compute' has %zu: must be the same "
			       "number, or one less",
			       links, n);
	json_t *const procs = json_array();
	bool ok = json_object_set_new(set, "processors", procs) == 0;
	for (size_t i = 0; ok && i < n; i++) {
		json_t *const p = json_object();
		ok = json_array_append_new(procs, p) == 0 &&
		     json_object_set(p, "compute", json_array_get(compute, i)) == 0 &&
		     (i >= links || json_object_set(p, "link", json_array_get(link, i)) == 0);
	}
	if (!ok)
		return hp_no_memory(job);
	return json_object_del(set, "compute") == 0 && (!link || json_object_del(set, "link") == 0);
}

/* Complete job->in by the members that options set. If no operation is given, choose it by the verb
 * and the members. */
static bool make_request(hp_job *job, const hp_args *a)
{
	static const struct {
		const char *verb, *key, *op;
	} by_member[] = {
		{ "share", "costs", "share-unrelated" },  { "share", "weights", "share-weights" },
		{ "scatter", "chunk", "farm" },           { "scatter", "rule", "farm" },
		{ "scatter", "compute", "scatter-root" }, { "chain", "fractions", "chain-replay" },
	};
	if (!job->in && !(job->in = json_object()))
		return hp_no_memory(job);
	if (!hp_read_speeds(job, a) || !pair_costs(job, a->set))
		return false;
	if (json_object_update(job->in, a->set) != 0)
		return hp_no_memory(job);
	const char *name = a->op;
	if (!name && !json_object_get(job->in, "op")) {
		name = a->verb;
		for (size_t i = HP_LEN(by_member); i-- > 0;)
			if (strcmp(a->verb, by_member[i].verb) == 0 &&
			    json_object_get(job->in, by_member[i].key))
				name = by_member[i].op;
	}
	errno = 0;
	if (name && json_object_set_new(job->in, "op", json_string(name)) != 0)
		return errno == ENOMEM
			       ? hp_no_memory(job)
			       : hp_fail(job, NULL, "'--op': must be text in UTF-8, not '%.64s'",
					 name);
	name = json_string_value(json_object_get(job->in, "op"));
	const hp_op *const op = name ? hp_op_find(name) : NULL;
	return !op || strcmp(op->verb, a->verb) == 0 ||
	       hp_fail(job, NULL, "operation '%s' belongs to '%s', not to '%s'", op->name, op->verb,
		       a->verb);
}

/* --------------------------------------------------------------------------------- the answer */

static bool bad_output(hp_job *job)
{
	return hp_fail(job, NULL, "cannot write 'standard output': %s", strerror(errno));
}

/* Write the file of --svg or --html. comparison may be NULL, and for a page also bars. */
static bool write_drawing(hp_job *job, const hp_args *a, hp_role role, const hp_bars *bars,
			  const json_t *comparison)
{
	const json_t *const items = json_object_get(job->in, "items");
	const char *const op = json_string_value(json_object_get(job->out, "op"));
	const double makespan = json_number_value(json_object_get(job->out, "makespan"));
	char title[HP_TEXT_BYTES];
	hp_output o;
	if (!hp_output_open(&o, job, a, role))
		return false;
	if (a->title)
		hp_clean(title, sizeof title, a->title, strlen(a->title));
	else if (items)
		snprintf(title, sizeof title, "%s of %" JSON_INTEGER_FORMAT " items: makespan %.7g",
			 op, json_integer_value(items), makespan);
	else
		snprintf(title, sizeof title, "%s: makespan %.7g", op, makespan);
	return hp_output_close(&o, role == HP_SVG ? hp_svg(o.f, bars, title)
						  : hp_page(o.f, job, bars, comparison, title));
}

static bool write_page(hp_job *job, const hp_args *a, const json_t *comparison)
{
	hp_bars bars;
	return write_drawing(job, a, HP_HTML, hp_make_bars(job, &bars) ? &bars : NULL, comparison);
}

/* Write the page of a comparison, with the plan of the default method. */
static bool write_compared_page(hp_job *job, const hp_args *a)
{
	hp_job one;
	bool ok = hp_job_init(&one, job->limits, json_copy(job->in)) && one.in;
	ok = ok ? (hp_perform(&one) && write_page(&one, a, job->out)) ||
			     hp_fail(job, NULL, "%s", one.text)
		: hp_no_memory(job);
	hp_job_free(&one);
	return ok;
}

/* Print the answer as a table, CSV or JSON. JSON includes the request, which hp_verify() needs,
 * except for a comparison. */
static bool print_plan(hp_job *job, const hp_args *a)
{
	bool ok;
	if (a->format == HP_JSON) {
		json_t *const all = hp_with_request(job);
		ok = all && (!a->compare || json_object_del(all, "request") == 0) &&
		     hp_write_json(stdout, all);
		json_decref(all);
	} else if (a->compare)
		ok = hp_print_comparison(stdout, job->out, a->format == HP_CSV);
	else
		ok = a->format == HP_CSV ? hp_print_csv(stdout, job) : hp_print_table(stdout, job);
	return ok || bad_output(job);
}

/* Write the page and the picture, and then print the answer and its chart. If the page or the
 * picture cannot be written, print nothing. */
static bool show_answer(hp_job *job, const hp_args *a)
{
	const bool text = a->gantt == HP_CHART_YES ||
			  (a->gantt == HP_CHART_AUTO && a->format == HP_TABLE && isatty(1));
	hp_bars bars;
	if (a->html && !write_page(job, a, NULL))
		return false;
	if (!text && !a->svg)
		return print_plan(job, a);
	if (!hp_make_bars(job, &bars))
		return a->gantt == HP_CHART_AUTO && !a->svg && print_plan(job, a);
	if ((a->svg && !write_drawing(job, a, HP_SVG, &bars, NULL)) || !print_plan(job, a))
		return false;
	const char *const set = getenv("COLUMNS");
	uint64_t columns = 80;
	if (a->width)
		columns = a->width;
	else if (!set || !number_parse(set, 48, 1000, &columns))
		columns = 80;
	return !text || (putchar('\n') != EOF && hp_gantt(stdout, &bars, (size_t)columns)) ||
	       bad_output(job);
}

int hp_verb(const hp_args *a)
{
	const bool shows = strcmp(a->verb, "show") == 0;
	hp_job job;
	int status = EXIT_FAILURE;
	bool ok = hp_job_init(&job, &hp_program_limits, NULL);
	job.source = a->input;
	ok = ok && (!a->input || read_input(&job, a->input)) && (!shows || hp_verify(&job));
	job.source = NULL;
	if (ok && shows)
		ok = show_answer(&job, a);
	else if (ok)
		ok = make_request(&job, a) &&
		     (a->compare ? hp_compare(&job, a->max_steps) &&
					   (!a->html || write_compared_page(&job, a)) &&
					   print_plan(&job, a)
				 : hp_perform(&job) && show_answer(&job, a));
	/* without an input file, report the missing option rather than the member */
	const char *const option =
		!ok && job.missing && !a->input ? hp_option_of(job.missing) : NULL;
	if (option) {
		hp_say("%s is missing", option);
		fputs("Try 'hetplan --help' for more.\n", stderr);
		status = 2;
	} else if (!ok)
		hp_say("%s", job.text);
	hp_job_free(&job);
	return ok ? EXIT_SUCCESS : status;
}

/* ---------------------------------------------------------------------------------- the batch */

json_t *hp_answer(const char *line, size_t bytes, size_t number, const hp_limits *limits, bool *ok)
{
	hp_job job;
	*ok = hp_job_init(&job, limits, NULL) && hp_parse(&job, line, bytes, number) &&
	      (limits->time_limit_s >= 0 || hp_fail(&job, NULL, "the batch is out of time")) &&
	      hp_perform(&job);
	json_t *a = json_object(), *const id = json_object_get(job.in, "id");
	if ((id && json_object_set(a, "id", id) != 0) ||
	    json_object_set_new(a, "status", json_string(*ok ? "ok" : "error")) != 0 ||
	    (*ok ? json_object_update(a, job.out)
		 : json_object_set_new(a, "message", json_string(job.text))) != 0) {
		json_decref(a);
		a = NULL;
	}
	hp_job_free(&job);
	return a;
}

/* A line of a batch. Its memory grows up to the limit of a request; the rest of a longer line is
 * dropped. */
typedef struct batch_line {
	char *text;
	size_t bytes, room;
} batch_line;

typedef enum batch_read { GOT_LINE, GOT_END, GOT_NO_MEMORY } batch_read;

static batch_read read_batch_line(FILE *in, batch_line *l, size_t limit)
{
	int c;
	l->bytes = 0;
	while ((c = getc_unlocked(in)) != EOF && c != '\n') {
		if (l->bytes > limit)
			continue; /* one byte over is enough for the parser to refuse it */
		if (l->bytes == l->room) {
			const size_t room = l->room ? 2 * l->room : 4096;
			char *const text = realloc(l->text, room);
			if (!text)
				return GOT_NO_MEMORY;
			l->text = text;
			l->room = room;
		}
		l->text[l->bytes++] = (char)c;
	}
	return c == EOF && l->bytes == 0 ? GOT_END : GOT_LINE;
}

int hp_batch(FILE *in, const char *name, FILE *out, const hp_limits *limits, double time_s)
{
	const double end_s = hp_now_s() + time_s;
	hp_limits left = *limits;
	batch_line l = { 0 };
	bool all = true, going = true;
	batch_read got = GOT_END;
	for (size_t number = 1;
	     going && (got = read_batch_line(in, &l, limits->line_bytes)) == GOT_LINE &&
	     !ferror(in);
	     number++) {
		bool ok;
		if (time_s > 0)
			left.time_limit_s = end_s - hp_now_s();
		json_t *const answer = hp_answer(l.text ? l.text : "", l.bytes, number, &left, &ok);
		going = answer && hp_write_json(out, answer) && fflush(out) == 0;
		if (!answer)
			hp_say("line %zu: out of memory for the answer", number);
		else if (!going)
			hp_say("cannot write 'standard output': %s", strerror(errno));
		json_decref(answer);
		all = all && ok;
	}
	free(l.text);
	if (got == GOT_NO_MEMORY)
		hp_say("out of memory for a line of '%s'", name);
	if (ferror(in))
		hp_say("cannot read '%s': %s", name, strerror(errno));
	return !all || !going || got == GOT_NO_MEMORY || ferror(in);
}
