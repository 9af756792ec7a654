/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The property matrix: for any distribution, size, number of ranks, strategy, exchange mode and
 * speeds, the output is sorted, a permutation of the input, stable, and cut exactly at the planned
 * shares. Ranks are threads, or processes if an MPI launcher starts this test.
 *   MATRIX_MAX_MSG=BYTES  longest message       MATRIX_MAX_RECORDS=N  omit larger sizes
 *   HETSORT_LONG=1        every case and 8 ranks too, over MPI a ninth of them; else a sample with
 * every pair of distribution, size or layout, ranks, strategy, exchange threads, speeds, plan,
 * source and adapting; over MPI a third of that, with every pair but some of distribution or size
 * with plan or source */
#include "base/clock.h"
#include "job.h"
#include "distributions.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { LARGE = 100003, INDEX_BYTES = 8, NOT_DEALT = -1 };

/* ---------------------------------------------------------------------------------- one case */

static const struct speeds {
	const char *name;
	double slow; /* speed of every second rank; 0: no speeds given */
} speed_sets[] = { { "equal", 0 }, { "1:0.667", 0.667 }, { "1:10", 10 } };

typedef struct test_case {
	const struct distribution *d;
	layout lay;
	size_t n;
	int p;
	strategy strategy;
	unsigned threads;
	const struct speeds *speeds;
	plan_kind plan;
	int scatter; /* from rank 0, as scatter_kind; NOT_DEALT: every rank reads */
	bool adapt;  /* whatever it promises */
} test_case;

typedef struct bench {
	const char *in, *out, *wisdom; /* paths */
	unsigned char *input, *output;
	size_t bytes;
	job_result res;
	settings o;
} bench;

/* Make a record with the key from value v, repeated in later bytes, and its index if it fits. */
static void make_record(unsigned char *rec, const layout *l, uint64_t v, size_t i)
{
	unsigned char big[8];
	for (int b = 0; b < 8; b++)
		big[b] = (unsigned char)(v >> (56 - 8 * b));
	memset(rec, 0x5a, l->record_bytes);
	for (uint32_t k = 0; k < l->key_bytes; k++)
		rec[l->key_off + k] = big[k % 8];
	if (l->record_bytes - l->key_bytes >= INDEX_BYTES) {
		const uint64_t index = i;
		memcpy(l->key_off >= INDEX_BYTES ? rec : rec + l->record_bytes - INDEX_BYTES,
		       &index, INDEX_BYTES);
	}
}

static bool has_index(const layout *l)
{
	return l->record_bytes - l->key_bytes >= INDEX_BYTES;
}

static uint64_t index_of(const unsigned char *rec, const layout *l)
{
	uint64_t i;
	memcpy(&i, l->key_off >= INDEX_BYTES ? rec : rec + l->record_bytes - INDEX_BYTES,
	       INDEX_BYTES);
	return i;
}

static bool write_file(const char *path, const unsigned char *data, size_t bytes)
{
	FILE *f = fopen(path, "wb");
	const bool ok = f && fwrite(data, 1, bytes, f) == bytes;
	return (f ? fclose(f) == 0 : false) && ok;
}

static bool read_file(const char *path, unsigned char *data, size_t bytes)
{
	struct stat st;
	FILE *f = fopen(path, "rb");
	const bool ok = f && fstat(fileno(f), &st) == 0 && (size_t)st.st_size == bytes &&
			fread(data, 1, bytes, f) == bytes;
	if (f)
		fclose(f);
	return ok;
}

static layout compared; /* by by_bytes: qsort has no context */

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, compared.record_bytes);
}

/* Compare records without an index: input and output, sorted as plain bytes, must be equal. */
static bool same_multiset(bench *b, const layout *l, size_t n)
{
	compared = *l;
	unsigned char *copy = malloc(b->bytes + 1);
	if (!copy)
		return false;
	memcpy(copy, b->input, b->bytes);
	qsort(copy, n, l->record_bytes, by_bytes);
	qsort(b->output, n, l->record_bytes, by_bytes);
	const bool same = memcmp(copy, b->output, b->bytes) == 0;
	free(copy);
	return same;
}

/* Check records with an index: each input record is in the output once and unchanged. */
static const char *check_permutation(const bench *b, const layout *l, size_t n)
{
	const char *why = NULL;
	unsigned char *seen = calloc(n + 1, 1);
	if (!seen)
		return "no memory";
	for (size_t i = 0; i < n && !why; i++) {
		const unsigned char *rec = b->output + i * l->record_bytes;
		const uint64_t from = index_of(rec, l);
		if (from >= n || seen[from]++)
			why = "a record appears twice, or is not in the input";
		else if (memcmp(rec, b->input + from * l->record_bytes, l->record_bytes) != 0)
			why = "a record changed";
	}
	free(seen);
	return why;
}

