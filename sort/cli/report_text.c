/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a person sees: the plan, the table of phases and ranks, the failures. */
#include "base/size.h"
#include "model/job_time.h"
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static void heading(const job_result *r, const settings *o, FILE *f)
{
	char b[SIZE_TEXT_BYTES], key[KEY_TEXT_BYTES];
	fprintf(f, "%" PRIu64 " record%s of %u byte%s (%s), key %s\n", r->records,
		plural(r->records), o->lay.record_bytes, plural(o->lay.record_bytes),
		size_text(r->records * o->lay.record_bytes, b), layout_key_text(&o->lay, key));
	fprintf(f, "%d rank%s (%s), plan %s, strategy %s\n", r->size, plural((uint64_t)r->size),
		r->comm_kind, plan_names[o->plan], strategy_names[o->strategy]);
}

static void explain_memory(const rank_result *k, int i, FILE *f)
{
	char need[SIZE_TEXT_BYTES], limit[SIZE_TEXT_BYTES], disk[SIZE_TEXT_BYTES];
	fprintf(f, "rank %d: %s of memory", i, size_text(k->planned_bytes, need));
	if (k->limit_bytes != UINT64_MAX)
		fprintf(f, ", limit %s", size_text(k->limit_bytes, limit));
	if (k->spill_runs)
		fprintf(f, "; in %" PRIu64 " run%s on disk, %s", k->spill_runs,
			plural(k->spill_runs), size_text(k->spill_bytes, disk));
	fputc('\n', f);
}

/* Where a limit comes from, once for ranks that follow each other and have the same one. */
static void explain_limit(const job_result *r, int i, FILE *f)
{
	const rank_result *k = &r->rank[i];
	if (k->limit_bytes != UINT64_MAX &&
	    (i + 1 == r->size || r->size > REPORT_ROWS || strcmp(k->limit_text, k[1].limit_text)))
		fprintf(f, "  %s\n", k->limit_text);
}

/* Of many ranks the one that takes most. */
static void explain_memories(const job_result *r, FILE *f)
{
	int most = 0;
	for (int i = 0; r->rank && i < r->size; i++)
		if (r->rank[i].planned_bytes > r->rank[most].planned_bytes)
			most = i;
	const bool all = r->size <= REPORT_ROWS;
	for (int i = all ? 0 : most; r->rank && i < (all ? r->size : most + 1); i++) {
		explain_memory(&r->rank[i], i, f);
		explain_limit(r, i, f);
	}
}

/* What was measured of each rank, where that was asked for. */
static void print_rates(const job_result *r, const settings *o, FILE *f)
{
	if (!o->calibrate)
		return;
	fprintf(f,
		"measured rates: sort in ns a record and unit of ln n, merge and copy in GB/s\n");
	report_rows(r, REPORT_RATES, f);
}

static double link_mb_per_s(const rank_result *k)
{
	return 1e-6 / k->rate.link_s;
}

static double disk_mb_per_s(const rank_result *k)
{
	return 1e-6 / k->rate.disk_s;
}

/* In MB/s, of each rank; of many the least and the most. */
static void print_each(const job_result *r, const char *what, const char *how,
		       double (*mb_per_s)(const rank_result *k), FILE *f)
{
	double least = INFINITY, most = 0;
	for (int i = 0; r->rank && i < r->size; i++) {
		least = fmin(least, mb_per_s(&r->rank[i]));
		most = fmax(most, mb_per_s(&r->rank[i]));
	}
	if (!(least < INFINITY))
		return; /* none is known */
	fprintf(f, "%s in MB/s, %s:", what, how);
	for (int i = 0; i < r->size && r->size <= REPORT_ROWS; i++)
		fprintf(f, " %.4g", mb_per_s(&r->rank[i]));
	if (r->size > REPORT_ROWS)
		fprintf(f, " %.4g to %.4g", least, most);
	fputc('\n', f);
}

