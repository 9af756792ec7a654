/* SPDX-License-Identifier: GPL-3.0-or-later */
/* lint: table. The members of the report, in its order, and the columns of the tables. What a rank
 * is to tell besides is a member of rank_result, and a row here. */
#include "report_fields.h"
#include "option_rows.h"
#include "progress_line.h"
#include "report.h"
#include "signals.h"

#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#ifndef HETSORT_BUILD /* by the Makefile */
#	define HETSORT_BUILD "unknown"
#endif

/* A member of a struct; its type tells the kind. */
#define KIND_OF(lvalue) \
	_Generic((lvalue),        \
		int32_t           \
		: FIELD_INT32,    \
		  uint32_t        \
		: FIELD_INT32,    \
		  uint64_t        \
		: FIELD_UINT64,   \
		  double          \
		: FIELD_REAL,     \
		  char *          \
		: FIELD_TEXT)
#define OF(type, member) .kind = KIND_OF(((type *)0)->member), .at = offsetof(type, member)
#define RANK(member)     OF(rank_result, member)
#define JOB(member)      OF(job_result, member)
#define MADE(function)   .kind = FIELD_MADE, .by.make = function
#define SAYS(words)      .kind = FIELD_SAYS, .by.text = words
#define OBJECT(list)     .kind = FIELD_OBJECT, .by.members = list
#define CHOICE(type, member, list) \
	.kind = FIELD_CHOICE, .at = offsetof(type, member), .by.words = list

double report_busy_s(const rank_result *r)
{
	double sum = 0;
	for (int p = 0; p < PHASES; p++)
		if (p != PH_EXCHANGE) /* that is waiting for blocks */
			sum += r->phase_s[p];
	return sum;
}

double report_balance(const job_result *r)
{
	double most = 0, sum = 0;
	for (int i = 0; r->rank && i < r->size; i++) {
		const double b = report_busy_s(&r->rank[i]);
		sum += b;
		most = b > most ? b : most;
	}
	return sum > 0 ? most * r->size / sum : 0;
}

static json_t *value(const report_field *f, const void *of, const report_source *s)
{
	const char *at = (const char *)of + f->at;
	int32_t word = 0;
	uint64_t whole = 0;
	double real = 0;
	switch (f->kind) {
	case FIELD_INT32:
		memcpy(&word, at, sizeof word);
		return json_integer(word);
	case FIELD_UINT64:
		memcpy(&whole, at, sizeof whole);
		return whole > INT64_MAX ? json_null() : json_integer((json_int_t)whole);
	case FIELD_REAL:
		memcpy(&real, at, sizeof real);
		return json_real(real);
	case FIELD_TEXT:
		return json_string(at);
	case FIELD_CHOICE:
		memcpy(&word, at, sizeof word);
		return json_string(f->by.words[word]);
	case FIELD_OBJECT:
		return report_object(f->by.members, at, s);
	case FIELD_SAYS:
		return json_string(f->by.text);
	default:
		return f->by.make(of, s);
	}
}

json_t *report_object(const report_field *list, const void *of, const report_source *s)
{
	json_t *o = json_object();
	for (const report_field *f = list; f->name; f++)
		if (!f->when || f->when(of, s))
			o = json_with(o, f->name, value(f, of, s));
		else if (f->or_null)
			o = json_with(o, f->name, json_null());
	return o;
}

/* ------------------------------------------------------------------------------- of a rank */

/* Of a rank, or of the job. */
static bool drops(const void *of, const report_source *s)
{
	(void)of;
	return settings_drops(s->o);
}

static bool adapts(const void *of, const report_source *s)
{
	(void)s;
	return ((const rank_result *)of)->adapt_state != ADAPT_OFF;
}

static bool speed_was_seen(const void *of, const report_source *s)
{
	(void)s;
	return ((const rank_result *)of)->speed_seen > 0;
}

static bool failed(const void *of, const report_source *s)
{
	(void)s;
	return ((const rank_result *)of)->status != ST_OK;
}

static bool resumes(const void *of, const report_source *s)
{
	(void)of;
	return s->o->resume;
}

static bool was_tried(const void *of, const report_source *s)
{
	(void)s;
	return ((const io_stats *)of)->uring_bytes_per_s > 0;
}

