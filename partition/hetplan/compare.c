/* SPDX-License-Identifier: GPL-3.0-or-later */
/* compare.c - one problem by every method: makespan, gap to the bound, time to plan, or why
 * a method does not apply.
 * May not touch: how they plan. Costs all methods, less those beyond the steps allowed. */
#include <math.h>
#include <string.h>
#include <time.h>

#include "hetplan.h"

/* What is known of the size of the problem. */
static double size_of(const json_t *in, const char *key)
{
	const json_t *v = json_object_get(in, key);

	return json_is_array(v) ? (double)json_array_size(v) : json_number_value(v);
}

/* About how many steps a method takes; 0 for those that are always quick. */
static double steps(const json_t *in, const char *op, const char *method)
{
	double n = size_of(in, "items") / fmax(1, size_of(in, "quantum"));
	double p =
		fmax(fmax(size_of(in, "processors"), size_of(in, "costs")), size_of(in, "compute"));
	double roots = strcmp(op, "scatter-root") == 0 ? p : 1;

	if (strcmp(method, "dp") == 0)
		return roots * p * n * n / 2;
	if (strcmp(method, "dp-increasing") == 0)
		return roots * p * n * 1000; /* seen in practice; the worst case is dp's */
	if (strcmp(method, "window") == 0)
		return roots * p * n;
	return strcmp(method, "bitset") == 0 ? p * n * n / 8 : 0;
}

static double now(void)
{
	struct timespec t = { 0 };

	return clock_gettime(CLOCK_MONOTONIC, &t) == 0 ? (double)t.tv_sec + 1e-9 * (double)t.tv_nsec
						       : NAN;
}

/* Copy a number of an answer, if it is there. */
static bool copy(json_t *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);

	return !v || json_object_set(to, key, v) == 0;
}

/* When the first processor ends, if there are times. */
static bool put_earliest(json_t *row, const json_t *times)
{
	double first = INFINITY;

	for (size_t i = 0; i < json_array_size(times); i++)
		first = fmin(first, hp_at_index(times, i));
	return !times || json_object_set_new(row, "earliest", hp_json_real(first)) == 0;
}

/* One method, in a job of its own. */
static bool try_method(struct hp_job *job, const char *method, json_t *row)
{
	struct hp_job one;
	json_t *in = json_copy(job->in);
	double begin, end;
	bool ok = hp_job_init(&one, job->limits, in) && in &&
		  json_object_set_new(in, "method", json_string(method)) == 0;

	if (ok) {
		begin = now();
		if (hp_run(&one)) {
			end = now();
			ok = copy(row, one.out, "makespan") && copy(row, one.out, "lower_bound") &&
			     put_earliest(row, json_object_get(one.out, "times")) &&
			     json_object_set_new(row, "seconds", hp_json_real(end - begin)) == 0;
		} else {
			job->missing = one.missing;
			ok = json_object_set_new(row, "message", json_string(one.text)) == 0;
		}
	}
	hp_job_free(&one);
	return ok || hp_fail(job, NULL, "out of memory");
}

static bool add_row(struct hp_job *job, json_t *rows, const struct hp_op *op, const char *method,
		    uint64_t max_steps)
{
	json_t *row = json_object();
	double need = steps(job->in, op->name, method);
	char why[HP_TEXT_BYTES];

	if (json_array_append_new(rows, row) != 0 ||
	    json_object_set_new(row, "method", json_string(method)) != 0)
		return hp_fail(job, NULL, "out of memory");
	if (need <= (double)max_steps)
		return try_method(job, method, row);
	snprintf(why, sizeof why, "left out: about %.2g steps, more than --max-steps", need);
	return json_object_set_new(row, "message", json_string(why)) == 0 ||
	       hp_fail(job, NULL, "out of memory");
}

/* Shares as equal as what they must keep allows: those of equal processors. In a scatter the root
 * has what is no multiple of the quantum. */
