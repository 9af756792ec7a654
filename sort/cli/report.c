/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON report: written on success and on failure alike, complete or not at all. */
#include "report.h"
#include "io/json.h"
#include "signals.h"

#include <string.h>
#include <sys/utsname.h>
#include <time.h>

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

static json_t *phases_json(const rank_result *r)
{
	json_t *o = json_object();
	for (int p = 0; p < PHASES; p++)
		o = json_with(o, phase_name((phase)p), json_real(r->phase_s[p]));
	return o;
}

static json_t *bytes_json(const rank_result *r)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I}", "read", (json_int_t)r->read_bytes,
			 "written", (json_int_t)r->written_bytes, "sent", (json_int_t)r->sent_bytes,
			 "received", (json_int_t)r->received_bytes, "arrays_peak",
			 (json_int_t)r->mem_peak_bytes, "process_peak",
			 (json_int_t)r->rss_peak_bytes);
}

static json_t *records_json(const rank_result *r)
{
	json_t *o = json_pack("{s:I, s:I, s:I, s:I}", "planned_in", (json_int_t)r->planned_in,
			      "planned_out", (json_int_t)r->planned_out, "in", (json_int_t)r->in,
			      "out", (json_int_t)r->out);
	return r->adapt_state == ADAPT_OFF
		       ? o
		       : json_with(o, "planned_out_before",
				   json_integer((json_int_t)r->planned_out_before));
}

/* Null without --adapt, or where the run ended before. */
static json_t *adapt_json(const job_result *r)
{
	static const char *const word[] = { "", "kept", "no room", "changed" };
	const rank_result *first = r->rank;
	if (!first || first->adapt_state == ADAPT_OFF)
		return json_null();
	return json_pack("{s:s, s:f}", "shares", word[first->adapt_state], "predicted_gain",
			 first->adapt_gain);
}

/* JSON's numbers are signed here: no limit is null. */
static json_t *memory_json(const rank_result *r)
{
	json_t *limit =
		r->limit_bytes > INT64_MAX ? json_null() : json_integer((json_int_t)r->limit_bytes);
	return json_pack("{s:o, s:s, s:I, s:I, s:I}", "limit_bytes", limit, "limit", r->limit_text,
			 "planned_bytes", (json_int_t)r->planned_bytes, "spill_bytes",
			 (json_int_t)r->spill_bytes, "spill_runs", (json_int_t)r->spill_runs);
}

/* What was there from an earlier program; null without --resume. */
static json_t *resume_json(const rank_result *r, const settings *o)
{
	const bool all = r->kept_runs > 0 && r->kept_runs == r->spill_runs;
	if (!o->resume)
		return json_null();
	return json_pack("{s:s, s:s, s:I, s:I}", "merge", r->merge_kept ? "done" : "no", "read",
			 all            ? "done"
			 : r->kept_runs ? "in part"
					: "no",
			 "runs", (json_int_t)r->kept_runs, "bytes_not_read",
			 (json_int_t)r->kept_bytes);
}

static json_t *rates_json(const rates *r)
{
	return json_pack("{s:f, s:f, s:f}", "sort_s_per_record_ln", r->sort_s, "merge_s_per_byte",
			 r->merge_s, "copy_s_per_byte", r->copy_s);
}

static json_t *io_stats_json(const io_stats *t)
{
	json_t *trial = t->uring_bytes_per_s > 0
				? json_pack("{s:f, s:f}", "uring_bytes_per_s", t->uring_bytes_per_s,
					    "threads_bytes_per_s", t->calls_bytes_per_s)
				: json_null();
	return json_pack("{s:s, s:I, s:o}", "way", io_names[t->method], "uring_bytes",
			 (json_int_t)t->uring_bytes, "trial", trial);
}

static json_t *io_json(const rank_result *r)
{
	return json_pack("{s:o, s:o, s:s}", "read", io_stats_json(&r->io[0]), "write",
			 io_stats_json(&r->io[1]), "no_uring", r->io_text);
}

