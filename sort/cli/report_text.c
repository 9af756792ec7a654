/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the report for people: the plan, the table of phases and ranks, the failures. */
#include "base/size.h"
#include "model/job_time.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Print what is sorted, and by how many ranks. */
static void report_heading(const job_result *r, const settings *o, FILE *f)
{
	char b[SIZE_TEXT_BYTES], key[KEY_TEXT_BYTES];
	fprintf(f, "%" PRIu64 " record%s of %u byte%s (%s), key %s\n", r->records,
		plural(r->records), o->lay.record_bytes, plural(o->lay.record_bytes),
		size_text(r->records * o->lay.record_bytes, b), layout_key_text(&o->lay, key));
	if (r->scale > 0)
		fprintf(f, "simulated, scale %g: each record that was sorted stands for %g\n",
			r->scale, r->scale);
	fprintf(f, "%d rank%s (%s), plan %s, strategy %s\n", r->size, plural((uint64_t)r->size),
		r->comm_kind, plan_names[o->plan], strategy_names[o->strategy]);
}

/* Print which part of the output and of runs is files in memory, which --memory does not count. */
static void print_files_in_memory(const char *before, const rank_result *k, FILE *f)
{
	char out[SIZE_TEXT_BYTES], runs[SIZE_TEXT_BYTES];
	if (k->out_file_bytes)
		fprintf(f, "%s%s of output", before, size_text(k->out_file_bytes, out));
	if (k->run_file_bytes)
		fprintf(f, "%s%s of runs", k->out_file_bytes ? " and " : before,
			size_text(k->run_file_bytes, runs));
	if (k->out_file_bytes || k->run_file_bytes)
		fputs(" in files in memory", f);
}

/* Print the memory of each rank; of many ranks, only the rank that needs most. The source of a
 * limit is printed once for consecutive ranks with the same source. */
static void explain_memory(const job_result *r, FILE *f)
{
	char need[SIZE_TEXT_BYTES], limit[SIZE_TEXT_BYTES], disk[SIZE_TEXT_BYTES];
	const bool all = r->size <= REPORT_ROWS;
	int most = 0;
	if (r->scale > 1)
		return; /* not known */
	for (int i = 0; i < r->size; i++)
		if (r->rank[i].planned_bytes > r->rank[most].planned_bytes)
			most = i;
	for (int i = all ? 0 : most; i < (all ? r->size : most + 1); i++) {
		const rank_result *k = &r->rank[i];
		const bool limited = k->limit_bytes != UINT64_MAX;
		fprintf(f, "rank %d: %s of memory", i, size_text(k->planned_bytes, need));
		if (limited)
			fprintf(f, ", limit %s", size_text(k->limit_bytes, limit));
		if (k->spill_runs)
			fprintf(f, "; in %" PRIu64 " run%s%s, %s", k->spill_runs,
				plural(k->spill_runs), k->run_file_bytes ? "" : " on disk",
				size_text(k->spill_bytes, disk));
		print_files_in_memory("; ", k, f);
		fputc('\n', f);
		if (limited &&
		    (i + 1 == r->size || !all || strcmp(k->limit_text, k[1].limit_text) != 0))
			fprintf(f, "  %s\n", k->limit_text);
	}
}

/* Print a rate of each rank, - if it is not known; of many ranks, the least and the most. Its
 * inverse, the seconds per byte, is at this offset of rank_result. Print nothing if no rate is
 * known. */
static void print_each(const job_result *r, const char *what, const char *how, size_t at, FILE *f)
{
	double mb_per_s, cost, least = INFINITY, most = 0;
	char list[REPORT_ROWS * 24] = "";
	for (int i = 0; i < r->size; i++) {
		memcpy(&cost, (const char *)&r->rank[i] + at, sizeof cost);
		mb_per_s = 1e-6 / cost;
		if (cost > 0) {
			least = fmin(least, mb_per_s);
			most = fmax(most, mb_per_s);
		}
		if (r->size <= REPORT_ROWS && cost > 0)
			text_append(list, sizeof list, " %.4g", mb_per_s);
		else if (r->size <= REPORT_ROWS)
			text_append(list, sizeof list, " -");
	}
	if (r->size > REPORT_ROWS)
		text_append(list, sizeof list, " %.4g to %.4g", least, most);
	if (least < INFINITY)
		fprintf(f, "%s in MB/s, %s:%s\n", what, how, list);
}

