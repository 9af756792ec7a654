/* SPDX-License-Identifier: GPL-3.0-or-later */
/* verb.c - a verb: makes the request from file and options, runs it, shows the answer.
 * May not touch: how anything is planned or drawn. Costs what the operation costs. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "hetplan.h"
#include "number.h"

static bool read_input(struct hp_job *job, const char *path)
{
	char *text;
	size_t bytes;
	bool ok = hp_read_file(job, path, &text, &bytes) && hp_parse(job, text, bytes, 1);

	free(text);
	return ok;
}

static bool add_proc(json_t *procs, json_t *compute, json_t *link)
{
	json_t *p = json_object();

	return json_array_append_new(procs, p) == 0 &&
	       json_object_set(p, "compute", compute) == 0 &&
	       (!link || json_object_set(p, "link", link) == 0);
}

/* --compute and --link become processors, each with one of both; the last link may be missing. */
static bool pair_costs(struct hp_job *job, json_t *set)
{
	json_t *compute = json_object_get(set, "compute"), *link = json_object_get(set, "link");
	json_t *procs;
	size_t n = json_array_size(compute), links = json_array_size(link);

	if (!compute && !link)
		return true;
	job->missing = n == 0 ? "compute" : links == 0 && n > 1 ? "link" : NULL;
	if (links != n && links + 1 != n)
		return hp_fail(job, NULL,
			       "'--link': %zu entries for %zu of '--compute', want as many or one "
			       "less",
			       links, n);
	if (json_object_set_new(set, "processors", procs = json_array()) != 0)
		return hp_fail(job, NULL, "out of memory");
	for (size_t i = 0; i < n; i++)
		if (!add_proc(procs, json_array_get(compute, i), json_array_get(link, i)))
			return hp_fail(job, NULL, "out of memory");
	return json_object_del(set, "compute") == 0 && (!link || json_object_del(set, "link") == 0);
}

/* The operation where nothing names it: what the members are for. */
static const char *default_op(const struct hp_job *job, const char *verb)
{
	const json_t *in = job->in;

	if (strcmp(verb, "share") == 0 && json_object_get(in, "costs"))
		return "share-unrelated";
	if (strcmp(verb, "share") == 0 && json_object_get(in, "weights"))
		return "share-weights";
	if (strcmp(verb, "scatter") == 0 &&
	    (json_object_get(in, "chunk") || json_object_get(in, "rule")))
		return "farm";
	if (strcmp(verb, "scatter") == 0 && json_object_get(in, "compute"))
		return "scatter-root";
	if (strcmp(verb, "chain") == 0 && json_object_get(in, "fractions"))
		return "chain-replay";
	return verb;
}

/* The operation is one of the verb's. */
static bool fits(struct hp_job *job, const char *verb)
{
	const json_t *v = json_object_get(job->in, "op");
	const struct hp_op *op = json_is_string(v) ? hp_op_find(json_string_value(v)) : NULL;

	return !op || strcmp(op->verb, verb) == 0 ||
	       hp_fail(job, NULL, "operation '%s' belongs to '%s', not to '%s'", op->name, op->verb,
		       verb);
}

static bool make_request(struct hp_job *job, const struct hp_args *a)
{
	const char *op = a->op;

	if (!job->in && !(job->in = json_object()))
		return hp_fail(job, NULL, "out of memory");
	if (!hp_read_speeds(job, a) || !pair_costs(job, a->set))
		return false;
	if (json_object_update(job->in, a->set) != 0)
		return hp_fail(job, NULL, "out of memory");
	if (!op && !json_object_get(job->in, "op"))
		op = default_op(job, a->verb);
	errno = 0;
	if (op && json_object_set_new(job->in, "op", json_string(op)) != 0)
		return errno == ENOMEM
			       ? hp_fail(job, NULL, "out of memory")
			       : hp_fail(job, NULL, "'--op': want text in UTF-8, not '%.64s'", op);
	return fits(job, a->verb);
}

static bool unwritten(struct hp_job *job)
{
	return hp_fail(job, NULL, "cannot write 'standard output': %s", strerror(errno));
}

static void make_title(const struct hp_job *job, const struct hp_args *a, char title[HP_TEXT_BYTES])
{
	const json_t *items = json_object_get(job->in, "items");
	const char *op = json_string_value(json_object_get(job->out, "op"));
	double makespan = json_number_value(json_object_get(job->out, "makespan"));

	if (a->title)
		hp_clean(title, HP_TEXT_BYTES, a->title, strlen(a->title));
	else if (items)
		snprintf(title, HP_TEXT_BYTES,
			 "%s of %" JSON_INTEGER_FORMAT " items: makespan %.7g", op,
			 json_integer_value(items), makespan);
	else
		snprintf(title, HP_TEXT_BYTES, "%s: makespan %.7g", op, makespan);
}

/* Write the file of --svg or --html. comparison may be NULL, and so may be the bars of a page, if
 * the answer has no dates. */