static const char *check_order(const bench *b, const layout *l, size_t n, bool stable)
{
	for (size_t i = 1; i < n; i++) {
		const unsigned char *x = b->output + (i - 1) * l->record_bytes;
		const unsigned char *y = x + l->record_bytes;
		const int c = memcmp(x + l->key_off, y + l->key_off, l->key_bytes);
		if (c > 0)
			return "not sorted";
		if (c == 0 && stable && has_index(l) && index_of(x, l) > index_of(y, l))
			return "not stable";
	}
	return NULL;
}

/* Return the speed that determined a rank's share: the measured one if it changed the shares. */
static double speed_of(const rank_result *r)
{
	return r->adapt_state == ADAPT_CHANGED ? r->speed_seen : r->speed;
}

/* Check that with --adapt all ranks changed their shares or none did, and that speeds are reported.
 */
static const char *check_adapting(const bench *b, const test_case *t)
{
	uint64_t before = 0;
	for (int i = 0; i < t->p; i++) {
		const rank_result *r = &b->res.rank[i];
		if (r->adapt_state != b->res.rank[0].adapt_state)
			return "ranks differ on whether shares changed";
		if ((r->adapt_state != ADAPT_OFF) != (t->adapt && t->p > 1))
			return "adapted without --adapt, or not with it";
		if (r->adapt_state != ADAPT_OFF && !(r->speed_seen > 0))
			return "no speed was seen";
		if (r->adapt_state == ADAPT_KEPT && r->planned_out != r->planned_out_before)
			return "shares changed, but were reported as kept";
		before += r->planned_out_before;
	}
	return t->adapt && t->p > 1 && before != t->n ? "the first shares do not sum up" : NULL;
}

/* Return how long a rank that writes n records has to work, if its share follows a linear cost. */
static double linear_s(const rank_result *r, uint64_t n)
{
	return (double)n / speed_of(r);
}

/* Check that shares are exact to the record, and that shares by linear cost are optimal: no rank
 * could take one more record and still end before the last rank. */
static const char *check_shares(const bench *b, const test_case *t)
{
	double last = 0;
	uint64_t total = 0;
	for (int i = 0; i < t->p; i++) {
		const rank_result *r = &b->res.rank[i];
		if (r->out != r->planned_out || r->in != r->planned_in)
			return "a share differs from the plan";
		if (linear_s(r, r->out) > last)
			last = linear_s(r, r->out);
		total += r->out;
	}
	const bool changed = b->res.rank[0].adapt_state == ADAPT_CHANGED;
	/* the other methods weigh more than the speeds */
	const bool by_speed = t->plan != PLAN_NLOGN && t->plan != PLAN_ONLINE;
	const bool linear_out = !changed && (t->plan == PLAN_EQUAL || t->plan == PLAN_LINEAR ||
					     (t->strategy == BY_MERGING && by_speed));
	for (int i = 0; i < t->p && linear_out; i++)
		if (linear_s(&b->res.rank[i], b->res.rank[i].out + 1) < last * (1 - 1e-9))
			return "a share could be larger";
	return total == t->n ? NULL : "shares do not sum to the input";
}

/* Check that no rank held more than three times its data, in addition to windows and buffers. */
static const char *check_memory(const bench *b, const test_case *t)
{
	for (int i = 0; i < t->p; i++) {
		const rank_result *r = &b->res.rank[i];
		const uint64_t larger = r->in > r->out ? r->in : r->out;
		const uint64_t fixed = (UINT64_C(24) << 20) + (uint64_t)t->p * 8 * 65536;
		if (r->spill_runs) /* buffers of four workers; the data is too small to matter */
			return r->mem_peak_bytes > 128 << 20 ? "spilling took too much" : NULL;
		if (r->mem_peak_bytes > 3 * larger * t->lay.record_bytes + larger * 48 + fixed)
			return "a rank held more than three times its data";
	}
	return NULL;
}

static const char *judge(bench *b, const test_case *t)
{
	const char *why;
	if (b->res.status != ST_OK)
		return b->res.rank ? b->res.rank[0].text : "failed";
	if (!read_file(b->out, b->output, b->bytes))
		return "the output is missing or has the wrong size";
	if ((why = check_order(b, &t->lay, t->n, t->scatter != SCATTER_DYNAMIC)) ||
	    (why = check_shares(b, t)) || (why = check_adapting(b, t)) ||
	    (why = check_memory(b, t)))
		return why;
	if (has_index(&t->lay))
		return check_permutation(b, &t->lay, t->n);
	return same_multiset(b, &t->lay, t->n) ? NULL : "not the same records";
}