/* Print the rates that were measured, what shares follow from if speeds were to be measured, what
 * they save, and the rates of links and disks. */
static void print_rates(const job_result *r, const settings *o, FILE *f)
{
	static const char *const shares[SHARES_ORIGINS] = {
		[SHARES_BY_EQUAL_SPEEDS] =
			"are equal: measured speeds differ by no more than their errors",
		[SHARES_BY_DOUBT] =
			"are equal: others would gain less than the errors of the rates can cost",
		[SHARES_BY_HASTE] = "are equal: the job is too short to measure speeds; --speeds "
				    "gives them",
		[SHARES_BY_PROCESSORS] =
			"follow from numbers of processors, links and disks: the "
			"job is too short\n  to measure speeds; --speeds gives them",
	};
	static const char *const by[RATE_ORIGINS] = { "nominal", "as given", "measured" };
	const rank_result *first = r->rank;
	if (r->rates_measured) {
		fputs("measured rates: sort in ns per record and unit of ln n, the others in "
		      "GB/s\n",
		      f);
		report_rows(r, REPORT_RATES, f);
	}
	if (r->size && shares[first->shares_by])
		fprintf(f, "shares %s\n", shares[first->shares_by]);
	if (r->size && first->both_s[1] > 1.005 * first->both_s[0])
		fprintf(f, "predicted: equal shares would take %.3g times as long\n",
			first->both_s[1] / first->both_s[0]);
	print_each(r, "links", r->size ? by[first->links_by] : "",
		   offsetof(rank_result, rate.link_s), f);
	print_each(r, "disks", r->size ? by[first->disk_by] : "",
		   offsetof(rank_result, rate.disk_s), f);
	if (!o->from_root || r->size == 1)
		return;
	fprintf(f, "input from rank 0, scatter %s; links in MB/s, %s:", scatter_names[o->scatter],
		by[o->links ? RATE_GIVEN : RATE_MEASURED]);
	for (int i = 1; i < r->size; i++)
		fprintf(f, " %.4g", 1e-6 / r->rank[i].link_s);
	fputc('\n', f);
}

/* Print where each rank runs, unless the preceding rank runs in the same way; at most REPORT_ROWS
 * lines. */
static void print_places(const job_result *r, FILE *f)
{
	static const char *const is[NUMA_BINDINGS] = { "", "bound to ", "each bound to one of " };
	int lines = 0;
	for (int i = 0; i < r->size && lines < REPORT_ROWS; i++) {
		const rank_result *k = &r->rank[i];
		const char *nodes = k->numa_nodes;
		char text[NUMA_TEXT_BYTES + 64];
		if (i > 0 && k->threads == k[-1].threads && k->binding == k[-1].binding &&
		    strcmp(k->processors, k[-1].processors) == 0 &&
		    strcmp(nodes, k[-1].numa_nodes) == 0)
			continue;
		const int used = fprintf(f, "rank %d: %d thread%s, processors %s", k->rank,
					 k->threads, plural((uint64_t)k->threads),
					 k->processors[0] ? k->processors : "unknown");
		(void)snprintf(text, sizeof text, "%sNUMA node%s %s", is[k->binding],
			       nodes[strspn(nodes, "0123456789")] ? "s" : "", nodes);
		if (nodes[0])
			fprintf(f, "%s%s", used + strlen(text) + 2 > 80 ? "\n  " : ", ", text);
		fputc('\n', f);
		lines++;
	}
}

/* Print the lanes of each rank, unless the preceding rank has the same number and reason; at most
 * REPORT_ROWS lines. */
static void print_lanes(const job_result *r, FILE *f)
{
	int lines = 0;
	for (int i = 0; i < r->size && lines < REPORT_ROWS; i++) {
		const rank_result *k = &r->rank[i];
		if (!k->lanes_why[0] || (i > 0 && k->lanes == k[-1].lanes &&
					 strcmp(k->lanes_why, k[-1].lanes_why) == 0))
			continue;
		fprintf(f, "rank %d: %d lane%s (%s)\n", k->rank, k->lanes,
			plural((uint64_t)k->lanes), k->lanes_why);
		lines++;
	}
}