/* How many ranks are bound by what, as far as that was planned. */
static void print_bottlenecks(const job_result *r, FILE *f)
{
	const char *sep = "bound by";
	for (int b = 0; b < BOTTLENECKS; b++) {
		const char *name = job_time_bound_name((bottleneck)b);
		int n = 0;
		for (int i = 0; r->rank && i < r->size; i++)
			n += strcmp(r->rank[i].bound_by, name) == 0;
		if (n) {
			fprintf(f, "%s the %s: %d rank%s", sep, name, n, plural((uint64_t)n));
			sep = ", by";
		}
	}
	if (*sep == ',')
		fputc('\n', f);
}

/* The rates of the links, where rank 0 scatters the input from there. */
static void print_links(const job_result *r, const settings *o, FILE *f)
{
	print_each(r, "links", o->links ? "as given" : "measured", link_mb_per_s, f);
	print_each(r, "disks", "as given", disk_mb_per_s, f);
	if (!o->from_root || r->size == 1)
		return;
	fprintf(f, "input from rank 0, scatter %s; links in MB/s, %s:", scatter_names[o->scatter],
		o->links ? "as given" : "measured");
	for (int i = 1; r->rank && i < r->size; i++)
		fprintf(f, " %.4g", 1e-6 / r->rank[i].link_s);
	fputc('\n', f);
}

static void print_trial(const char *what, const io_stats *t, FILE *f)
{
	if (t->uring_bytes_per_s > 0)
		fprintf(f, "\n  %s: %.3f GB/s by uring, %.3f by threads", what,
			1e-9 * t->uring_bytes_per_s, 1e-9 * t->calls_bytes_per_s);
}

static bool was_tried(const rank_result *k)
{
	return k->io[0].uring_bytes_per_s > 0 || k->io[1].uring_bytes_per_s > 0;
}

/* By which way each rank reads and writes, where it is not as on the rank before it. */
static void print_io(const job_result *r, const settings *o, FILE *f)
{
	for (int i = 0; r->rank && i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		const char *read = io_names[k->io[0].method];
		const char *write = io_names[k->io[1].method];
		if (i > 0 && !was_tried(k) && !was_tried(k - 1) &&
		    k->io[0].method == k[-1].io[0].method &&
		    k->io[1].method == k[-1].io[1].method && strcmp(k->io_text, k[-1].io_text) == 0)
			continue;
		fprintf(f, "rank %d: files read by %s, written by %s", i, read, write);
		print_trial("reads", &k->io[0], f);
		print_trial("writes", &k->io[1], f);
		if (k->io_text[0])
			fprintf(f, "\n  no uring: %s", k->io_text);
		else if (o->explain && o->io == IO_AUTO)
			fprintf(f, "\n  the input past the page cache by uring; writes past it as "
				   "well,\n  unless a trial in the run shows otherwise");
		fputc('\n', f);
	}
}

static bool placed_as_before(const rank_result *k)
{
	return k->threads == k[-1].threads && k->binding == k[-1].binding &&
	       strcmp(k->processors, k[-1].processors) == 0 &&
	       strcmp(k->numa_nodes, k[-1].numa_nodes) == 0;
}

static void print_place(const rank_result *k, FILE *f)
{
	static const char *const is[NUMA_BINDINGS] = { "", "bound to ", "each bound to one of " };
	char nodes[NUMA_TEXT_BYTES + 64] = "";
	const int used =
		fprintf(f, "rank %d: %d thread%s, processors %s", k->rank, k->threads,
			plural((uint64_t)k->threads), k->processors[0] ? k->processors : "unknown");
	if (k->numa_nodes[0])
		(void)snprintf(nodes, sizeof nodes, "%sNUMA node%s %s", is[k->binding],
			       k->numa_nodes[strspn(k->numa_nodes, "0123456789")] ? "s" : "",
			       k->numa_nodes);
	if (nodes[0])
		fprintf(f, "%s%s", used + strlen(nodes) + 2 > 80 ? "\n  " : ", ", nodes);
	fputc('\n', f);
}