static status run_rank(comm *c, void *arg)
{
	bench *b = arg;
	job_result res = { .status = ST_OK };
	const status rc = job_execute(c, &b->o, &res);
	if (c->rank == 0)
		b->res = res;
	return rc;
}

static size_t max_message(void)
{
	const char *s = getenv("MATRIX_MAX_MSG");
	return s ? strtoul(s, NULL, 10) : 256 << 20;
}

/* List speeds: `slow` for every second rank, 1 for the others. */
static void list_speeds(const test_case *t, double slow, char *text, size_t bytes)
{
	size_t at = 0;
	for (int i = 0; i < t->p; i++)
		at += (size_t)snprintf(text + at, bytes - at, "%s%g", i ? "," : "",
				       i % 2 ? slow : 1.0);
}

/* Return whether this case spills to disk: on one rank the cases of --strategy distribute, on
 * several ranks the cases with one exchange thread. */
static bool spills(const test_case *t)
{
	return t->p == 1 ? t->strategy == BY_DISTRIBUTING : t->threads == 1 && t->p <= 4;
}

/* Return whether this case reads standard input: some cases of one rank, in memory or spilled. */
static bool from_stdin(const test_case *t)
{
	return t->p == 1 && t->threads == 2 && t->scatter == NOT_DEALT;
}

static status open_stdin(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const bool ok = fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO;
	if (fd > STDIN_FILENO)
		close(fd);
	return ok ? ST_OK : ST_IO;
}

/* Run the ranks of a case: threads, or the processes of the launcher. c is NULL without a launcher.
 */
static status run_ranks(comm *c, bench *b, const test_case *t)
{
	err e = { ST_OK, "" };
	char speeds[256], links[256];
	list_speeds(t, 50, links, sizeof links);
	const char *in = from_stdin(t) ? "-" : b->in;
	const bool on_disk = t->scatter != SCATTER_DYNAMIC && spills(t);
	const test_sizes sizes = {
		.bucket_recs = t->n % 2 ? 16 : 0,
		.sampled_bytes = t->threads ? 0 : 1,
		.run_recs = on_disk ? t->n / (size_t)t->p / 5 + 1 : 0,
		.lanes = 1 + (t->n + t->threads + t->lay.key_off) % 8,
	};
	b->o = (settings){ .inputs = &in,
			   .ninputs = 1,
			   .output = b->out,
			   .plan = t->plan,
			   .wisdom = b->wisdom,
			   .strategy = t->strategy,
			   .adapt = { .when = t->adapt ? ADAPT_ALWAYS : ADAPT_NEVER,
				      .gain = -1,
				      .saved_s = -1 },
			   .lay = t->lay,
			   .exchange_threads = t->threads,
			   .threads = 1 + t->threads,
			   .test_sizes = &sizes,
			   /* measured, they would take long with short messages */
			   .links = t->scatter == NOT_DEALT ? NULL : links,
			   .from_root = t->scatter != NOT_DEALT,
			   .scatter = t->scatter == NOT_DEALT ? SCATTER_EQUAL
							      : (scatter_kind)t->scatter,
			   .stable = t->scatter != SCATTER_DYNAMIC,
			   .force = true };
	if (t->speeds->slow) {
		list_speeds(t, t->speeds->slow, speeds, sizeof speeds);
		b->o.speeds = speeds;
	}
	if (from_stdin(t) && open_stdin(b->in) != ST_OK)
		return ST_IO;
	return c ? run_rank(c, b) : comm_local_run(t->p, run_rank, b, &e);
}

/* ------------------------------------------------------------------------------------ matrix */

typedef struct tally {
	comm *c; /* NULL: threads as ranks */
	int p;
	size_t points, failed;
	size_t jobs;                 /* the same on all ranks */
	size_t cases, case_failures; /* of the point under way */
	bench b;
} tally;

static const int ranks[] = { 1, 2, 3, 4, 7, 8 };

/* Number of ways to sort one input: strategies, exchange threads, speeds. */
enum { VARIANTS = 2 * 3 * (int)LEN(speed_sets) };

static bool is_root(const tally *y)
{
	return !y->c || y->c->rank == 0;
}