static json_t *phases_json(const void *of, const report_source *s)
{
	const rank_result *r = of;
	json_t *o = json_object();
	(void)s;
	for (int p = 0; p < PHASES; p++)
		o = json_with(o, phase_name((phase)p), json_real(r->phase_s[p]));
	return o;
}

static json_t *spans_json(const void *of, const report_source *s)
{
	static const report_field fields[] = {
		{ "begin_s", OF(phase_span, begin_s) },
		{ "end_s", OF(phase_span, end_s) },
		{ "wait_s", OF(phase_span, wait_s) },
		{ .name = NULL },
	};
	const rank_result *r = of;
	json_t *a = json_array();
	for (int i = 0; i < r->spans; i++) {
		json_t *o = report_object(fields, &r->span[i], s);
		a = json_and(
			a, json_with(o, "phase", json_string(phase_name((phase)r->span[i].phase))));
	}
	return a;
}

/* Of those that the plan has or that were there. */
static json_t *stages_json(const void *of, const report_source *s)
{
	const stage_times *t = &((const rank_result *)of)->stages;
	json_t *o = json_object();
	(void)s;
	for (int k = STAGE_NONE + 1; k < STAGES; k++)
		if (t->planned_s[k] > 0 || t->taken_s[k] > 0)
			o = json_with(o, stage_name((stage_kind)k),
				      json_pack("{s:f, s:f}", "planned_s", t->planned_s[k],
						"taken_s", t->taken_s[k]));
	return o;
}

/* Up to the last step that has any. */
static json_t *activity_json(const void *of, const report_source *s)
{
	static const char *const name[ACTIVITY_KINDS] = { "read", "written", "sent" };
	const activity *a = &((const rank_result *)of)->activity;
	json_t *o = json_with(json_object(), "step_s", json_real(a->step_s));
	int steps = 0;
	(void)s;
	for (int k = 0; k < ACTIVITY_KINDS; k++)
		for (int i = steps; i < ACTIVITY_STEPS; i++)
			steps = a->bytes[k][i] ? i + 1 : steps;
	for (int k = 0; k < ACTIVITY_KINDS; k++) {
		json_t *list = json_array();
		for (int i = 0; i < steps; i++)
			list = json_and(list, json_integer((json_int_t)a->bytes[k][i]));
		o = json_with(o, name[k], list);
	}
	return o;
}

static json_t *sent_to_json(const void *of, const report_source *s)
{
	const rank_result *r = of;
	json_t *list = json_array();
	for (int i = 0; i < s->result->size; i++)
		list = json_and(list, json_integer((json_int_t)r->sent_to_bytes[i]));
	return list;
}

static bool few_ranks(const void *of, const report_source *s)
{
	(void)of;
	return s->result->job_ranks <= PEERS && s->result->size == s->result->job_ranks;
}

static json_t *phase_json(const void *of, const report_source *s)
{
	(void)s;
	return json_string(phase_name((phase)((const rank_result *)of)->phase));
}

static json_t *message_json(const void *of, const report_source *s)
{
	(void)s;
	return json_name(((const rank_result *)of)->text);
}

/* How much of the reading an earlier program had done. */
static json_t *read_json(const void *of, const report_source *s)
{
	const rank_result *r = of;
	const bool all = r->kept_runs > 0 && r->kept_runs == r->spill_runs;
	(void)s;
	return json_string(all ? "done" : r->kept_runs ? "in part" : "no");
}

static const char *const kept_words[] = { "no", "done", NULL };

static const report_field rates_fields[] = {
	{ "sort_s_per_record_ln", OF(rates, sort_s) }, { "merge_s_per_byte", OF(rates, merge_s) },
	{ "copy_s_per_byte", OF(rates, copy_s) },      { "link_s_per_byte", OF(rates, link_s) },
	{ "disk_s_per_byte", OF(rates, disk_s) },      { .name = NULL },
};

static const report_field records_fields[] = {
	{ "planned_in", RANK(planned_in) },
	{ "planned_out", RANK(planned_out) },
	{ "in", RANK(in) },
	{ "out", RANK(out) },
	{ "planned_out_before", RANK(planned_out_before), .when = adapts },
	{ "dropped", RANK(dropped), .when = drops },
	{ .name = NULL },
};

