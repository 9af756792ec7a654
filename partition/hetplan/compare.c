/* SPDX-License-Identifier: GPL-3.0-or-later */
/* compare.c - plan one problem by every method. Each method has a row: makespan, gap to the bound
 * and time to plan, or the reason why it does not apply. Methods that need more steps than allowed
 * are skipped. */
#include <math.h>
#include <string.h>

#include "hetplan.h"

/* Return a size of the problem: a number of the request, or the length of a list. */
static double request_size(const json_t *in, const char *key)
{
	const json_t *const v = json_object_get(in, key);
	return json_is_array(v) ? (double)json_array_size(v) : json_number_value(v);
}

/* Return an estimate of the steps of a method; 0 for methods that are always fast. */
static double method_steps(const json_t *in, const char *op, const char *method)
{
	const double n = request_size(in, "items") / fmax(1, request_size(in, "quantum"));
	const double p = fmax(fmax(request_size(in, "processors"), request_size(in, "costs")),
			      request_size(in, "compute"));
	const double roots = strcmp(op, "scatter-root") == 0 ? p : 1;
	if (strcmp(method, "dp") == 0)
		return roots * p * n * n / 2;
	if (strcmp(method, "dp-increasing") == 0)
		return roots * p * n * 1000; /* measured; the worst case is the same as dp */
	if (strcmp(method, "window") == 0)
		return roots * p * n;
	return strcmp(method, "bitset") == 0 ? p * n * n / 8 : 0;
}

/* Copy a member of an answer, if it exists. */
static bool copy_number(json_t *to, const json_t *from, const char *key)
{
	json_t *const v = json_object_get(from, key);
	return !v || json_object_set(to, key, v) == 0;
}

/* Plan by one method in a separate job, unless it needs more steps than allowed, and store the
 * result in row. Return false if out of memory. */
static bool try_method(hp_job *job, const hp_op *op, const char *method, uint64_t max_steps,
		       json_t *row)
{
	const double steps = method_steps(job->in, op->name, method);
	char why[HP_TEXT_BYTES];
	snprintf(why, sizeof why, "skipped: about %.2g steps, more than --max-steps", steps);
	if (steps > (double)max_steps)
		return json_object_set_new(row, "message", json_string(why)) == 0;
	json_t *const in = json_copy(job->in);
	hp_job one;
	bool ok = hp_job_init(&one, job->limits, in) && in &&
		  json_object_set_new(in, "method", json_string(method)) == 0;
	const double start = hp_now_s();
	if (ok && hp_perform(&one)) {
		const double seconds = hp_now_s() - start;
		const json_t *const times = json_object_get(one.out, "times");
		double first = INFINITY;
		for (size_t i = 0; i < json_array_size(times); i++)
			first = fmin(first, hp_at_index(times, i));
		ok = copy_number(row, one.out, "makespan") &&
		     copy_number(row, one.out, "lower_bound") &&
		     (!times || json_object_set_new(row, "earliest", hp_json_real(first)) == 0) &&
		     json_object_set_new(row, "seconds", hp_json_real(seconds)) == 0;
	} else if (ok) {
		job->missing = one.missing;
		ok = json_object_set_new(row, "message", json_string(one.text)) == 0;
	}
	hp_job_free(&one);
	return ok;
}

/* Set share[] to shares that are as equal as capacities, minimums and the quantum allow: the shares
 * of equally fast processors. In a scatter, the root also takes the rest of the items after
 * division by the quantum. */
static bool equal_shares(hp_job *job, bool by_root, uint64_t *share, size_t n)
{
	hetpart_opts opts = HETPART_OPTS_INIT;
	uint64_t items, rest = 0;
	double *const speeds = hp_alloc(job, n, sizeof *speeds);
	if (!speeds || !hp_items(job, &items) ||
	    !hp_bounds(job, "capacity", n, HETPART_ITEMS_MAX, &opts.capacities) ||
	    !hp_bounds(job, "minimum", n, 0, &opts.minimums) || !hp_quantum(job, &opts.quantum))
		return false;
	if (by_root && opts.quantum > 1)
		rest = items % opts.quantum;
	for (size_t i = 0; i < n; i++)
		speeds[i] = 1;
	hetpart_plan *plan = NULL;
	hetpart_cost *linear = NULL;
	hetpart_status rc = hetpart_cost_affine(&linear, 0, 1, 1, &job->err);
	if (rc == HETPART_OK)
		rc = hetpart_share_create(&plan, items - rest, speeds, n, linear, &opts, &job->err);
	hetpart_cost_free(linear);
	if (!hp_planned(job, rc, &plan))
		return false;
	for (size_t i = 0; i < n; i++)
		share[i] = hetpart_plan_share(plan, i) + (i + 1 == n ? rest : 0);
	return true;
}

/* Add the row of equal shares, which shows what planning gains. The request must be valid. */
static bool add_equal(hp_job *job, const hp_op *op, json_t *rows)
{
	const bool by_root = strcmp(op->name, "scatter") == 0;
	const char *const list = by_root ? "processors" : "speeds";
	const size_t n = json_array_size(json_object_get(job->in, list));
	json_t *const row = json_object();
	double *const t = hp_alloc(job, n, sizeof *t);
	uint64_t *const share = hp_alloc(job, n, sizeof *share);
	if (json_array_append_new(rows, row) != 0)
		return hp_no_memory(job);
	if (!t || !share || !equal_shares(job, by_root, share, n) || !op->ends(job, share, n, t))
		return false;
	double first = INFINITY, last = 0;
	for (size_t i = 0; i < n; i++) {
		first = fmin(first, t[i]);
		last = fmax(last, t[i]);
	}
	return (json_object_set_new(row, "method", json_string("equal shares")) == 0 &&
		json_object_set_new(row, "makespan", hp_json_real(last)) == 0 &&
		json_object_set_new(row, "earliest", hp_json_real(first)) == 0) ||
	       hp_no_memory(job);
}