static bool equal_shares(struct hp_job *job, bool by_root, uint64_t *share, size_t n)
{
	hetpart_opts opts = HETPART_OPTS_INIT;
	hetpart_plan *plan = NULL;
	hetpart_cost *linear = NULL;
	hetpart_status rc;
	hetpart_err err;
	uint64_t items, rest = 0;
	double *speeds = hp_alloc(job, n, sizeof *speeds);

	if (!speeds || !hp_items(job, &items) ||
	    !hp_bounds(job, "capacity", n, HETPART_ITEMS_MAX, &opts.capacities) ||
	    !hp_bounds(job, "minimum", n, 0, &opts.minimums) || !hp_quantum(job, &opts.quantum))
		return false;
	if (by_root && opts.quantum > 1)
		rest = items % opts.quantum;
	for (size_t i = 0; i < n; i++)
		speeds[i] = 1;
	rc = hetpart_cost_affine(&linear, 0, 1, 1, &err);
	if (rc == HETPART_OK)
		rc = hetpart_share_create(&plan, items - rest, speeds, n, linear, &opts, &err);
	hetpart_cost_free(linear);
	if (!hp_lib(job, NULL, rc, &err) || !hp_own_plan(job, plan))
		return false;
	for (size_t i = 0; i < n; i++)
		share[i] = hetpart_plan_share(plan, i) + (i + 1 == n ? rest : 0);
	return true;
}

/* When they end, where processors differ by their speed. */
static bool equal_by_speed(struct hp_job *job, const uint64_t *share, double *t, size_t n)
{
	const struct hp_at at = { NULL, "cost", 0 };
	const hetpart_cost *f = hp_cost(job, json_object_get(job->in, "cost"), &at);
	double *speeds;

	if (!f || !hp_reals(job, "speeds", n, &speeds, &n))
		return false;
	for (size_t i = 0; i < n; i++)
		t[i] = hetpart_cost_eval(f, share[i]) / speeds[i];
	return true;
}

/* The same where a root serves one after the other. */
static bool equal_by_root(struct hp_job *job, const uint64_t *share, double *t)
{
	hetpart_scatter_proc *procs;
	double port = 0;
	size_t n;

	if (!hp_procs(job, &procs, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		port += procs[i].link ? hetpart_cost_eval(procs[i].link, share[i]) : 0;
		t[i] = port + hetpart_cost_eval(procs[i].compute, share[i]);
	}
	return true;
}

/* The row of equal shares, to see what planning is worth. Requests that come here were planned. */
static bool add_equal(struct hp_job *job, const char *op, json_t *rows)
{
	bool by_root = strcmp(op, "scatter") == 0;
	const char *list = by_root ? "processors" : "speeds";
	size_t n = json_array_size(json_object_get(job->in, list));
	json_t *row = json_object();
	double *t = hp_alloc(job, n, sizeof *t), last = 0;
	uint64_t *share = hp_alloc(job, n, sizeof *share);

	if (json_array_append_new(rows, row) != 0)
		return hp_fail(job, NULL, "out of memory");
	if (!t || !share || !equal_shares(job, by_root, share, n) ||
	    !(by_root ? equal_by_root(job, share, t) : equal_by_speed(job, share, t, n)) ||
	    !hp_put_reals(job, "times", t, n))
		return false;
	for (size_t i = 0; i < n; i++)
		last = fmax(last, t[i]);
	if (json_object_set_new(row, "method", json_string("equal shares")) != 0 ||
	    json_object_set_new(row, "makespan", hp_json_real(last)) != 0 ||
	    !put_earliest(row, json_object_get(job->out, "times")))
		return hp_fail(job, NULL, "out of memory");
	return json_object_del(job->out, "times") == 0;
}

/* The largest bound that is proven; without one, the smallest makespan. */
static double find_bound(const json_t *rows, bool *proven)
{
	double bound = -INFINITY, best = INFINITY;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);
		const json_t *low = json_object_get(row, "lower_bound");
		const json_t *span = json_object_get(row, "makespan");
		if (json_is_number(low))
			bound = fmax(bound, json_number_value(low));
		if (json_is_number(span))
			best = fmin(best, json_number_value(span));
	}
	*proven = bound > -INFINITY && bound <= best * (1 + 1e-9);
	return *proven ? fmin(bound, best) : best;
}