static const report_field bytes_fields[] = {
	{ "read", RANK(read_bytes) },
	{ "written", RANK(written_bytes) },
	{ "sent", RANK(sent_bytes) },
	{ "received", RANK(received_bytes) },
	{ "arrays_peak", RANK(mem_peak_bytes) },
	{ "process_peak", RANK(rss_peak_bytes) },
	{ "huge_pages", RANK(huge_bytes) },
	{ .name = NULL },
};

static const report_field memory_fields[] = {
	{ "limit_bytes", RANK(limit_bytes) },     { "limit", RANK(limit_text) },
	{ "planned_bytes", RANK(planned_bytes) }, { "spill_bytes", RANK(spill_bytes) },
	{ "spill_runs", RANK(spill_runs) },       { "tmpdirs_left_out", RANK(left_out) },
	{ "runs_again", RANK(runs_again) },       { .name = NULL },
};

static const report_field trial_fields[] = {
	{ "uring_bytes_per_s", OF(io_stats, uring_bytes_per_s) },
	{ "threads_bytes_per_s", OF(io_stats, calls_bytes_per_s) },
	{ .name = NULL },
};

static const report_field io_stats_fields[] = {
	{ "way", CHOICE(io_stats, method, io_names) },
	{ "uring_bytes", OF(io_stats, uring_bytes) },
	{ "trial", OBJECT(trial_fields), .when = was_tried, .or_null = true },
	{ .name = NULL },
};

static const report_field io_fields[] = {
	{ "read", OBJECT(io_stats_fields), .at = offsetof(rank_result, io[0]) },
	{ "write", OBJECT(io_stats_fields), .at = offsetof(rank_result, io[1]) },
	{ "no_uring", RANK(io_text) },
	{ .name = NULL },
};

static const report_field resumed_fields[] = {
	{ "merge", CHOICE(rank_result, merge_kept, kept_words) },
	{ "read", MADE(read_json) },
	{ "runs", RANK(kept_runs) },
	{ "bytes_not_read", RANK(kept_bytes) },
	{ .name = NULL },
};

static const report_field error_fields[] = {
	{ "code", RANK(status) },
	{ "phase", MADE(phase_json) },
	{ "message", MADE(message_json) },
	{ .name = NULL },
};

static const char *const binding_words[] = { "none", "rank", "threads" };

static const report_field rank_fields[] = {
	{ "rank", RANK(rank) },
	{ "host", RANK(host) },
	{ "pid", RANK(pid) },
	{ "threads", RANK(threads) },
	{ "processors", RANK(processors) },
	{ "cpu_model", RANK(cpu_model) },
	{ "numa_nodes", RANK(numa_nodes) },
	{ "binding", CHOICE(rank_result, binding, binding_words) },
	{ "speed", RANK(speed) },
	{ "rates", OBJECT(rates_fields), .at = offsetof(rank_result, rate) },
	{ "link_s_per_byte", RANK(link_s) },
	{ "predicted_s", RANK(predicted_s) },
	{ "bound_by", RANK(bound_by) },
	{ "wait_s", RANK(wait_s) },
	{ "verify_s", RANK(verify_s) },
	{ "move_s", RANK(move_s) },
	{ "records", OBJECT(records_fields) },
	{ "bytes", OBJECT(bytes_fields) },
	{ "sent_to", MADE(sent_to_json), .when = few_ranks },
	{ "activity", MADE(activity_json) },
	{ "phases_s", MADE(phases_json) },
	{ "timeline", MADE(spans_json) },
	{ "stages", MADE(stages_json) },
	{ "memory", OBJECT(memory_fields) },
	{ "io", OBJECT(io_fields) },
	{ "resumed", OBJECT(resumed_fields), .when = resumes, .or_null = true },
	{ "leftovers_removed", RANK(leftovers) },
	{ "speed_seen", RANK(speed_seen), .when = speed_was_seen },
	{ "error", OBJECT(error_fields), .when = failed },
	{ .name = NULL },
};

/* ------------------------------------------------------------------------------ of the job */