/* Print which resource is predicted to bound each rank; ranks with the same one together. */
static void print_bounds(const job_result *r, FILE *f)
{
	const char *sep = "predicted: bound by ";
	for (int i = 0, n; i < r->size; i += n) {
		const rank_result *k = &r->rank[i];
		for (n = 1; i + n < r->size && strcmp(k->bound_by, k[n].bound_by) == 0;)
			n++;
		if (!k->bound_by[0])
			continue;
		fprintf(f, "%s%s: rank%s %d", sep, k->bound_by, plural((uint64_t)n), i);
		if (n > 1)
			fprintf(f, " to %d", i + n - 1);
		sep = ", ";
	}
	if (*sep == ',')
		fputc('\n', f);
}

void report_plan(const job_result *r, const settings *o, FILE *f)
{
	const char *sep = "bound by";
	/* one rank may be the last to read, another the last to write */
	double last = r->size ? r->rank->both_s[0] : 0;
	report_heading(r, o, f);
	report_rows(r, REPORT_PLAN, f);
	for (int i = 0; i < r->size; i++)
		last = fmax(last, r->rank[i].predicted_s);
	explain_memory(r, f);
	print_places(r, f);
	print_lanes(r, f);
	for (int b = 0; r->size > REPORT_ROWS && b < BOTTLENECKS; b++) { /* count ranks */
		const char *name = job_time_bound_name((bottleneck)b);
		int n = 0;
		for (int i = 0; i < r->size; i++)
			n += strcmp(r->rank[i].bound_by, name) == 0;
		if (n) {
			fprintf(f, "%s the %s: %d rank%s", sep, name, n, plural((uint64_t)n));
			sep = ", by";
		}
	}
	if (*sep == ',')
		fputc('\n', f);
	fprintf(f,
		last < REPORT_LONG ? "predicted makespan %.3f s, at %s\n"
				   : "predicted makespan %.3g s, at %s\n",
		last,
		r->rates_measured ? "measured rates" : "the nominal rates of a rank of speed 1");
	print_rates(r, o, f);
}

/* Print directories for runs that became full, unless the preceding rank had the same ones. */
static void print_left_out(const job_result *r, FILE *f)
{
	for (int i = 0; i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		const uint64_t n = k->runs_again;
		if (!k->left_out[0] || (i > 0 && !n && strcmp(k->left_out, k[-1].left_out) == 0))
			continue;
		fprintf(f, "rank %d: no more room in %s", k->rank, k->left_out);
		if (n)
			fprintf(f, ": %" PRIu64 " run%s written again elsewhere", n, plural(n));
		fputc('\n', f);
	}
}

/* Print the speeds that ranks have shown while they read, and the new shares, if they changed; of
 * many ranks, a summary. */
static void print_adapt(const job_result *r, bool always, FILE *f)
{
	static const char *const what[] = { "", "output shares stay as planned",
					    "output shares stay: a rank has no room for more",
					    "output shares changed" };
	int more = 0, less = 0;
	double least = INFINITY, most = 0;
	if (r->size == 0 || r->rank->adapt_state == ADAPT_OFF ||
	    (r->rank->adapt_state == ADAPT_KEPT && !always))
		return;
	fprintf(f, "adapt: %s\n  predicted gain %.1f %% of the time left after reading\n",
		what[r->rank->adapt_state], 100 * r->rank->adapt_gain);
	for (int i = 0; i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		more += k->planned_out > k->planned_out_before;
		less += k->planned_out < k->planned_out_before;
		least = fmin(least, k->speed_seen);
		most = fmax(most, k->speed_seen);
		if (r->size > REPORT_ROWS)
			continue;
		fprintf(f, "rank %d: speed %.3g while reading, assumed %.3g; writes %" PRIu64,
			k->rank, k->speed_seen, k->speed, k->planned_out);
		if (k->planned_out != k->planned_out_before)
			fprintf(f, ", planned %" PRIu64, k->planned_out_before);
		fputc('\n', f);
	}
	if (r->size > REPORT_ROWS)
		fprintf(f,
			"speeds %.3g to %.3g while reading; %d rank%s more than planned, %d less\n",
			least, most, more, more == 1 ? " writes" : "s write", less);
}