static bool draw(struct hp_job *job, const struct hp_args *a, enum hp_role role,
		 const struct hp_bars *bars, const json_t *comparison)
{
	char title[HP_TEXT_BYTES];
	struct hp_output o;

	if (!hp_output_open(&o, job, a, role))
		return false;
	make_title(job, a, title);
	return hp_output_close(&o, role == HP_SVG ? hp_svg(o.f, bars, title)
						  : hp_page(o.f, job, bars, comparison, title));
}

static bool make_page(struct hp_job *job, const struct hp_args *a, const json_t *comparison)
{
	struct hp_bars bars;

	return draw(job, a, HP_HTML, hp_bars(job, &bars) ? &bars : NULL, comparison);
}

/* Of a comparison: with the plan that is made without one. */
static bool make_compared_page(struct hp_job *job, const struct hp_args *a)
{
	struct hp_job one;
	bool ok = hp_job_init(&one, job->limits, json_copy(job->in)) && one.in;

	ok = ok ? (hp_run(&one) && make_page(&one, a, job->out)) ||
			     hp_fail(job, NULL, "%s", one.text)
		: hp_fail(job, NULL, "out of memory");
	hp_job_free(&one);
	return ok;
}

static uint64_t columns(const struct hp_args *a)
{
	const char *set = getenv("COLUMNS");
	uint64_t n;

	if (a->width)
		return a->width;
	return set && number_parse(set, 48, 1000, &n) ? n : 80;
}

/* As a batch answers, and with the request: hp_verify() can read it. */
static bool print_json(const struct hp_job *job, bool compared)
{
	json_t *a = hp_with_request(job);
	bool ok =
		a && (!compared || json_object_del(a, "request") == 0) && hp_write_json(stdout, a);

	json_decref(a);
	return ok;
}

static bool show(struct hp_job *job, const struct hp_args *a)
{
	bool ok;

	if (a->format == HP_JSON)
		ok = print_json(job, a->compare);
	else if (a->compare)
		ok = hp_print_comparison(stdout, job->out, a->format == HP_CSV);
	else
		ok = a->format == HP_CSV ? hp_print_csv(stdout, job) : hp_print_table(stdout, job);
	return ok || unwritten(job);
}

/* A picture, or a page, that cannot be made leaves nothing on standard output. */
static bool show_with_charts(struct hp_job *job, const struct hp_args *a)
{
	struct hp_bars bars;
	bool text = a->gantt == HP_CHART_YES ||
		    (a->gantt == HP_CHART_AUTO && a->format == HP_TABLE && isatty(1));

	if (a->html && !make_page(job, a, NULL))
		return false;
	if (!text && !a->svg)
		return show(job, a);
	if (!hp_bars(job, &bars))
		return a->gantt == HP_CHART_AUTO && !a->svg && show(job, a);
	if ((a->svg && !draw(job, a, HP_SVG, &bars, NULL)) || !show(job, a))
		return false;
	return !text || (putchar('\n') != EOF && hp_gantt(stdout, &bars, columns(a))) ||
	       unwritten(job);
}

static bool plan(struct hp_job *job, const struct hp_args *a)
{
	if (!make_request(job, a))
		return false;
	if (a->compare)
		return hp_compare(job, a->max_steps) && (!a->html || make_compared_page(job, a)) &&
		       show(job, a);
	return hp_run(job) && show_with_charts(job, a);
}

/* A plan in a file, whose request and answer become the job's. */
static int show_file(const struct hp_args *a)
{
	struct hp_job job, file;
	bool ok = hp_job_init(&file, &hp_limits, NULL), read = false;

	ok = hp_job_init(&job, &hp_limits, NULL) && ok;
	if (!ok)
		hp_say("out of memory");
	else if (!(read = read_input(&file, a->input)) || !(ok = hp_verify(&job, &file)))
		hp_say("'%s': %s", a->input, read ? job.text : file.text);
	else if (!(ok = show_with_charts(&job, a)))
		hp_say("%s", job.text);
	ok = ok && read;
	hp_job_free(&job);
	hp_job_free(&file);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Of a request without a file, what is missing is an option. */
static int say_why(const struct hp_job *job, const struct hp_args *a)
{
	const char *option = job->missing && !a->input ? hp_option_of(job->missing) : NULL;

	if (option)
		hp_say("%s is missing", option);
	else
		hp_say("%s", job->text);
	if (option)
		fputs("Try 'hetplan --help' for more.\n", stderr);
	return option ? 2 : EXIT_FAILURE;
}

int hp_verb(const struct hp_args *a)
{
	int status = EXIT_FAILURE;
	struct hp_job job;
	bool ok;

	if (strcmp(a->verb, "show") == 0)
		return show_file(a);
	ok = hp_job_init(&job, &hp_limits, NULL);
	if (ok && a->input && !(ok = read_input(&job, a->input)))
		hp_say("'%s': %s", a->input, job.text);
	else if (!ok || !(ok = plan(&job, a)))
		status = say_why(&job, a);
	hp_job_free(&job);
	return ok ? EXIT_SUCCESS : status;
}