/* Where each rank runs, where it is not as on the rank before it; of many the first ones. */
static void print_places(const job_result *r, FILE *f)
{
	int lines = 0;
	for (int i = 0; r->rank && i < r->size && lines < REPORT_ROWS; i++) {
		const rank_result *k = &r->rank[i];
		if (i > 0 && placed_as_before(k))
			continue;
		print_place(k, f);
		lines++;
	}
}

static void print_exchange(const job_result *r, FILE *f)
{
	static const char *const way[EXCHANGE_WAYS] = {
		[EXCHANGE_TWO_LEVEL] = "two-level: records go to groups of ranks first",
		[EXCHANGE_CHEAPER] = "direct, which takes less time",
		[EXCHANGE_ASKED] = "direct, as asked for",
		[EXCHANGE_NO_OTHER] = "direct, the only way with other options or this input",
		[EXCHANGE_NO_MEMORY] = "direct, as memory holds no second copy of the records",
		[EXCHANGE_FEW_MESSAGES] = "direct, as ranks have something for few others, "
					  "or one would get too much",
	};
	if (r->rank && r->rank->exchange != EXCHANGE_NONE)
		fprintf(f, "exchange %s\n", way[r->rank->exchange]);
}

void report_plan(const job_result *r, const settings *o, FILE *f)
{
	heading(r, o, f);
	report_rows(r, REPORT_PLAN, f);
	double last = 0;
	for (int i = 0; r->rank && i < r->size; i++)
		last = r->rank[i].predicted_s > last ? r->rank[i].predicted_s : last;
	explain_memories(r, f);
	print_places(r, f);
	if (r->size > REPORT_ROWS)
		print_bottlenecks(r, f);
	print_exchange(r, f);
	fprintf(f, "predicted makespan %.3f s, at %s\n", last,
		o->calibrate ? "measured rates" : "the nominal rates of a rank of speed 1");
	print_io(r, o, f);
	print_rates(r, o, f);
	print_links(r, o, f);
}

static void print_spill(const job_result *r, FILE *f)
{
	char b[SIZE_TEXT_BYTES];
	uint64_t runs = 0, bytes = 0;
	int ranks = 0;
	for (int i = 0; r->rank && i < r->size; i++) {
		ranks += r->rank[i].spill_runs > 0;
		runs += r->rank[i].spill_runs;
		bytes += r->rank[i].spill_bytes;
	}
	if (ranks)
		fprintf(f, "spilled to disk: %s in %" PRIu64 " run%s, by %d of %d rank%s\n",
			size_text(bytes, b), runs, plural(runs), ranks, r->size,
			plural((uint64_t)r->size));
}

static void left_out_line(const rank_result *k, FILE *f)
{
	const uint64_t n = k->runs_again;
	fprintf(f, "rank %d: no room in %s: left out", k->rank, k->left_out);
	if (n)
		fprintf(f, ", %" PRIu64 " run%s written again elsewhere", n, plural(n));
	fputc('\n', f);
}

/* Directories for runs that had no room, where they are not as on the rank before. */
static void print_left_out(const job_result *r, FILE *f)
{
	for (int i = 0; r->rank && i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		if (k->left_out[0] &&
		    (i == 0 || k->runs_again || strcmp(k->left_out, k[-1].left_out)))
			left_out_line(k, f);
	}
}

/* What --adapt saw of one rank, and made of it. */
static void adapt_line(const rank_result *k, FILE *f)
{
	fprintf(f, "rank %d: speed %.3g while reading, planned %.3g; writes %" PRIu64, k->rank,
		k->speed_seen, k->speed, k->planned_out);
	if (k->planned_out != k->planned_out_before)
		fprintf(f, ", planned %" PRIu64, k->planned_out_before);
	fputc('\n', f);
}

