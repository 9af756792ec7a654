/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local_bench.c - measure sorting in memory: bucket_sort_records(), and the sorts of other
 * libraries, for several sizes of records and kinds of keys. In every round all sorts run one after
 * the other. A ratio compares two sorts of the same round. Each result is validated: the order, the
 * records, and stability if the sort is stable. A wrong result ends the program. Keys have 10
 * bytes, or 8 in records of 8 or 16 bytes.
 *
 * The floor is the work that no such sort can avoid: to read keys once, and to gather records once
 * in random order; short records are only copied once. Memory: input, output, and 48 bytes per
 * record. */
#include "bench.h"
#include "local.h"

#include <stdatomic.h>
#include <unistd.h>

#include "kernel/gather.h"
#include "kernel/bucket_sort.h"
#include "base/numa.h"
#include "base/pool.h"

#ifndef HAVE_PARTNERS /* no C++ compiler: only hetsort and the floor */
const partner PARTNERS[] = { { NULL, NULL, 0 } };
#endif

enum { ROUNDS = 31, SORTS = 24, LIST = 16, SHORT_BYTES = 32 };

/* ------------------------------------------------------------------------------ one input */

typedef struct input {
	shape shape;
	unsigned char *in, *out;
	void *scratch;
	entry *random; /* the random order in which the floor gathers records */
	size_t n;
	const char *kind;
	uint64_t sum; /* of the records, in any order */
	unsigned threads;
	size_t peak_bytes; /* memory of the last sort by hetsort */
} input;