/* Not without --adapt, nor where the run ended before. */
static bool adapted(const void *of, const report_source *s)
{
	const rank_result *first = ((const job_result *)of)->rank;
	return first && adapts(first, s);
}

static json_t *adapt_json(const void *of, const report_source *s)
{
	static const char *const shares[] = { "", "kept", "no room", "changed" };
	static const report_field fields[] = {
		{ "shares", CHOICE(rank_result, adapt_state, shares) },
		{ "predicted_gain", RANK(adapt_gain) },
		{ .name = NULL },
	};
	return report_object(fields, ((const job_result *)of)->rank, s);
}

/* What --progress has told. */
static bool told(const void *of, const report_source *s)
{
	unsigned n;
	(void)of;
	(void)s;
	progress_line_told(&n);
	return n > 0;
}

static json_t *progress_json(const void *of, const report_source *s)
{
	unsigned n;
	const progress_told *t = progress_line_told(&n);
	json_t *a = json_array();
	(void)of;
	(void)s;
	for (unsigned i = 0; i < n; i++)
		a = json_and(a, json_pack("{s:f, s:f, s:f}", "at_s", t[i].at_s, "left_s",
					  t[i].left_s, "part", t[i].part));
	return a;
}

/* Not of a single rank, nor where the run ended before. */
static bool exchanges(const void *of, const report_source *s)
{
	const rank_result *first = ((const job_result *)of)->rank;
	(void)s;
	return first && first->exchange != EXCHANGE_NONE;
}

static json_t *exchange_json(const void *of, const report_source *s)
{
	const rank_result *first = ((const job_result *)of)->rank;
	(void)s;
	return json_string(
		exchange_names[first->exchange == EXCHANGE_TWO_LEVEL ? EXCHANGE_BY_TWO_LEVELS
								     : EXCHANGE_DIRECT]);
}

static json_t *ranks_json(const void *of, const report_source *s)
{
	const job_result *r = of;
	json_t *a = json_array();
	for (int i = 0; r->rank && i < r->size; i++)
		a = json_and(a, report_object(rank_fields, &r->rank[i], s));
	return a;
}

static json_t *version_json(const void *of, const report_source *s)
{
	(void)of;
	(void)s;
	return json_integer(1);
}