/* Return the largest lower bound of the rows. If there is no consistent one, set *proven to false
 * and return the smallest makespan. */
static double find_bound(const json_t *rows, bool *proven)
{
	double bound = -INFINITY, best = INFINITY;
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *const row = json_array_get(rows, i);
		const json_t *const low = json_object_get(row, "lower_bound");
		const json_t *const span = json_object_get(row, "makespan");
		if (json_is_number(low))
			bound = fmax(bound, json_number_value(low));
		if (json_is_number(span))
			best = fmin(best, json_number_value(span));
	}
	*proven = bound > -INFINITY && bound <= best * (1 + 1e-9);
	return *proven ? fmin(bound, best) : best;
}

/* Plan by every method, and add to each row the gap to the bound. */
static bool compare_methods(hp_job *job, const hp_op *op, uint64_t max_steps, json_t *rows)
{
	bool any = false, proven;
	for (size_t i = 0; op->methods[i]; i++) {
		json_t *const row = json_object();
		if (json_array_append_new(rows, row) != 0 ||
		    json_object_set_new(row, "method", json_string(op->methods[i])) != 0 ||
		    !try_method(job, op, op->methods[i], max_steps, row))
			return hp_no_memory(job);
		any = any || !json_object_get(json_array_get(rows, i), "message");
	}
	if (!any)
		return hp_fail(
			job, NULL, "no method applies: %s",
			json_string_value(json_object_get(json_array_get(rows, 0), "message")));
	if ((strcmp(op->name, "share") == 0 || strcmp(op->name, "scatter") == 0) &&
	    !add_equal(job, op, rows))
		return false;
	const double bound = find_bound(rows, &proven);
	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *const row = json_array_get(rows, i);
		const json_t *const span = json_object_get(row, "makespan");
		const double x = json_number_value(span);
		const double gap = bound > 0 ? 100 * (x - bound) / bound : x - bound;
		if (json_is_number(span) &&
		    json_object_set_new(row, "gap_percent", hp_json_real(gap)) != 0)
			return hp_no_memory(job);
	}
	return hp_put(job, "op", json_string(op->name)) &&
	       hp_put(job, "bound", hp_json_real(bound)) &&
	       hp_put(job, "bound_proven", json_boolean(proven)) &&
	       hp_put(job, "methods", json_incref(rows));
}

bool hp_compare(hp_job *job, uint64_t max_steps)
{
	const char *const name = json_string_value(json_object_get(job->in, "op"));
	const hp_op *const op = name ? hp_op_find(name) : NULL;
	if (!op || !op->methods)
		return hp_fail(job, NULL, "nothing to compare: '%.64s' has one method",
			       name ? name : "op");
	json_t *const rows = json_array();
	const bool ok = compare_methods(job, op, max_steps, rows);
	json_decref(rows);
	return ok;
}

/* Return a number of a row as text. */
static const char *row_number(char buf[HP_NUMBER_BYTES], const json_t *row, const char *key,
			      int digits, bool csv)
{
	const json_t *const v = json_object_get(row, key);
	if (!json_is_number(v))
		return csv ? "" : "-";
	if (csv)
		return hp_number(buf, json_number_value(v));
	snprintf(buf, HP_NUMBER_BYTES, "%.*g", digits, json_number_value(v));
	return buf;
}

bool hp_print_comparison(FILE *f, const json_t *out, bool csv)
{
	const json_t *const rows = json_object_get(out, "methods");
	const bool proven = json_is_true(json_object_get(out, "bound_proven"));
	if (csv)
		fputs("method,earliest,makespan,gap_percent,seconds,message\n", f);
	else
		fprintf(f, "%-13s  %16s  %16s  %10s  %10s\n", "method", "first end", "makespan",
			"gap %", "seconds");
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *const row = json_array_get(rows, i);
		const char *const method = json_string_value(json_object_get(row, "method"));
		const char *const why = json_string_value(json_object_get(row, "message"));
		char buf[4][HP_NUMBER_BYTES], quoted[2 * HP_TEXT_BYTES];
		if (why && csv)
			fprintf(f, "%s,,,,,%s\n", method, hp_csv(quoted, sizeof quoted, why));
		else if (why)
			fprintf(f, "%-13s  %s\n", method, why);
		else
			fprintf(f, csv ? "%s,%s,%s,%s,%s,\n" : "%-13s  %16s  %16s  %10s  %10s\n",
				method, row_number(buf[0], row, "earliest", 10, csv),
				row_number(buf[1], row, "makespan", 10, csv),
				row_number(buf[2], row, "gap_percent", 4, csv),
				row_number(buf[3], row, "seconds", 3, csv));
	}
	if (!csv)
		fprintf(f, "gap to %.10g, %s\n", json_number_value(json_object_get(out, "bound")),
			proven ? "a proven bound" : "the best of these");
	return !ferror(f);
}
