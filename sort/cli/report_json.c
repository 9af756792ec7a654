/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the report in JSON and its page, on success and on failure, complete or not at all.
 * files_check() has checked that the two files may be written. Members keep the order in which
 * they are added. If memory is short, a value is NULL, and so is every value that contains it. */
#include "options.h"
#include "progress_line.h"
#include "report.h"
#include "signals.h"
#include "io/json.h"
#include "report/page.h"

#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#ifndef HETSORT_BUILD /* by the Makefile */
#	define HETSORT_BUILD "unknown"
#endif

const char *report_build(void)
{
	return HETSORT_BUILD;
}

/* Return null for a number that jansson's signed integers do not hold. */
static json_t *json_count(uint64_t n)
{
	return n > INT64_MAX ? json_null() : json_integer((json_int_t)n);
}

static json_t *name_or_null(const char *name)
{
	return name ? json_name(name) : json_null();
}

static json_t *json_names(const char *const *name, size_t n)
{
	json_t *a = json_array();
	for (size_t i = 0; i < n; i++)
		a = json_and(a, json_name(name[i]));
	return a;
}

/* ------------------------------------------------------------------------------- of a rank */

/* List the bytes of each step, up to the last one that has any. */
static json_t *activity_json(const activity *a)
{
	static const char *const name[ACTIVITY_KINDS] = { "read", "written", "sent" };
	json_t *j = json_pack("{s:f}", "step_s", a->step_s);
	int steps = 0;
	for (int k = 0; k < ACTIVITY_KINDS; k++)
		for (int i = steps; i < ACTIVITY_STEPS; i++)
			steps = a->bytes[k][i] ? i + 1 : steps;
	for (int k = 0; k < ACTIVITY_KINDS; k++) {
		json_t *list = json_array();
		for (int i = 0; i < steps; i++)
			list = json_and(list, json_count(a->bytes[k][i]));
		j = json_with(j, name[k], list);
	}
	return j;
}

static json_t *timeline_json(const rank_result *k)
{
	json_t *a = json_array();
	for (int i = 0; i < k->spans; i++)
		a = json_and(a, json_pack("{s:f, s:f, s:f, s:s}", "begin_s", k->span[i].begin_s,
					  "end_s", k->span[i].end_s, "wait_s", k->span[i].wait_s,
					  "phase", phase_name((phase)k->span[i].phase)));
	return a;
}

/* List the stages that the plan has or that took place. */
static json_t *stages_json(const stage_times *t)
{
	json_t *j = json_object();
	for (int i = STAGE_NONE + 1; i < STAGES; i++)
		if (t->planned_s[i] > 0 || t->taken_s[i] > 0)
			j = json_with(j, stage_name((stage_kind)i),
				      json_pack("{s:f, s:f}", "planned_s", t->planned_s[i],
						"taken_s", t->taken_s[i]));
	return j;
}

/* Report the work that --resume has found done by an earlier job. */
static json_t *resumed_json(const rank_result *k)
{
	const bool all = k->kept_runs > 0 && k->kept_runs == k->spill_runs;
	return json_pack("{s:s, s:s, s:o, s:o}", "merge", k->merge_kept ? "done" : "no", "read",
			 all            ? "done"
			 : k->kept_runs ? "in part"
					: "no",
			 "runs", json_count(k->kept_runs), "bytes_not_read",
			 json_count(k->kept_bytes));
}

/* Remove what describes this machine, which only simulates the ranks. */
static void remove_machine(json_t *rank)
{
	static const char *const own[] = { "pid",        "processors", "cpu_model",
					   "numa_nodes", "binding",    "process" };
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		json_object_del(rank, own[i]);
	json_object_del(json_object_get(rank, "bytes"), "process_peak");
	json_object_del(json_object_get(rank, "bytes"), "huge_pages");
}