/* Print what --resume found on each rank; of many ranks the sum. */
static void print_resumed(const job_result *r, const rank_result *sum, FILE *f)
{
	char kept[SIZE_TEXT_BYTES], all[SIZE_TEXT_BYTES];
	const bool each = r->size <= REPORT_ROWS;
	for (int i = 0; i < (each ? r->size : 1); i++) {
		const rank_result *k = each ? &r->rank[i] : sum;
		if (each)
			fprintf(f, "rank %d", i);
		else
			fprintf(f, "%d ranks", r->size);
		fprintf(f, ": %" PRIu64 " of %" PRIu64 " run%s found, %s of %s not read again%s\n",
			k->kept_runs, k->spill_runs, plural(k->spill_runs),
			size_text(k->kept_bytes, kept), size_text(k->spill_bytes, all),
			k->merge_kept ? "\n  the output was complete, nothing was merged" : "");
	}
}

/* Return the speed of the job as text. */
static const char *bytes_per_s(const job_result *r, const settings *o, char text[SIZE_TEXT_BYTES])
{
	const double bytes = (double)r->records * o->lay.record_bytes;
	return size_text(r->total_s > 0 ? (uint64_t)(bytes / r->total_s) : 0, text);
}

/* Print how many records were dropped, if the options may drop any. */
static void print_dropped(const char *who, const job_result *r, const settings *o, FILE *f)
{
	if (settings_drops(o))
		fprintf(f, "%s%" PRIu64 " record%s written, %" PRIu64 " dropped\n", who, r->out,
			plural(r->out), r->records - r->out);
}

void report_table(const job_result *r, const settings *o, FILE *f)
{
	char text[SIZE_TEXT_BYTES];
	rank_result sum = { .merge_kept = true };
	int spilled = 0;
	report_heading(r, o, f);
	report_rows(r, REPORT_RESULT, f);
	report_rows(r, REPORT_PHASES, f);
	for (int i = 0; i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		sum.verify_s = fmax(sum.verify_s, k->verify_s);
		sum.leftovers += k->leftovers;
		sum.kept_runs += k->kept_runs;
		sum.spill_runs += k->spill_runs;
		sum.kept_bytes += k->kept_bytes;
		sum.spill_bytes += k->spill_bytes;
		sum.out_file_bytes += k->out_file_bytes;
		sum.run_file_bytes += k->run_file_bytes;
		sum.merge_kept &= k->merge_kept;
		spilled += k->spill_runs > 0;
	}
	fprintf(f, "total %.3f s, %s/s; balance %.3f; verification %.3f s of it\n", r->total_s,
		bytes_per_s(r, o, text), report_balance(r), sum.verify_s);
	if (r->size && r->scale <= 0) {
		const report_use u = report_use_of(r, o);
		fprintf(f,
			"%.2f core-seconds, %.2f per GB, %.0f %% of %.3g processor%s; bound by the "
			"%s\n",
			u.core_s, u.core_s_per_gb, 100 * u.busy, u.processors,
			u.processors > 1 ? "s" : "", u.bound);
		if (strcmp(u.bound, "memory") == 0)
			fprintf(f,
				"%" PRIu64 " page faults of fresh memory took about %.2f "
				"core-seconds\n",
				u.faults, u.fault_s);
		if (u.joules >= 0)
			fprintf(f, "energy of all hosts %.1f J, %.2f J per GB\n", u.joules,
				u.joules_per_gb);
	}
	if (spilled)
		fprintf(f, "spilled%s: %s in %" PRIu64 " run%s, by %d of %d rank%s\n",
			sum.run_file_bytes ? "" : " to disk", size_text(sum.spill_bytes, text),
			sum.spill_runs, plural(sum.spill_runs), spilled, r->size,
			plural((uint64_t)r->size));
	print_files_in_memory("", &sum, f);
	if (sum.out_file_bytes || sum.run_file_bytes)
		fputc('\n', f);
	print_lanes(r, f);
	if (r->size > 1 && r->size <= REPORT_ROWS)
		print_bounds(r, f);
	print_left_out(r, f);
	print_adapt(r, o->adapt.when == ADAPT_ALWAYS, f);
	if (o->resume && r->size)
		print_resumed(r, &sum, f);
	print_rates(r, o, f);
	if (sum.leftovers)
		fprintf(f, "removed %u temporary file%s of a job that was killed\n", sum.leftovers,
			plural(sum.leftovers));
	print_dropped("", r, o, f);
	fprintf(f, "checksum %016" PRIx64 "%016" PRIx64 ", input = output%s\n", r->sum.hi,
		r->sum.lo, settings_drops(o) ? " and dropped" : "");
}