static uint64_t word_at(const unsigned char *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t record_sum(const input *d, const unsigned char *rec)
{
	const size_t bytes = d->shape.record_bytes;
	uint64_t h = 0;
	for (size_t j = 0; j + WORD_BYTES <= bytes; j += WORD_BYTES)
		h = (h ^ word_at(rec + j)) * UINT64_C(0x9fb21c651e98df25) + (h >> 32);
	return mix(h ^ word_at(rec + bytes - WORD_BYTES));
}

/* Return whether a record contains its index after its key, so that stability can be checked. */
static int has_index(const shape *s)
{
	return s->record_bytes >= s->key_bytes + sizeof(uint64_t);
}

static void input_fill(input *d, const key_kind *kind)
{
	const shape *s = &d->shape;
	const size_t bytes = s->record_bytes;
	d->kind = kind->name;
	d->sum = 0;
	for (size_t i = 0; i < d->n; i++) {
		unsigned char *rec = d->in + i * bytes, key[KEY_MOST_BYTES];
		const uint64_t index = i;
		kind->key(i, d->n, key);
		memset(rec, (int)(i % 251), bytes);
		for (size_t j = 0; j < s->key_bytes; j++)
			rec[j] = key[s->little ? s->key_bytes - 1 - j : j];
		if (has_index(s))
			memcpy(rec + s->key_bytes, &index, sizeof index);
		d->sum += record_sum(d, rec);
	}
}

/* Return why the result is wrong, or NULL. */
static const char *result_error(const input *d, int ordered, int stable)
{
	const shape *s = &d->shape;
	const size_t bytes = s->record_bytes;
	uint64_t sum = 0;
	for (size_t i = 0; i < d->n; i++) {
		const unsigned char *rec = d->out + i * bytes, *before = rec - bytes;
		sum += record_sum(d, rec);
		if (i == 0 || !ordered)
			continue;
		int c = s->little ? 0 : memcmp(before, rec, s->key_bytes);
		for (size_t j = s->key_bytes; s->little && j-- > 0 && c == 0;)
			c = before[j] - rec[j];
		if (c > 0)
			return "not sorted";
		if (c == 0 && stable && has_index(s) &&
		    word_at(before + s->key_bytes) >= word_at(rec + s->key_bytes))
			return "not stable";
	}
	return sum == d->sum ? NULL : "other records than the input's";
}

/* Allocate an array, with huge pages if possible, and write to all its pages. */
static void *bench_array(size_t bytes)
{
	mem m = { 0 };
	err e = { 0 };
	void *p = mem_array(&m, bytes, 1, "benchmark", &e);
	if (!p)
		bench_stop("%s", e.text);
	memset(p, 1, bytes);
	return p;
}

/* ----------------------------------------------------------------------------------- sorts */

static records records_of(const input *d)
{
	const shape *s = &d->shape;
	records r = { .base = d->in, .lay = LAYOUT_BYTES(s->record_bytes, 0, s->key_bytes) };
	err e = { 0 };
	if (s->little && layout_parse(&r.lay, s->record_bytes, "0,u64le", &e) != ST_OK)
		bench_stop("%s", e.text);
	return r;
}

static void sort_by_hetsort(input *d, unsigned threads)
{
	const records r = records_of(d);
	mem m = { 0 };
	err e = { 0 };
	if (bucket_sort_records(&m, &r, d->n, d->out, threads, &e) != ST_OK)
		bench_stop("%s", e.text);
	d->peak_bytes = m.peak_bytes;
}

static numa *nodes; /* -B: bind threads to these */

static void sort_bound(input *d, unsigned threads)
{
	if (numa_plan(nodes, 1, 0, threads, true).binding == NUMA_UNBOUND || !numa_bind(nodes))
		bench_stop("cannot bind threads: this machine has one NUMA node; "
			   "HWLOC_SYNTHETIC can describe it as several");
	sort_by_hetsort(d, threads);
	pool_begin_with(NULL, NULL);
}

typedef struct floor_work {
	input *d;
	_Atomic size_t next;
	int extract;
} floor_work;

enum { PIECE = 1 << 14 };

static void floor_part(void *arg, unsigned worker)
{
	floor_work *w = arg;
	const records r = records_of(w->d);
	const size_t bytes = r.lay.record_bytes;
	entry *to = w->d->scratch;
	size_t at;
	(void)worker;
	while ((at = atomic_fetch_add(&w->next, PIECE)) < w->d->n) {
		const size_t n = w->d->n - at < PIECE ? w->d->n - at : PIECE;
		if (bytes <= SHORT_BYTES) {
			memcpy(w->d->out + at * bytes, w->d->in + at * bytes, n * bytes);
			continue;
		}
		if (!w->extract)
			gather(&r, w->d->random + at, n, w->d->n - at - n, w->d->out + at * bytes);
		for (size_t i = at; w->extract && i < at + n; i++)
			to[i] = entry_make(record_at(&r, i), &r.lay, i);
	}
}

static void sort_floor(input *d, unsigned threads)
{
	floor_work w = { .d = d, .extract = 1 };
	pool_run(threads, floor_part, &w);
	if (d->shape.record_bytes <= SHORT_BYTES)
		return;
	w.extract = 0;
	w.next = 0;
	pool_run(threads, floor_part, &w);
}

typedef struct local_entry {
	char name[40];
	const partner *p;                        /* NULL: a sort of this file */
	void (*own)(input *d, unsigned threads); /* if p is NULL */
	int ordered, stable;
	unsigned threads;
	double s[ROUNDS], cpu[ROUNDS];
} local_entry;

/* Return whether a name contains one of the words, separated by commas; true if words is NULL. */
static int contains(const char *name, const char *words)
{
	char word[sizeof((local_entry *)0)->name];
	for (size_t n; words; words = words[n] ? words + n + 1 : NULL) {
		n = strcspn(words, ",");
		snprintf(word, sizeof word, "%.*s", (int)n, words);
		if (strstr(name, word))
			return 1;
		if (!words[n])
			return 0;
	}
	return 1;
}

static size_t sorts_of(local_entry *s, const shape *of, unsigned threads, const char *filter)
{
	size_t n = 0, kept = 1; /* always keep hetsort, with which the others are compared */
	s[n++] = (local_entry){ .name = "hetsort",
				.own = sort_by_hetsort,
				.ordered = 1,
				.stable = 1,
				.threads = threads };
	if (nodes && threads > 1)
		s[n++] = (local_entry){ .name = "hetsort, bound",
					.own = sort_bound,
					.ordered = 1,
					.stable = 1,
					.threads = threads };
	s[n++] = (local_entry){ .name = "floor", .own = sort_floor, .threads = threads };
	for (const partner *p = PARTNERS; p->name && n < SORTS; p++) {
		s[n] = (local_entry){ .p = p,
				      .ordered = 1,
				      .stable = of->record_bytes != PAIR_BYTES,
				      .threads = p->parallel ? threads : 1 };
		snprintf(s[n].name, sizeof s[n].name, "%s%s", p->name,
			 s[n].threads > 1 || threads == 1 ? "" : ", 1 thread");
		n++;
	}
	for (size_t i = 1; i < n; i++)
		if (contains(s[i].name, filter))
			s[kept++] = s[i];
	return kept;
}

/* --------------------------------------------------------------------------------- results */

static const char *local_ratio(char text[static 24], double ratio)
{
	snprintf(text, 24, isnan(ratio) ? "-" : "%.2f", ratio);
	return text;
}

static void local_print(local_entry *s, const local_entry *first, const input *d, int rounds,
			FILE *json)
{
	double ratio[ROUNDS], cpu[ROUNDS], t[ROUNDS];
	for (int r = 0; r < rounds; r++) {
		ratio[r] = first->s[r] / s->s[r];
		cpu[r] = first->cpu[r] / s->cpu[r];
	}
	memcpy(t, s->s, sizeof t);
	const double mid = bench_median(t, (size_t)rounds),
		     of_first = bench_median(ratio, (size_t)rounds);
	const double cpu_of_first = bench_median(cpu, (size_t)rounds);
	printf("%5u %-13s %10zu  %-30s %2u %9.4f %9.4f %9.4f %7.2f %7.2f\n", d->shape.record_bytes,
	       d->kind, d->n, s->name, s->threads, t[0], mid, t[rounds - 1], of_first,
	       cpu_of_first);
	fflush(stdout);
	if (!json)
		return;
	fprintf(json,
		"{\"bench\":\"local\",\"version\":\"%s\",\"compiler\":\"%s\",\"kind\":\"%s\","
		"\"little\":%d,\"record_bytes\":%u,"
		"\"records\":%zu,\"sort\":\"%s\",\"threads\":%u,\"median_s\":%.6f,"
		"\"hetsort_to_it\":%.4f,\"cpu_hetsort_to_it\":%.4f,\"samples_s\":",
		HETSORT_VERSION, __VERSION__, d->kind, d->shape.little, d->shape.record_bytes, d->n,
		s->name, s->threads, mid, of_first, cpu_of_first);
	bench_print_list(json, s->s, rounds, 6);
	fprintf(json, ",\"samples_cpu_s\":");
	bench_print_list(json, s->cpu, rounds, 6);
	fprintf(json, "}\n");
	fflush(json);
}

typedef struct local_options {
	int rounds, little;
	size_t bytes[LIST], threads[LIST], records[LIST], mb;
	size_t n_bytes, n_threads, n_records;
	const char *kind, *sort;
	FILE *json;
} local_options;

static void local_measure(input *d, unsigned threads, const local_options *o)
{
	local_entry s[SORTS];
	const size_t n = sorts_of(s, &d->shape, threads, o->sort);
	for (int r = -1; r < o->rounds; r++) /* round -1 warms up */
		for (size_t i = 0; i < (r < 0 && n > 3 ? 3 : n); i++) {
			local_entry *const e = &s[i];
			const int round = r < 0 ? 0 : r;
			const double begin = bench_now_s(), cpu = cpu_s();
			if (e->p)
				e->p->sort(&d->shape, d->in, d->n, d->out, e->threads, d->scratch);
			else
				e->own(d, e->threads);
			e->s[round] = bench_now_s() - begin;
			e->cpu[round] = cpu_s() - cpu;
			const char *why = result_error(d, e->ordered, e->stable);
			if (why)
				bench_stop("%s, %s, %zu records: %s", e->name, d->kind, d->n, why);
		}
	for (size_t i = 0; i < n; i++)
		local_print(&s[i], &s[0], d, o->rounds, o->json);
	printf("%5u %-13s %10zu  memory in addition to input and output: %.4f of the data\n",
	       d->shape.record_bytes, d->kind, d->n,
	       (double)d->peak_bytes / ((double)d->n * d->shape.record_bytes));
	/* Print hetsort's median time, its ratios to the best partner and to the floor, and the
	 * name of this partner. */
	const local_entry *best = NULL;
	double mid[SORTS], floor_s = NAN, best_s = NAN;
	for (size_t i = 0; i < n; i++) {
		mid[i] = bench_median(s[i].s, (size_t)o->rounds);
		if (s[i].p && (!best || mid[i] < best_s)) {
			best = &s[i];
			best_s = mid[i];
		}
		if (!s[i].ordered)
			floor_s = mid[i];
	}
	char to_best[24], to_floor[24];
	printf("summary %5u %-13s %10zu %2u %9.4f %7s %7s  %s\n", d->shape.record_bytes, d->kind,
	       d->n, threads, mid[0], local_ratio(to_best, mid[0] / best_s),
	       local_ratio(to_floor, mid[0] / floor_s), best ? best->name : "-");
}

static void local_size(unsigned bytes, size_t n, const local_options *o)
{
	input d = { .n = n };
	d.shape.record_bytes = bytes;
	d.shape.little = o->little;
	d.shape.key_bytes = o->little || bytes <= PAIR_BYTES ? WORD_BYTES : KEY_MOST_BYTES;
	d.in = bench_array(n * bytes);
	d.out = bench_array(n * bytes);
	d.scratch = bench_array(n * 32);
	d.random = bench_array(n * sizeof *d.random);
	for (size_t i = 0; i < n; i++)
		d.random[i] = (entry){ 0, i };
	for (size_t i = n; i > 1; i--) {
		const size_t j = mix(i) % i;
		const entry was = d.random[i - 1];
		d.random[i - 1] = d.random[j];
		d.random[j] = was;
	}
	for (size_t k = 0; KINDS[k].name; k++)
		if (contains(KINDS[k].name, o->kind)) {
			input_fill(&d, &KINDS[k]);
			for (size_t t = 0; t < o->n_threads; t++)
				local_measure(&d, (unsigned)o->threads[t], o);
		}
	mem m = { .now_bytes = n * (2 * (size_t)bytes + 48) }; /* the size of all arrays */
	mem_free(&m, d.in);
	mem_free(&m, d.out);
	mem_free(&m, d.scratch);
	mem_free(&m, d.random);
}

static int local_usage(void)
{
	fprintf(stderr,
		"usage: local_bench [OPTION...] [RECORDS...]\n"
		"  -r ROUNDS       [5]\n"
		"  -t THREADS,...  [2]\n"
		"  -b BYTES,...    size of a record [100]\n"
		"  -m MB           size of the input, instead of RECORDS\n"
		"  -u              keys are numbers of 8 bytes, least significant byte first\n"
		"  -k KIND,...     only kinds of keys whose name contains one of these\n"
		"  -s SORT,...     only sorts whose name contains one of these, and hetsort\n"
		"  -B              also hetsort with its threads bound to NUMA nodes\n"
		"  -j FILE         write all samples, as JSON lines\n"
		"kinds:");
	for (const key_kind *k = KINDS; k->name; k++)
		fprintf(stderr, " %s", k->name);
	fprintf(stderr, "\n");
	return 2;
}

/* Read numbers separated by commas. Return their number, or 0 if the text is not such a list. */
static size_t list_of(const char *text, size_t *v)
{
	size_t n = 0;
	char *end;
	for (;; text = end + 1) {
		const double x = strtod(text, &end);
		if (n == LIST || end == text || !(x >= 1 && x <= 1e12))
			return 0;
		v[n++] = (size_t)x;
		if (*end != ',')
			return *end ? 0 : n;
	}
}

static int bytes_are_supported(const local_options *o)
{
	for (size_t i = 0; i < o->n_bytes; i++)
		if (o->bytes[i] > MAX_RECORD_BYTES ||
		    (o->bytes[i] <= PAIR_BYTES && o->bytes[i] != WORD_BYTES &&
		     o->bytes[i] != PAIR_BYTES))
			return 0;
	return 1;
}

static int local_parse(local_options *o, int argc, char **argv)
{
	size_t mb[LIST], ok = 1;
	for (int c; (c = getopt(argc, argv, "r:t:b:m:uk:s:Bj:h")) != -1;) {
		if (c == 'r')
			o->rounds = atoi(optarg);
		else if (c == 't')
			ok &= (o->n_threads = list_of(optarg, o->threads)) > 0;
		else if (c == 'b')
			ok &= (o->n_bytes = list_of(optarg, o->bytes)) > 0;
		else if (c == 'm')
			ok &= list_of(optarg, mb) == 1 && (o->mb = mb[0]);
		else if (c == 'u')
			o->little = 1;
		else if (c == 'B')
			nodes = numa_open(false);
		else if (c == 'k')
			o->kind = optarg;
		else if (c == 's')
			o->sort = optarg;
		else if (c != 'j' || !(o->json = fopen(optarg, "w")))
			return 0;
	}
	for (; ok && optind < argc && o->n_records < LIST; o->n_records++)
		ok &= list_of(argv[optind++], &o->records[o->n_records]) == 1;
	return ok && optind == argc && o->rounds >= 1 && o->rounds <= ROUNDS &&
	       bytes_are_supported(o);
}

int main(int argc, char **argv)
{
	local_options o = {
		.rounds = 5, .bytes = { 100 }, .n_bytes = 1, .threads = { 2 }, .n_threads = 1
	};
	if (!local_parse(&o, argc, argv))
		return local_usage();
	if (o.n_records == 0 && !o.mb) {
		o.records[o.n_records++] = 1000000;
		o.records[o.n_records++] = 10000000;
	}
	printf("%5s %-13s %10s  %-30s %2s %9s %9s %9s %7s %7s\n", "bytes", "kind", "records",
	       "sort", "t", "min s", "median s", "max s", "ours/it", "cpu");
	printf("summary %5s %-13s %10s %2s %9s %7s %7s  %s\n", "bytes", "kind", "records", "t",
	       "median s", "to best", "to floor", "the best other");
	for (size_t b = 0; b < o.n_bytes; b++) {
		if (o.mb)
			local_size((unsigned)o.bytes[b], o.mb * 1000000 / o.bytes[b], &o);
		for (size_t i = 0; i < o.n_records; i++)
			local_size((unsigned)o.bytes[b], o.records[i], &o);
	}
	return o.json && fclose(o.json) != 0;
}