static void report_case(tally *y, const test_case *t, const char *why)
{
	y->case_failures++;
	printf("# %s n=%zu p=%d record=%u key=%u@%u %s threads=%u speeds=%s plan=%s%s scatter=%s: "
	       "%s\n",
	       t->d->name, t->n, t->p, t->lay.record_bytes, t->lay.key_bytes, t->lay.key_off,
	       t->strategy == BY_MERGING ? "merge" : "distribute", t->threads, t->speeds->name,
	       plan_names[t->plan], t->adapt ? " adapt" : "",
	       t->scatter == NOT_DEALT ? "none" : scatter_names[t->scatter], why);
}

static void run_case(tally *y, const test_case *t)
{
	const status rc = run_ranks(y->c, &y->b, t);
	y->cases++;
	y->jobs++;
	if (is_root(y)) {
		const char *why = judge(&y->b, t);
		if (!why && rc != ST_OK)
			why = "a rank failed";
		if (why)
			report_case(y, t, why);
		job_result_free(&y->b.res);
		(void)unlink(y->b.out);
	}
	if (y->c && comm_agree(y->c, ST_OK) != ST_OK)
		exit(1);
}

static bool prepare(tally *y, const test_case *t)
{
	rng r = { t->n * 131 + (uint64_t)t->p };
	bench *b = &y->b;
	b->bytes = t->n * t->lay.record_bytes;
	free(b->input);
	free(b->output);
	b->input = malloc(b->bytes + 1);
	b->output = malloc(b->bytes + 1);
	bool ok = b->input && b->output;
	for (size_t i = 0; ok && i < t->n; i++)
		make_record(b->input + i * t->lay.record_bytes, &t->lay,
			    t->d->value(&r, i, t->n, t->p), i);
	if (ok && is_root(y))
		ok = write_file(b->in, b->input, b->bytes);
	return (y->c ? comm_agree(y->c, ok ? ST_OK : ST_IO) == ST_OK : ok);
}

/* Return n, but at most MATRIX_MAX_RECORDS. */
static size_t most(size_t n)
{
	const char *s = getenv("MATRIX_MAX_RECORDS");
	const size_t limit = s ? strtoul(s, NULL, 10) : n;
	return n < limit ? n : limit;
}

/* A cell of the matrix: distribution, size or layout, and a number that varies the sample. */
typedef struct cell {
	size_t row, column, third;
} cell;

static size_t place_of_ranks(int p)
{
	size_t i = 0;
	while (i + 1 < LEN(ranks) && ranks[i] != p)
		i++;
	return i;
}

/* Return whether this variant is omitted. Without HETSORT_LONG, each cell has one variant, and only
 * every third of the large cells. The factors are chosen so that each pair of options is met. */
static bool sampled_out(const tally *y, const cell *at, size_t n, size_t variant)
{
	const size_t p = place_of_ranks(y->p);
	const size_t chosen = (p + 6 * at->third + 7 * at->column) % VARIANTS;
	const bool is_long = getenv("HETSORT_LONG");
	if (n > most(n))
		return true;
	if (is_long && !y->c)
		return false;
	if (n == LARGE && (at->row + p) % 3 != 0)
		return true;
	if (y->c && !is_long && n != LARGE && (at->row + at->column + 2 * p) % 3 != 0)
		return true;
	return is_long ? variant % 9 != chosen % 9 : variant != chosen;
}

/* Choose the plan: equal shares without speeds, otherwise the methods in turn. */
static plan_kind plan_of(const tally *y, const test_case *t)
{
	static const plan_kind methods[] = { PLAN_NLOGN, PLAN_LINEAR, PLAN_TAYLOR, PLAN_ASYMPTOTIC,
					     PLAN_ONLINE };
	return t->speeds->slow ? methods[y->jobs % LEN(methods)] : PLAN_EQUAL;
}

/* Choose the scatter: rank 0 scatters every third case, in each way in turn. */
static int scatter_of(const tally *y)
{
	static const int ways[] = { SCATTER_EQUAL, NOT_DEALT,     NOT_DEALT,       SCATTER_BALANCED,
				    NOT_DEALT,     NOT_DEALT,     SCATTER_DYNAMIC, NOT_DEALT,
				    NOT_DEALT,     SCATTER_SPEED, NOT_DEALT };
	return ways[y->jobs % LEN(ways)];
}

/* Sort one input with all strategies, modes and speeds. */
static void run_variants(tally *y, test_case t, cell at)
{
	size_t variant = 0;
	bool prepared = false;
	for (int s = 0; s < 2; s++)
		for (unsigned threads = 0; threads < 3; threads++)
			for (size_t k = 0; k < LEN(speed_sets); k++, variant++) {
				if (sampled_out(y, &at, t.n, variant))
					continue;
				if (!prepared && !(prepared = prepare(y, &t))) {
					report_case(y, &t, "the input cannot be made");
					return;
				}
				t.strategy = s ? BY_DISTRIBUTING : BY_MERGING;
				t.threads = threads;
				t.speeds = &speed_sets[k];
				t.plan = plan_of(y, &t);
				t.scatter = scatter_of(y);
				t.adapt = y->jobs % 3 == 1;
				run_case(y, &t);
			}
}