void report_summary(const job_result *r, const settings *o, FILE *f)
{
	char size[SIZE_TEXT_BYTES], rate[SIZE_TEXT_BYTES];
	fprintf(f, "hetsort: %" PRIu64 " records, %s, in %.1f s, %s/s, balance %.2f\n", r->records,
		size_text(r->records * o->lay.record_bytes, size), r->total_s,
		bytes_per_s(r, o, rate), report_balance(r));
	print_dropped("hetsort: ", r, o, f);
}

/* Return whether two messages differ at most in numbers and, if any_name, in quoted names. Each
 * rank has a share and files of its own. */
static bool same_words(const char *a, const char *b, bool any_name)
{
	static const char digits[] = "0123456789", stops[] = "0123456789'";
	for (;;) {
		const size_t n = strcspn(a, stops);
		if (n != strcspn(b, stops) || memcmp(a, b, n) != 0)
			return false;
		a += n;
		b += n;
		if (!*a || !*b || (*a == '\'') != (*b == '\''))
			return *a == *b;
		const bool name = *a == '\'';
		const size_t x = name ? 1 + strcspn(a + 1, "'") : strspn(a, digits);
		const size_t y = name ? 1 + strcspn(b + 1, "'") : strspn(b, digits);
		if (name && !any_name && (x != y || memcmp(a, b, x) != 0))
			return false;
		a += x + (name && a[x]);
		b += y + (name && b[y]);
	}
}

/* Return whether both ranks failed, with messages that differ only in names and numbers. */
static bool failed_alike(const rank_result *a, const rank_result *b)
{
	return a->status != ST_OK && b->status != ST_OK && same_words(a->text, b->text, true);
}

/* Return whether a rank refused, and the ranks agreed to refuse. */
static bool is_refusal(const job_result *r, const rank_result *k)
{
	return k->status == ST_REFUSED && r->status == ST_REFUSED;
}

/* Print the failure of rank i, and of the ranks after it that failed alike, in one line. */
static void report_failure(const job_result *r, int i, FILE *f)
{
	const rank_result *k = &r->rank[i];
	const rank_result *most = k; /* the rank that lacks most memory */
	int more = 0;
	bool one_name = true; /* all messages name the same file */
	for (int n = i + 1; n < r->size; n++) {
		const rank_result *other = &r->rank[n];
		if (!failed_alike(other, k))
			continue;
		more++;
		one_name &= same_words(other->text, k->text, false);
		most = other->wanted_bytes > most->wanted_bytes ? other : most;
	}
	/* Before anything is read, a message names the file or option that is wrong. Then the rank
	 * matters only if other ranks do not fail. */
	const bool refused = is_refusal(r, k) || k->wanted_bytes > 0;
	const bool early = refused || (k->status == ST_RESOURCE && k->phase <= PH_PLAN);
	const bool named = k->wanted_bytes > 0 || strchr(most->text, '\'');
	const bool bare = r->job_ranks <= 1 || (early && more + 1 == r->job_ranks) ||
			  (refused && named && r->processes <= 1);
	fputs("hetsort: ", f);
	if (!bare) {
		fprintf(f, "rank %d", k->rank);
		if (r->processes > 1)
			fprintf(f, " (%s)", k->host);
		if (!is_refusal(r, k))
			fprintf(f, ", %s", phase_doing((phase)k->phase));
		fputs(": ", f);
	}
	fputs(most->text, f);
	if (more && !(bare && more + 1 == r->job_ranks && one_name))
		fprintf(f, " (and on %d more rank%s)", more, plural((uint64_t)more));
	fputc('\n', f);
}

void report_errors(const job_result *r, FILE *f)
{
	for (int i = 0; i < r->size; i++) {
		int before = i - 1;
		while (before >= 0 && !failed_alike(&r->rank[before], &r->rank[i]))
			before--;
		if (r->rank[i].status != ST_OK && before < 0)
			report_failure(r, i, f);
	}
}
