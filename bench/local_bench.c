/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local_bench.c - sorting in memory: bucket_sort_records next to the sorts of libraries, over sizes
 * of records and kinds of keys. In every round all sorts run one after the other, and a ratio
 * compares two of the same round. Each result is validated: order, that the records are those of
 * the input, and stability if it is promised. A wrong one ends the program. Keys have 10 bytes, 8
 * if a record has 8 or 16. The floor is the work that no such sort can avoid: keys are read once,
 * records gathered once in random order; short records are copied once. Memory: two records and 32
 * bytes per record, and 16 for the floor's order. */
#include "bench.h"
#include "local.h"

#include <stdatomic.h>
#include <unistd.h>

#include "kernel/gather.h"
#include "kernel/bucket_sort.h"
#include "base/numa.h"
#include "base/pool.h"

#ifndef HAVE_PARTNERS /* no C++ compiler: ours and the floor alone */
const partner PARTNERS[] = { { NULL, NULL, 0 } };
#endif

enum { ROUNDS = 31, SORTS = 24, LIST = 16, SHORT_BYTES = 32 };

/* ------------------------------------------------------------------------------ one input */

struct input {
	shape shape;
	unsigned char *in, *out;
	void *scratch;
	entry *random; /* the floor's order */
	size_t n;
	const char *kind;
	uint64_t sum; /* of the records, in any order */
	unsigned threads;
	size_t peak_bytes; /* of what ours took last */
};

static uint64_t word_at(const unsigned char *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof v);
	return v;
}

static uint64_t record_sum(const struct input *d, const unsigned char *rec)
{
	const size_t bytes = d->shape.record_bytes;
	uint64_t h = 0;

	for (size_t j = 0; j + WORD_BYTES <= bytes; j += WORD_BYTES)
		h = (h ^ word_at(rec + j)) * UINT64_C(0x9fb21c651e98df25) + (h >> 32);
	return mix(h ^ word_at(rec + bytes - WORD_BYTES));
}

/* Whether a record holds where it was, behind its key. */
static int has_index(const shape *s)
{
	return s->record_bytes >= s->key_bytes + sizeof(uint64_t);
}

static void fill(struct input *d, const key_kind *kind)
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

static int key_order(const shape *s, const unsigned char *a, const unsigned char *b)
{
	int c = 0;

	if (!s->little)
		return memcmp(a, b, s->key_bytes);
	for (size_t j = s->key_bytes; j-- > 0 && c == 0;)
		c = a[j] - b[j];
	return c;
}

/* Why the result is wrong, or NULL. */
static const char *wrong(const struct input *d, int ordered, int stable)
{
	const shape *s = &d->shape;
	const size_t bytes = s->record_bytes;
	uint64_t sum = 0;

	for (size_t i = 0; i < d->n; i++) {
		const unsigned char *rec = d->out + i * bytes, *before = rec - bytes;
		sum += record_sum(d, rec);
		if (i == 0 || !ordered)
			continue;
		const int c = key_order(s, before, rec);
		if (c > 0)
			return "not sorted";
		if (c == 0 && stable && has_index(s) &&
		    word_at(before + s->key_bytes) >= word_at(rec + s->key_bytes))
			return "not stable";
	}
	return sum == d->sum ? NULL : "other records than the input's";
}

/* A whole memory page at a time, huge ones where there are any; all touched. */
static void *room(size_t bytes)
{
	mem m = { 0 };
	err e = { 0 };
	void *p = mem_array(&m, bytes, 1, "benchmark", &e);

	if (!p) {
		fprintf(stderr, "local_bench: %s\n", e.text);
		exit(1);
	}
	memset(p, 1, bytes);
	return p;
}

/* ----------------------------------------------------------------------------------- sorts */

static records records_of(const struct input *d)
{
	const shape *s = &d->shape;
	records r = { .base = d->in, .lay = LAYOUT_BYTES(s->record_bytes, 0, s->key_bytes) };
	err e = { 0 };

	if (s->little && layout_parse(&r.lay, s->record_bytes, "0,u64le", &e) != ST_OK) {
		fprintf(stderr, "local_bench: %s\n", e.text);
		exit(1);
	}
	return r;
}

static void ours(struct input *d, unsigned threads)
{
	const records r = records_of(d);
	mem m = { 0 };
	err e = { 0 };

	if (bucket_sort_records(&m, &r, d->n, d->out, threads, &e) != ST_OK) {
		fprintf(stderr, "local_bench: %s\n", e.text);
		exit(1);
	}
	d->peak_bytes = m.peak_bytes;
}