static json_t *rank_json(const rank_result *r, const settings *opt)
{
	json_t *o = json_pack("{s:i, s:s, s:i, s:f, s:o, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:o, "
			      "s:o, s:o, s:o, s:i}",
			      "rank", (int)r->rank, "host", r->host, "pid", (int)r->pid, "speed",
			      r->speed, "rates", rates_json(&r->rate), "link_s_per_byte", r->link_s,
			      "predicted_s", r->predicted_s, "wait_s", r->wait_s, "verify_s",
			      r->verify_s, "move_s", r->move_s, "records", records_json(r), "bytes",
			      bytes_json(r), "phases_s", phases_json(r), "memory", memory_json(r),
			      "io", io_json(r), "resumed", resume_json(r, opt), "leftovers_removed",
			      (int)r->leftovers);
	if (r->speed_seen > 0)
		o = json_with(o, "speed_seen", json_real(r->speed_seen));
	if (r->status != ST_OK)
		o = json_with(o, "error",
			      json_pack("{s:i, s:s, s:o}", "code", r->status, "phase",
					phase_name((phase)r->phase), "message",
					json_name(r->text)));
	return o;
}

static json_t *ranks_json(const job_result *r, const settings *o)
{
	json_t *a = json_array();
	for (int i = 0; r->rank && i < r->size; i++)
		a = json_and(a, rank_json(&r->rank[i], o));
	return a;
}

static json_t *command_json(int argc, char *const *argv)
{
	json_t *a = json_array();
	for (int i = 0; i < argc; i++)
		a = json_and(a, json_name(argv[i]));
	return a;
}

static json_t *versions_json(const job_result *r)
{
	struct utsname u;
	if (uname(&u) != 0)
		memset(&u, 0, sizeof u);
	return json_pack("{s:s, s:s, s:s, s:s}", "hetsort", HETSORT_VERSION, "compiler",
			 __VERSION__, "kernel", u.release, "ranks",
			 r->comm_kind ? r->comm_kind : "");
}

static json_t *config_json(const settings *o)
{
	return json_pack("{s:s, s:b, s:s, s:s, s:s, s:i, s:b, s:b, s:i, s:i, s:i}", "plan",
			 plan_names[o->plan], "rates_measured", o->calibrate, "source",
			 o->from_root ? "root" : "all", "scatter",
			 o->from_root ? scatter_names[o->scatter] : "", "strategy",
			 strategy_names[o->strategy], "exchange_threads", (int)o->exchange_threads,
			 "stable", o->stable, "fsync", o->fsync, "record_bytes",
			 (int)o->lay.record_bytes, "key_offset", (int)o->lay.key_off, "key_bytes",
			 (int)o->lay.key_bytes);
}

static const char *status_word(status s)
{
	static const char *const word[] = { "ok",       "invalid", "refused", "io",
					    "resource", "peer",    "internal" };
	return (size_t)s < sizeof word / sizeof *word ? word[s] : "interrupted";
}

static json_t *signal_json(status s)
{
	return s > ST_SIGNAL ? json_string(signals_name((int)s - ST_SIGNAL)) : json_null();
}

/* The report of a run that has something to say beside its failures. */
static json_t *notes_json(const job_result *r)
{
	return r->note[0] ? json_and(json_array(), json_name(r->note)) : json_array();
}

static json_t *report_json(const job_result *r, const settings *o, int argc, char *const *argv)
{
	char date[40];
	const time_t now = time(NULL);
	struct tm tm;
	gmtime_r(&now, &tm);
	strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &tm);
	return json_pack("{s:s, s:i, s:s, s:s, s:i, s:o, s:o, s:o, s:o, s:I, s:f, s:f, s:f, s:o, "
			 "s:s, s:o, s:o, s:o}",
			 "format", "hetsort-report", "version", 1, "date", date, "status",
			 status_word(r->status), "exit_code", (int)r->status, "signal",
			 signal_json(r->status), "command", command_json(argc, argv), "versions",
			 versions_json(r), "config", config_json(o), "records",
			 (json_int_t)r->records, "total_s", r->total_s, "all_read_s", r->all_read_s,
			 "balance", report_balance(r), "adapt", adapt_json(r), "checksum_kind",
			 CHECKSUM_NAME, "checksum", json_checksum(r->sum), "notes", notes_json(r),
			 "ranks", ranks_json(r, o));
}

status report_write(const job_result *r, const settings *o, int argc, char *const *argv,
		    const char *path, err *e)
{
	target t;
	status rc = target_open(&t, path, e);
	if (rc == ST_OK)
		rc = target_check(&t, true, e);
	if (rc == ST_OK) /* who is about to be killed does not wait for a disk */
		rc = json_write(report_json(r, o, argc, argv), &t, true,
				o->fsync && r->status < ST_SIGNAL, e);
	target_discard(&t);
	return rc;
}