static json_t *whole_rank_json(const job_result *r, const rank_result *k, const settings *o)
{
	static const char *const binding[] = { "none", "rank", "threads" };
	static const char *const by[] = { "nominal", "given", "measured" };
	json_t *j = json_pack(
		"{s:i, s:s, s:i, s:i, s:i, s:s, s:s, s:s, s:s, s:f,"
		" s:{s:f, s:f, s:f, s:f, s:f, s:f, s:s, s:s},"
		" s:f, s:f, s:s, s:f, s:f, s:f}",
		"rank", k->rank, "host", k->host, "pid", k->pid, "threads", k->threads, "lanes",
		k->lanes, "processors", k->processors, "cpu_model", k->cpu_model, "numa_nodes",
		k->numa_nodes, "binding", binding[k->binding], "speed", k->speed, "rates",
		"sort_s_per_record_ln", k->rate.sort_s, "merge_s_per_byte", k->rate.merge_s,
		"copy_s_per_byte", k->rate.copy_s, "file_s_per_byte", k->rate.file_s,
		"link_s_per_byte", k->rate.link_s, "disk_s_per_byte", k->rate.disk_s, "link",
		by[k->links_by], "disk", by[k->disk_by], "link_s_per_byte", k->link_s,
		"predicted_s", k->predicted_s, "bound_by", k->bound_by, "wait_s", k->wait_s,
		"verify_s", k->verify_s, "move_s", k->move_s);
	json_t *records = json_pack("{s:o, s:o, s:o, s:o}", "planned_in", json_count(k->planned_in),
				    "planned_out", json_count(k->planned_out), "in",
				    json_count(k->in), "out", json_count(k->out));
	if (k->adapt_state != ADAPT_OFF)
		records =
			json_with(records, "planned_out_before", json_count(k->planned_out_before));
	if (settings_drops(o))
		records = json_with(records, "dropped", json_count(k->dropped));
	j = json_with(j, "records", records);
	j = json_with(
		j, "bytes",
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "read", json_count(k->read_bytes),
			  "written", json_count(k->written_bytes), "sent",
			  json_count(k->sent_bytes), "received", json_count(k->received_bytes),
			  "arrays_peak", json_count(k->mem_peak_bytes), "process_peak",
			  json_count(k->rss_peak_bytes), "huge_pages", json_count(k->huge_bytes)));
	j = json_with(j, "process",
		      json_pack("{s:f, s:f, s:o, s:f, s:o}", "user_s", k->used.user_s, "system_s",
				k->used.system_s, "minor_faults", json_count(k->used.minor_faults),
				"fault_s", k->used.fault_s, "disk_bytes",
				json_count(k->used.disk_bytes)));
	if (r->job_ranks <= PEERS && r->size == r->job_ranks) {
		json_t *sent = json_array();
		for (int i = 0; i < r->size; i++)
			sent = json_and(sent, json_count(k->sent_to_bytes[i]));
		j = json_with(j, "sent_to", sent);
	}
	j = json_with(j, "activity", activity_json(&k->activity));
	json_t *phases = json_object();
	for (int p = 0; p < PHASES; p++)
		phases = json_with(phases, phase_name((phase)p), json_real(k->phase_s[p]));
	j = json_with(j, "phases_s", phases);
	j = json_with(j, "timeline", timeline_json(k));
	j = json_with(j, "stages", stages_json(&k->stages));
	j = json_with(j, "memory",
		      json_pack("{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:s, s:o}", "limit_bytes",
				json_count(k->limit_bytes), "limit", k->limit_text, "planned_bytes",
				json_count(k->planned_bytes), "spill_bytes",
				json_count(k->spill_bytes), "spill_runs", json_count(k->spill_runs),
				"runs_in_memory_bytes", json_count(k->run_file_bytes),
				"output_in_memory_bytes", json_count(k->out_file_bytes),
				"tmpdirs_left_out", k->left_out, "runs_again",
				json_count(k->runs_again)));
	j = json_with(j, "resumed", o->resume ? resumed_json(k) : json_null());
	j = json_with(j, "leftovers_removed", json_count(k->leftovers));
	if (r->scale > 0)
		remove_machine(j);
	if (k->speed_seen > 0)
		j = json_with(j, "speed_seen", json_real(k->speed_seen));
	return j;
}