static numa *nodes; /* -B: to bind to */

static void ours_bound(struct input *d, unsigned threads)
{
	if (numa_plan(nodes, 1, 0, threads, true).binding == NUMA_UNBOUND || !numa_bind(nodes)) {
		fprintf(stderr, "local_bench: cannot bind threads: this machine has one NUMA node;"
				" HWLOC_SYNTHETIC can describe it as several\n");
		exit(1);
	}
	ours(d, threads);
	pool_begin_with(NULL, NULL);
}

struct floor_work {
	struct input *d;
	_Atomic size_t next;
	int extract;
};

enum { PIECE = 1 << 14 };

static void floor_part(void *arg, unsigned worker)
{
	struct floor_work *w = arg;
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

static void floor_of(struct input *d, unsigned threads)
{
	struct floor_work w = { .d = d, .extract = 1 };
	pool_run(threads, floor_part, &w);
	if (d->shape.record_bytes <= SHORT_BYTES)
		return;
	w.extract = 0;
	w.next = 0;
	pool_run(threads, floor_part, &w);
}

struct sort {
	char name[40];
	const partner *p; /* NULL: one of the next two */
	void (*own)(struct input *d, unsigned threads);
	int ordered, stable;
	unsigned threads;
	double s[ROUNDS], cpu[ROUNDS];
};

/* Whether a name contains one of several words with commas between them; NULL: of all words. */
static int contains(const char *name, const char *words)
{
	char word[sizeof((struct sort *)0)->name];

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

static size_t sorts_of(struct sort *s, const shape *of, unsigned threads, const char *filter)
{
	size_t n = 0, kept = 1; /* ours always: it is what the others are compared with */

	s[n++] = (struct sort){
		.name = "hetsort", .own = ours, .ordered = 1, .stable = 1, .threads = threads
	};
	if (nodes && threads > 1)
		s[n++] = (struct sort){ .name = "hetsort, bound",
					.own = ours_bound,
					.ordered = 1,
					.stable = 1,
					.threads = threads };
	s[n++] = (struct sort){ .name = "floor", .own = floor_of, .threads = threads };
	for (const partner *p = PARTNERS; p->name && n < SORTS; p++) {
		s[n] = (struct sort){ .p = p,
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

static void run(struct sort *s, struct input *d, int round)
{
	double begin = now_s(), cpu = cpu_s();

	if (s->p)
		s->p->sort(&d->shape, d->in, d->n, d->out, s->threads, d->scratch);
	else
		s->own(d, s->threads);
	s->s[round] = now_s() - begin;
	s->cpu[round] = cpu_s() - cpu;
	const char *why = wrong(d, s->ordered, s->stable);
	if (why) {
		fprintf(stderr, "local_bench: %s, %s, %zu records: %s\n", s->name, d->kind, d->n,
			why);
		exit(1);
	}
}

/* --------------------------------------------------------------------------------- results */

static void print(struct sort *s, const struct sort *first, const struct input *d, int rounds,
		  FILE *json)
{
	double ratio[ROUNDS], cpu[ROUNDS], t[ROUNDS];

	for (int r = 0; r < rounds; r++) {
		ratio[r] = first->s[r] / s->s[r];
		cpu[r] = first->cpu[r] / s->cpu[r];
	}
	memcpy(t, s->s, sizeof t);
	const double mid = median(t, (size_t)rounds), of_first = median(ratio, (size_t)rounds);
	const double cpu_of_first = median(cpu, (size_t)rounds);
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
		"\"hetsort_to_it\":%.4f,\"cpu_hetsort_to_it\":%.4f,\"samples_s\":[",
		HETSORT_VERSION, __VERSION__, d->kind, d->shape.little, d->shape.record_bytes, d->n,
		s->name, s->threads, mid, of_first, cpu_of_first);
	for (int r = 0; r < rounds; r++)
		fprintf(json, "%s%.6f", r ? "," : "", s->s[r]);
	fprintf(json, "],\"samples_cpu_s\":[");
	for (int r = 0; r < rounds; r++)
		fprintf(json, "%s%.6f", r ? "," : "", s->cpu[r]);
	fprintf(json, "]}\n");
	fflush(json);
}

struct options {
	int rounds, little;
	size_t bytes[LIST], threads[LIST], records[LIST], mb;
	size_t n_bytes, n_threads, n_records;
	const char *kind, *sort;
	FILE *json;
};

/* One line: ours, the best other, and how ours compares with it and with the floor. */
static void summarise(struct sort *s, size_t n, const struct input *d, unsigned threads, int rounds)
{
	const struct sort *best = NULL;
	double mid[SORTS], floor_s = NAN, best_s = NAN;

	for (size_t i = 0; i < n; i++) {
		mid[i] = median(s[i].s, (size_t)rounds);
		if (s[i].p && (!best || mid[i] < best_s)) {
			best = &s[i];
			best_s = mid[i];
		}
		if (!s[i].ordered)
			floor_s = mid[i];
	}
	printf("summary %5u %-13s %10zu %2u %9.4f %7.2f %7.2f  %s\n", d->shape.record_bytes,
	       d->kind, d->n, threads, mid[0], mid[0] / best_s, mid[0] / floor_s,
	       best ? best->name : "-");
}

static void measure(struct input *d, unsigned threads, const struct options *o)
{
	struct sort s[SORTS];
	const size_t n = sorts_of(s, &d->shape, threads, o->sort);

	for (int r = -1; r < o->rounds; r++) /* round -1 warms up */
		for (size_t i = 0; i < n; i++) {
			if (r < 0 && i > 2)
				break;
			run(&s[i], d, r < 0 ? 0 : r);
		}
	for (size_t i = 0; i < n; i++)
		print(&s[i], &s[0], d, o->rounds, o->json);
	printf("%5u %-13s %10zu  memory beside input and output: %.4f of the data\n",
	       d->shape.record_bytes, d->kind, d->n,
	       (double)d->peak_bytes / ((double)d->n * d->shape.record_bytes));
	summarise(s, n, d, threads, o->rounds);
}

static void shuffle(entry *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		e[i] = (entry){ 0, i };
	for (size_t i = n; i > 1; i--) {
		const size_t j = mix(i) % i;
		const entry was = e[i - 1];
		e[i - 1] = e[j];
		e[j] = was;
	}
}

static void size(unsigned bytes, size_t n, const struct options *o)
{
	struct input d = { .n = n };

	d.shape.record_bytes = bytes;
	d.shape.little = o->little;
	d.shape.key_bytes = o->little || bytes <= PAIR_BYTES ? WORD_BYTES : KEY_MOST_BYTES;
	d.in = room(n * bytes);
	d.out = room(n * bytes);
	d.scratch = room(n * 32);
	d.random = room(n * sizeof *d.random);
	shuffle(d.random, n);
	for (size_t k = 0; KINDS[k].name; k++)
		if (contains(KINDS[k].name, o->kind)) {
			fill(&d, &KINDS[k]);
			for (size_t t = 0; t < o->n_threads; t++)
				measure(&d, (unsigned)o->threads[t], o);
		}
	mem m = { .now_bytes = n * (2 * (size_t)bytes + 48) }; /* what room() gave */
	mem_free(&m, d.in);
	mem_free(&m, d.out);
	mem_free(&m, d.scratch);
	mem_free(&m, d.random);
}

static int usage(void)
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

/* Numbers separated by commas; how many, 0: not such a list. */
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

/* 0: what a record may have. */
static int bad_bytes(const struct options *o)
{
	for (size_t i = 0; i < o->n_bytes; i++)
		if (o->bytes[i] > MAX_RECORD_BYTES ||
		    (o->bytes[i] <= PAIR_BYTES && o->bytes[i] != WORD_BYTES &&
		     o->bytes[i] != PAIR_BYTES))
			return 1;
	return 0;
}

static int parse(struct options *o, int argc, char **argv)
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
	return ok && optind == argc && o->rounds >= 1 && o->rounds <= ROUNDS && !bad_bytes(o);
}

int main(int argc, char **argv)
{
	struct options o = {
		.rounds = 5, .bytes = { 100 }, .n_bytes = 1, .threads = { 2 }, .n_threads = 1
	};

	if (!parse(&o, argc, argv))
		return usage();
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
			size((unsigned)o.bytes[b], o.mb * 1000000 / o.bytes[b], &o);
		for (size_t i = 0; i < o.n_records; i++)
			size((unsigned)o.bytes[b], o.records[i], &o);
	}
	return o.json && fclose(o.json) != 0;
}