/* The same of many. */
static void adapt_sum(const job_result *r, FILE *f)
{
	int more = 0, less = 0;
	double least = INFINITY, most = 0;
	for (int i = 0; i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		more += k->planned_out > k->planned_out_before;
		less += k->planned_out < k->planned_out_before;
		least = fmin(least, k->speed_seen);
		most = fmax(most, k->speed_seen);
	}
	fprintf(f, "speeds %.3g to %.3g while reading; %d rank%s more than planned, %d less\n",
		least, most, more, more == 1 ? " writes" : "s write", less);
}

static void adapt_lines(const job_result *r, FILE *f)
{
	static const char *const what[] = { "", "output shares stay as planned",
					    "output shares stay: a rank has no room for more",
					    "output shares changed" };
	if (!r->rank || r->rank->adapt_state == ADAPT_OFF)
		return;
	fprintf(f, "adapt: %s\n  predicted gain %.1f %% of the time left after reading\n",
		what[r->rank->adapt_state], 100 * r->rank->adapt_gain);
	for (int i = 0; i < r->size && r->size <= REPORT_ROWS; i++)
		adapt_line(&r->rank[i], f);
	if (r->size > REPORT_ROWS)
		adapt_sum(r, f);
}

/* What --resume found. */
static void resume_line(const char *who, const rank_result *k, FILE *f)
{
	char kept[SIZE_TEXT_BYTES], all[SIZE_TEXT_BYTES];
	fprintf(f, "%s: %" PRIu64 " of %" PRIu64 " run%s %s there, %s of %s not read again%s\n",
		who, k->kept_runs, k->spill_runs, plural(k->spill_runs),
		k->kept_runs == 1 ? "was" : "were", size_text(k->kept_bytes, kept),
		size_text(k->spill_bytes, all),
		k->merge_kept ? "\n  the output was complete, nothing was merged" : "");
}

static void resume_lines(const job_result *r, const settings *o, FILE *f)
{
	char who[24];
	rank_result sum = { .merge_kept = true };
	for (int i = 0; o->resume && r->rank && i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		(void)snprintf(who, sizeof who, "rank %d", i);
		if (r->size <= REPORT_ROWS)
			resume_line(who, k, f);
		sum.kept_runs += k->kept_runs;
		sum.spill_runs += k->spill_runs;
		sum.kept_bytes += k->kept_bytes;
		sum.spill_bytes += k->spill_bytes;
		sum.merge_kept &= k->merge_kept;
	}
	(void)snprintf(who, sizeof who, "%d ranks", r->size);
	if (o->resume && r->rank && r->size > REPORT_ROWS)
		resume_line(who, &sum, f);
}

void report_table(const job_result *r, const settings *o, FILE *f)
{
	char rate[SIZE_TEXT_BYTES];
	double verify = 0;
	uint64_t leftovers = 0;
	heading(r, o, f);
	report_rows(r, REPORT_RESULT, f);
	report_rows(r, REPORT_PHASES, f);
	for (int i = 0; r->rank && i < r->size; i++) {
		const rank_result *k = &r->rank[i];
		verify = k->verify_s > verify ? k->verify_s : verify;
		leftovers += k->leftovers;
	}
	fprintf(f, "total %.3f s, %s/s; balance %.3f; verification %.3f s of it\n", r->total_s,
		size_text(r->total_s > 0 ? (uint64_t)((double)r->records * o->lay.record_bytes /
						      r->total_s)
					 : 0,
			  rate),
		report_balance(r), verify);
	print_spill(r, f);
	print_left_out(r, f);
	print_io(r, o, f);
	adapt_lines(r, f);
	resume_lines(r, o, f);
	print_rates(r, o, f);
	print_links(r, o, f);
	if (leftovers)
		fprintf(f, "removed %" PRIu64 " temporary file%s of a job that was killed\n",
			leftovers, plural(leftovers));
	if (settings_drops(o))
		fprintf(f, "%" PRIu64 " record%s written, %" PRIu64 " dropped\n", r->out,
			plural(r->out), r->records - r->out);
	fprintf(f, "checksum %016" PRIx64 "%016" PRIx64 ", input = output%s\n", r->sum.hi,
		r->sum.lo, settings_drops(o) ? " and dropped" : "");
}