/* Describe a rank. If it could not be asked, rank 0 only knows what it last heard. */
static json_t *rank_json(const job_result *r, const rank_result *k, const settings *o)
{
	json_t *j = k->partial ? json_pack("{s:i}", "rank", k->rank) : whole_rank_json(r, k, o);
	if (k->partial && k->host[0])
		j = json_with(j, "host", json_name(k->host));
	if (r->status != ST_OK && k->host[0])
		j = json_with(j, "phase", json_string(phase_name((phase)k->phase)));
	if (k->status != ST_OK)
		j = json_with(j, "error",
			      json_pack("{s:i, s:s, s:o}", "code", k->status, "phase",
					phase_name((phase)k->phase), "message",
					json_name(k->text)));
	return j;
}

/* ------------------------------------------------------------------------------ of the job */

/* Return a time in ISO 8601. */
static json_t *time_json(time_t at)
{
	char date[40];
	struct tm tm;
	gmtime_r(&at, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(date);
}

/* Return the options that the report states. */
static json_t *config_json(const job_result *res, const settings *o)
{
	char key[KEY_TEXT_BYTES], folds[FOLD_TEXT_BYTES];
	json_t *j = json_object();
	for (const option_row *r = option_rows; r < option_rows + option_count; r++) {
		const int64_t v = option_load(o, r->field);
		json_t *value;
		if (!r->report)
			continue;
		if (r->kind == OPT_KEY) {
			j = json_with(j, "key_offset", json_integer(o->lay.key_off));
			j = json_with(j, "key_bytes", json_integer(o->lay.key_bytes));
			value = json_string(layout_key_text(&o->lay, key));
		} else if (r->kind == OPT_FOLD) {
			(void)layout_fold_text(&o->lay, (fold_kind)r->value, folds);
			value = *folds ? json_string(folds) : json_null();
		} else if (r->kind == OPT_FIELD) {
			const key_field *n = (const void *)((const char *)o + r->field.at);
			value = n->bytes ? json_sprintf("%u,u%u%s", n->off, 8 * n->bytes,
							n->little ? "le" : "be")
					 : json_null();
		} else if (r->kind == OPT_CHOICE) {
			const bool unused =
				r->field.at == offsetof(settings, scatter) && !o->from_root;
			value = json_string(unused ? "" : r->choices[v]);
		} else {
			value = r->kind == OPT_SET ? json_boolean(v) : json_integer(v);
		}
		j = json_with(j, r->report, value);
	}
	return json_with(j, "rates_measured", json_boolean(res->rates_measured));
}

/* Add the result of --adapt, and the progress that was shown. */
static json_t *add_progress(json_t *j, const rank_result *first)
{
	static const char *const shares[] = { "", "kept", "no room", "changed" };
	unsigned n;
	const progress_moment *at = progress_line_course(&n);
	json_t *adapt = json_null(), *progress = json_array();
	if (first && first->adapt_state != ADAPT_OFF)
		adapt = json_pack("{s:s, s:f}", "shares", shares[first->adapt_state],
				  "predicted_gain", first->adapt_gain);
	for (unsigned i = 0; i < n; i++)
		progress =
			json_and(progress, json_pack("{s:f, s:f, s:f}", "at_s", at[i].at_s,
						     "left_s", at[i].left_s, "part", at[i].part));
	j = json_with(j, "adapt", adapt);
	if (first && first->both_s[0] > 0)
		j = json_with(j, "shares",
			      json_pack("{s:f, s:f}", "planned_s", first->both_s[0], "equal_s",
					first->both_s[1]));
	if (n > 0)
		j = json_with(j, "progress", progress);
	else
		json_decref(progress);
	return j;
}

/* Return the number, or null if it is below 0 (not known) or not finite. */
static json_t *real_or_null(double v)
{
	return v >= 0 && v < INFINITY ? json_real(v) : json_null();
}

static json_t *report_json(const job_result *r, const settings *o, int argc, char *const *argv)
{
	static const char *const word[] = { "ok",       "invalid", "refused", "io",
					    "resource", "peer",    "internal" };
	const status st = r->status;
	struct utsname u;
	if (uname(&u) != 0)
		memset(&u, 0, sizeof u);
	json_t *versions = json_pack("{s:s, s:s, s:o, s:o, s:s, s:s}", "hetsort", HETSORT_VERSION,
				     "compiler", __VERSION__, "build", json_name(HETSORT_BUILD),
				     "commit", name_or_null(o->commit), "kernel", u.release,
				     "ranks", r->comm_kind ? r->comm_kind : "");
	json_t *j = json_pack(
		"{s:s, s:i, s:o, s:o, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "format",
		"hetsort-report", "version", 1, "date", time_json(time(NULL)), "started",
		time_json((time_t)o->started_s), "status",
		(size_t)st < sizeof word / sizeof *word ? word[st] : "interrupted", "exit_code",
		(int)st, "signal",
		st > ST_SIGNAL ? json_string(signals_name((int)st - ST_SIGNAL)) : json_null(),
		"command", json_names((const char *const *)argv, (size_t)argc), "inputs",
		json_names(o->inputs, o->ninputs), "output", name_or_null(o->output), "versions",
		versions, "config", config_json(r, o));
	if (r->scale > 0)
		j = json_with(j, "simulated", json_pack("{s:f}", "scale", r->scale));
	j = json_with(j, "records", json_count(r->records));
	if (settings_drops(o)) {
		j = json_with(j, "records_written", json_count(r->out));
		j = json_with(j, "records_dropped",
			      st == ST_OK ? json_count(r->records - r->out) : json_null());
	}
	j = json_with(j, "total_s", json_real(r->total_s));
	j = json_with(j, "all_read_s", json_real(r->all_read_s));
	bool whole = r->size == r->job_ranks; /* all ranks have reported */
	for (int i = 0; i < r->size; i++)
		whole = whole && !r->rank[i].partial;
	j = json_with(j, "balance", whole ? json_real(report_balance(r)) : json_null());
	const report_use use = report_use_of(r, o);
	j = json_with(j, "use",
		      whole && r->size && r->scale <= 0
			      ? json_pack("{s:f, s:f, s:f, s:f, s:o, s:f, s:o, s:o, s:s}", "core_s",
					  use.core_s, "core_s_per_gb", use.core_s_per_gb, "cpus",
					  use.processors, "busy_part", use.busy, "minor_faults",
					  json_count(use.faults), "fault_s", use.fault_s, "joules",
					  real_or_null(use.joules), "joules_per_gb",
					  real_or_null(use.joules_per_gb), "bound", use.bound)
			      : json_null());
	j = add_progress(j, r->rank);
	j = json_with(j, "checksum_kind", json_string(CHECKSUM_NAME));
	j = json_with(j, "checksum", json_checksum(r->sum));
	if (settings_drops(o) || o->shape.out_bytes)
		j = json_with(j, "checksum_written", json_checksum(r->sum_out));
	json_t *notes = json_array(), *ranks = json_array();
	if (r->note[0])
		notes = json_and(notes, json_name(r->note));
	for (int i = 0; i < r->size; i++)
		ranks = json_and(ranks, rank_json(r, &r->rank[i], o));
	return json_with(json_with(j, "notes", notes), "ranks", ranks);
}

void report_write(const job_result *r, const settings *o, int argc, char *const *argv, bool sync,
		  err *report, err *page)
{
	json_t *doc = o->report || o->html ? report_json(r, o, argc, argv) : NULL;
	if (o->report)
		json_write_role(ROLE_REPORT, o->report, json_incref(doc), sync, report);
	if (o->html)
		page_write(doc, o->html, sync, page);
	json_decref(doc);
}