static void end_point(tally *y, const char *name)
{
	y->points++;
	if (!is_root(y))
		return;
	const bool ok = y->case_failures == 0 && y->cases > 0;
	printf("%s %zu - %s, %d ranks: %zu cases\n", ok ? "ok" : "not ok", y->points, name, y->p,
	       y->cases);
	fflush(stdout);
	y->failed += !ok;
	y->cases = y->case_failures = 0;
}

static void run_sizes(tally *y, size_t d)
{
	const layout standard = LAYOUT_BYTES(DEFAULT_RECORD_BYTES, 0, DEFAULT_KEY_BYTES);
	const size_t p = (size_t)y->p;
	const size_t sizes[] = { 0, 1, p - 1, p, p + 1, 100, 1000, 4095, 4096, 4097, LARGE };
	for (size_t i = 0; i < LEN(sizes); i++)
		run_variants(
			y,
			(test_case){
				.d = &distributions[d], .lay = standard, .n = sizes[i], .p = y->p },
			(cell){ d, i, d / 3 });
	end_point(y, distributions[d].name);
}

/* Try other layouts: the shortest and the longest records, keys at an offset, keys longer than in
 * an entry. */
static void run_layouts(tally *y)
{
	static const layout layouts[] = {
		LAYOUT_BYTES(1, 0, 1),         LAYOUT_BYTES(8, 0, 8),
		LAYOUT_BYTES(16, 3, 5),        LAYOUT_BYTES(40, 8, 32),
		LAYOUT_BYTES(100, 20, 10),     LAYOUT_BYTES(100, 12, 11),
		LAYOUT_BYTES(4096, 0, 10),     LAYOUT_BYTES(4096, 100, 3000),
		LAYOUT_BYTES(65536, 0, 65536),
	};
	static const size_t of_interest[] = { 0, 3, 6, 7 }; /* distributions */
	for (size_t l = 0; l < LEN(layouts); l++) {
		if (layouts[l].record_bytes > 500 * max_message())
			continue; /* each record would need too many messages */
		for (size_t d = 0; d < LEN(of_interest); d++)
			run_variants(
				y,
				(test_case){ .d = &distributions[of_interest[d]],
					     .lay = layouts[l],
					     .n = layouts[l].record_bytes > 4096 ? 40 : most(700),
					     .p = y->p },
				(cell){ d, l, d });
		char name[64];
		snprintf(name, sizeof name, "records of %u, key of %u at %u",
			 layouts[l].record_bytes, layouts[l].key_bytes, layouts[l].key_off);
		end_point(y, name);
	}
}

static void run_matrix(tally *y)
{
	for (size_t d = 0; d < LEN(distributions); d++)
		run_sizes(y, d);
	run_layouts(y);
}

static void set_paths(bench *b)
{
	static char in[4096], out[4096], wisdom[4096];
	const char *dir = getenv("TEST_TMP");
	if (!dir)
		dir = ".";
	snprintf(in, sizeof in, "%s/matrix.in", dir);
	snprintf(out, sizeof out, "%s/matrix.out", dir);
	snprintf(wisdom, sizeof wisdom, "%s/wisdom/", dir);
	b->wisdom = wisdom;
	b->in = in;
	b->out = out;
}

#ifdef HAVE_MPI
static status over_mpi(comm *c, void *arg)
{
	tally *y = arg;
	y->c = c;
	y->p = c->size;
	run_matrix(y);
	if (c->rank == 0)
		printf("1..%zu\n", y->points);
	return y->failed ? ST_INVALID : ST_OK;
}
#endif

int main(void)
{
	tally y = { .c = NULL };
	set_paths(&y.b);
#ifdef HAVE_MPI
	if (comm_mpi_launched()) {
		err e = { ST_OK, "" };
		return (int)comm_mpi_run(max_message(), over_mpi, &y, &e);
	}
#endif
	/* eight ranks show little that four and seven do not */
	const size_t numbers = getenv("HETSORT_LONG") ? LEN(ranks) : LEN(ranks) - 1;
	for (size_t i = 0; i < numbers; i++) {
		y.p = ranks[i];
		run_matrix(&y);
	}
	printf("1..%zu\n", y.points);
	free(y.b.input);
	free(y.b.output);
	return y.failed > 0;
}