void report_summary(const job_result *r, const settings *o, FILE *f)
{
	char size[SIZE_TEXT_BYTES], rate[SIZE_TEXT_BYTES];
	const uint64_t bytes = r->records * o->lay.record_bytes;
	const double per_s = r->total_s > 0 ? (double)bytes / r->total_s : 0;
	fprintf(f, "hetsort: %" PRIu64 " records, %s, in %.1f s, %s/s, balance %.2f\n", r->records,
		size_text(bytes, size), r->total_s, size_text((uint64_t)per_s, rate),
		report_balance(r));
	if (settings_drops(o))
		fprintf(f, "hetsort: %" PRIu64 " record%s written, %" PRIu64 " dropped\n", r->out,
			plural(r->out), r->records - r->out);
}

/* Compare two sentences except for numbers, and for names in quotes if any will do: each rank has a
 * share and files of its own. */
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

static bool failed_alike(const rank_result *a, const rank_result *b)
{
	return a->status != ST_OK && b->status != ST_OK && same_words(a->text, b->text, true);
}

static bool said_before(const job_result *r, int i)
{
	for (int k = i - 1; k >= 0; k--)
		if (failed_alike(&r->rank[k], &r->rank[i]))
			return true;
	return false;
}

/* The failure of one or more ranks. */
typedef struct failure {
	const rank_result *first;
	const char *text; /* of several ranks that lack memory, the one that lacks most */
	int more;         /* ranks that failed alike */
	bool one_name;    /* about the same file */
} failure;

static failure failure_of(const job_result *r, int i)
{
	const rank_result *most = &r->rank[i];
	failure f = { .first = most, .one_name = true };
	for (int k = i + 1; k < r->size; k++) {
		const rank_result *other = &r->rank[k];
		if (!failed_alike(other, f.first))
			continue;
		f.more++;
		f.one_name &= same_words(other->text, f.first->text, false);
		if (other->wanted_bytes > most->wanted_bytes)
			most = other;
	}
	f.text = most->text;
	return f;
}

/* Before anything is read a message names the file or option that is wrong: which rank says so
 * matters only where others do not. */
static void print_failed(const job_result *r, const failure *of, FILE *f)
{
	const rank_result *k = of->first;
	const bool by_all = of->more + 1 == r->job_ranks;
	const bool refused = k->status == ST_REFUSED || k->wanted_bytes > 0;
	const bool early = refused || (k->status == ST_RESOURCE && k->phase <= PH_PLAN);
	const bool named = k->wanted_bytes > 0 || strchr(of->text, '\'');
	const bool bare =
		r->job_ranks <= 1 || (early && by_all) || (refused && named && r->processes <= 1);
	fputs("hetsort: ", f);
	if (!bare)
		fprintf(f, "rank %d", k->rank);
	if (!bare && r->processes > 1)
		fprintf(f, " (%s)", k->host);
	if (!bare && k->status != ST_REFUSED)
		fprintf(f, ", %s", phase_doing((phase)k->phase));
	fprintf(f, "%s%s", bare ? "" : ": ", of->text);
	if (of->more && !(bare && by_all && of->one_name))
		fprintf(f, " (and on %d more rank%s)", of->more, plural((uint64_t)of->more));
	fputc('\n', f);
}

void report_errors(const job_result *r, FILE *f)
{
	for (int i = 0; r->rank && i < r->size; i++) {
		if (r->rank[i].status == ST_OK || said_before(r, i))
			continue;
		const failure of = failure_of(r, i);
		print_failed(r, &of, f);
	}
}