/* In ISO 8601. */
static json_t *time_json(time_t at)
{
	char date[40];
	struct tm tm;
	gmtime_r(&at, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_string(date);
}

static json_t *date_json(const void *of, const report_source *s)
{
	(void)of;
	(void)s;
	return time_json(time(NULL));
}

static json_t *started_json(const void *of, const report_source *s)
{
	(void)of;
	return time_json((time_t)s->o->started_s);
}

static json_t *status_json(const void *of, const report_source *s)
{
	static const char *const word[] = { "ok",       "invalid", "refused", "io",
					    "resource", "peer",    "internal" };
	const status st = ((const job_result *)of)->status;
	(void)s;
	return json_string((size_t)st < sizeof word / sizeof *word ? word[st] : "interrupted");
}

static json_t *signal_json(const void *of, const report_source *s)
{
	const status st = ((const job_result *)of)->status;
	(void)s;
	return st > ST_SIGNAL ? json_string(signals_name((int)st - ST_SIGNAL)) : json_null();
}

static json_t *command_json(const void *of, const report_source *s)
{
	json_t *a = json_array();
	(void)of;
	for (int i = 0; i < s->argc; i++)
		a = json_and(a, json_name(s->argv[i]));
	return a;
}

static json_t *inputs_json(const void *of, const report_source *s)
{
	json_t *a = json_array();
	(void)of;
	for (size_t i = 0; i < s->o->ninputs; i++)
		a = json_and(a, json_name(s->o->inputs[i]));
	return a;
}

static json_t *output_json(const void *of, const report_source *s)
{
	(void)of;
	return s->o->output ? json_name(s->o->output) : json_null();
}

const char *report_build(void)
{
	return HETSORT_BUILD;
}

static json_t *build_json(const void *of, const report_source *s)
{
	(void)of;
	(void)s;
	return json_name(report_build());
}

static json_t *commit_json(const void *of, const report_source *s)
{
	(void)of;
	return s->o->commit ? json_name(s->o->commit) : json_null();
}

static json_t *kernel_json(const void *of, const report_source *s)
{
	struct utsname u;
	(void)of;
	(void)s;
	if (uname(&u) != 0)
		memset(&u, 0, sizeof u);
	return json_string(u.release);
}

static json_t *comm_json(const void *of, const report_source *s)
{
	const char *kind = ((const job_result *)of)->comm_kind;
	(void)s;
	return json_string(kind ? kind : "");
}

static json_t *balance_json(const void *of, const report_source *s)
{
	(void)s;
	return json_real(report_balance(of));
}

static json_t *sum_json(const void *of, const report_source *s)
{
	(void)s;
	return json_checksum(((const job_result *)of)->sum);
}

static json_t *sum_out_json(const void *of, const report_source *s)
{
	(void)s;
	return json_checksum(((const job_result *)of)->sum_out);
}

static json_t *dropped_json(const void *of, const report_source *s)
{
	const job_result *r = of;
	(void)s;
	return r->status == ST_OK ? json_integer((json_int_t)(r->records - r->out)) : json_null();
}

/* What is worth telling beside the failures. */
static json_t *notes_json(const void *of, const report_source *s)
{
	const job_result *r = of;
	(void)s;
	return r->note[0] ? json_and(json_array(), json_name(r->note)) : json_array();
}

/* One option, as its row says; a key has three members. */
static json_t *option_json(json_t *o, const option_row *r, const settings *set)
{
	const int64_t v = option_load(set, r->field);
	char key[KEY_TEXT_BYTES];
	if (r->kind == OPT_KEY) {
		o = json_with(o, "key_offset", json_integer(set->lay.key_off));
		o = json_with(o, "key_bytes", json_integer(set->lay.key_bytes));
		return json_with(o, "key", json_string(layout_key_text(&set->lay, key)));
	}
	if (r->kind == OPT_COUNT)
		return json_with(o, r->report.name,
				 set->count.bytes ? json_sprintf("%u,u%u%s", set->count.off,
								 8 * set->count.bytes,
								 set->count.little ? "le" : "be")
						  : json_null());
	if (r->kind == OPT_CHOICE)
		return json_with(o, r->report.name,
				 json_string(r->with_root && !set->from_root ? "" : r->choices[v]));
	if (r->kind == OPT_TEXT)
		return json_with(o, r->report.name, json_boolean(option_load(set, r->word.field)));
	return json_with(o, r->report.name, r->kind == OPT_SET ? json_boolean(v) : json_integer(v));
}

static json_t *config_json(const void *of, const report_source *s)
{
	json_t *o = json_object();
	(void)of;
	for (int place = 1; place <= OPTIONS_MAX; place++)
		for (size_t i = 0; i < option_count; i++)
			if (option_rows[i].report.place == place)
				o = option_json(o, &option_rows[i], s->o);
	return o;
}

static const report_field versions_fields[] = {
	{ "hetsort", SAYS(HETSORT_VERSION) },
	{ "compiler", SAYS(__VERSION__) },
	{ "build", MADE(build_json) },
	{ "commit", MADE(commit_json) },
	{ "kernel", MADE(kernel_json) },
	{ "ranks", MADE(comm_json) },
	{ .name = NULL },
};

const report_field report_fields[] = {
	{ "format", SAYS("hetsort-report") },
	{ "version", MADE(version_json) },
	{ "date", MADE(date_json) },
	{ "started", MADE(started_json) },
	{ "status", MADE(status_json) },
	{ "exit_code", JOB(status) },
	{ "signal", MADE(signal_json) },
	{ "command", MADE(command_json) },
	{ "inputs", MADE(inputs_json) },
	{ "output", MADE(output_json) },
	{ "versions", OBJECT(versions_fields) },
	{ "config", MADE(config_json) },
	{ "records", JOB(records) },
	{ "records_written", JOB(out), .when = drops },
	{ "records_dropped", MADE(dropped_json), .when = drops },
	{ "total_s", JOB(total_s) },
	{ "all_read_s", JOB(all_read_s) },
	{ "balance", MADE(balance_json) },
	{ "adapt", MADE(adapt_json), .when = adapted, .or_null = true },
	{ "progress", MADE(progress_json), .when = told },
	{ "exchange", MADE(exchange_json), .when = exchanges, .or_null = true },
	{ "checksum_kind", SAYS(CHECKSUM_NAME) },
	{ "checksum", MADE(sum_json) },
	{ "checksum_written", MADE(sum_out_json), .when = drops },
	{ "notes", MADE(notes_json) },
	{ "ranks", MADE(ranks_json) },
	{ .name = NULL },
};

/* ------------------------------------------------------------------------------ the tables */

static double all_phases_s(const rank_result *r)
{
	return report_busy_s(r) + r->phase_s[PH_EXCHANGE];
}

/* Sampling is part of it. */
static double split_s(const rank_result *r)
{
	return r->phase_s[PH_SAMPLE] + r->phase_s[PH_SPLIT];
}

/* Looking at files, too. */
static double plan_s(const rank_result *r)
{
	return r->phase_s[PH_DESCRIBE] + r->phase_s[PH_PLAN];
}

/* To disk, verifying, and final names. */
static double sync_s(const rank_result *r)
{
	return r->phase_s[PH_SYNC] + r->phase_s[PH_COMMIT];
}

/* For blocks of other ranks, and at the ends of phases. */
static double waited_s(const rank_result *r)
{
	return r->phase_s[PH_EXCHANGE] + r->wait_s;
}

static double planned_mb(const rank_result *r)
{
	return 1e-6 * (double)r->planned_bytes;
}

static double held_mb(const rank_result *r)
{
	return 1e-6 * (double)r->mem_peak_bytes;
}

static double merge_gb_per_s(const rank_result *r)
{
	return 1e-9 / r->rate.merge_s;
}

static double copy_gb_per_s(const rank_result *r)
{
	return 1e-9 / r->rate.copy_s;
}

static double sort_ns(const rank_result *r)
{
	return 1e9 * r->rate.sort_s;
}

#define PHASE(name, phase)                                                         \
	{                                                                          \
		name, RANK(phase_s[phase]), .width = 6, .digits = 3, .fixed = true \
	}
#define REAL(name, function, wide)                                                      \
	{                                                                               \
		name, .kind = FIELD_REAL, .make = function, .width = wide, .digits = 3, \
		      .fixed = true                                                     \
	}

const report_column report_plan_columns[] = {
	{ "rank", RANK(rank), .width = 5 },
	{ "host", RANK(host), .width = -16 },
	{ "speed", RANK(speed), .width = 8, .digits = 4 },
	{ "reads", RANK(planned_in), .width = 12 },
	{ "writes", RANK(planned_out), .width = 12 },
	{ "predicted s", RANK(predicted_s), .width = 11, .digits = 3, .fixed = true },
	{ "bound by", RANK(bound_by), .width = 9 },
	{ .heading = NULL },
};

const report_column report_result_columns[] = {
	{ "rank", RANK(rank), .width = 5 },
	{ "host", RANK(host), .width = -12 },
	{ "speed", RANK(speed), .width = 6, .digits = 3 },
	{ "reads", RANK(in), .width = 11 },
	{ "writes", RANK(out), .width = 11 },
	REAL("plan MB", planned_mb, 7),
	REAL("used MB", held_mb, 7),
	{ "plan s", RANK(predicted_s), .width = 6, .digits = 3, .fixed = true },
	REAL("took s", all_phases_s, 6),
	{ .heading = NULL },
};

const report_column report_phase_columns[] = {
	{ "rank", RANK(rank), .width = 5 },
	{ "host", RANK(host), .width = -9 },
	REAL("plan", plan_s, 6),
	PHASE("read", PH_READ),
	PHASE("sort", PH_SORT),
	REAL("split", split_s, 6),
	PHASE("merge", PH_MERGE),
	PHASE("write", PH_WRITE),
	REAL("sync", sync_s, 6),
	REAL("busy", report_busy_s, 6),
	REAL("wait", waited_s, 6),
	{ .heading = NULL },
};

const report_column report_rate_columns[] = {
	{ "rank", RANK(rank), .width = 5 }, { "host", RANK(host), .width = -16 },
	REAL("sort", sort_ns, 8),           REAL("merge", merge_gb_per_s, 8),
	REAL("copy", copy_gb_per_s, 8),     { .heading = NULL },
};