static bool put_gaps(struct hp_job *job, json_t *rows)
{
	bool proven;
	double bound = find_bound(rows, &proven);

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *row = json_array_get(rows, i);
		const json_t *span = json_object_get(row, "makespan");
		double x = json_number_value(span);
		if (json_is_number(span) &&
		    json_object_set_new(
			    row, "gap_percent",
			    hp_json_real(bound > 0 ? 100 * (x - bound) / bound : x - bound)) != 0)
			return hp_fail(job, NULL, "out of memory");
	}
	return hp_put(job, "bound", hp_json_real(bound)) &&
	       hp_put(job, "bound_proven", json_boolean(proven)) &&
	       hp_put(job, "methods", json_incref(rows));
}

static bool all_methods(struct hp_job *job, const struct hp_op *op, uint64_t max_steps,
			json_t *rows)
{
	bool any = false;

	for (size_t i = 0; op->methods[i]; i++) {
		if (!add_row(job, rows, op, op->methods[i], max_steps))
			return false;
		any = any || !json_object_get(json_array_get(rows, i), "message");
	}
	if (any && (strcmp(op->name, "share") == 0 || strcmp(op->name, "scatter") == 0))
		return add_equal(job, op->name, rows);
	return any ||
	       hp_fail(job, NULL, "no method applies: %s",
		       json_string_value(json_object_get(json_array_get(rows, 0), "message")));
}

bool hp_compare(struct hp_job *job, uint64_t max_steps)
{
	const char *name = json_string_value(json_object_get(job->in, "op"));
	const struct hp_op *op = name ? hp_op_find(name) : NULL;
	json_t *rows = json_array();

	bool ok;

	if (op && op->methods[0])
		ok = all_methods(job, op, max_steps, rows) &&
		     hp_put(job, "op", json_string(op->name)) && put_gaps(job, rows);
	else
		ok = hp_fail(job, NULL, "nothing to compare: '%.64s' has one method",
			     name ? name : "op");
	json_decref(rows);
	return ok;
}

/* A number of a row, or nothing. */
static const char *text_of(char buf[HP_NUMBER_BYTES], const json_t *row, const char *key,
			   int digits, bool csv)
{
	const json_t *v = json_object_get(row, key);

	if (!json_is_number(v))
		return csv ? "" : "-";
	if (csv)
		return hp_number(buf, json_number_value(v));
	snprintf(buf, HP_NUMBER_BYTES, "%.*g", digits, json_number_value(v));
	return buf;
}

static bool put_row(FILE *f, const json_t *row, bool csv)
{
	const char *method = json_string_value(json_object_get(row, "method"));
	const char *why = json_string_value(json_object_get(row, "message"));
	char buf[4][HP_NUMBER_BYTES], quoted[2 * HP_TEXT_BYTES];

	if (why && csv)
		return fprintf(f, "%s,,,,,%s\n", method, hp_csv(quoted, sizeof quoted, why)) > 0;
	if (why)
		return fprintf(f, "%-13s  %s\n", method, why) > 0;
	return fprintf(f, csv ? "%s,%s,%s,%s,%s,\n" : "%-13s  %16s  %16s  %10s  %10s\n", method,
		       text_of(buf[0], row, "earliest", 10, csv),
		       text_of(buf[1], row, "makespan", 10, csv),
		       text_of(buf[2], row, "gap_percent", 4, csv),
		       text_of(buf[3], row, "seconds", 3, csv)) > 0;
}

bool hp_print_comparison(FILE *f, const json_t *out, bool csv)
{
	const json_t *rows = json_object_get(out, "methods");
	bool proven = json_is_true(json_object_get(out, "bound_proven"));

	if (csv ? fputs("method,earliest,makespan,gap_percent,seconds,message\n", f) == EOF
		: fprintf(f, "%-13s  %16s  %16s  %10s  %10s\n", "method", "first end", "makespan",
			  "gap %", "seconds") < 0)
		return false;
	for (size_t i = 0; i < json_array_size(rows); i++)
		if (!put_row(f, json_array_get(rows, i), csv))
			return false;
	return csv ||
	       fprintf(f, "gap to %.10g, %s\n", json_number_value(json_object_get(out, "bound")),
		       proven ? "a proven bound" : "the best of these") > 0;
}
