/* SPDX-License-Identifier: GPL-3.0-or-later */
/* local_bench.c - sorting in memory: bucket_sort_records beside what libraries offer, over kinds of
 * input. In every round all sorts run one after the other, and a ratio compares two of the same
 * round. Each result is validated: order, that the records are those of the input, and stability
 * where it is promised. A wrong one ends the program. usage: local_bench [-r ROUNDS] [-k KIND] [-s
 * SORT] [-t THREADS] [-j FILE] [RECORDS...] -k, -s  only kinds or sorts whose name contains this -j
 * all samples, as JSON lines The floor is what no such sort can leave out: keys are read once,
 * records gathered once in random order. Memory: 2 x 100 + 32 bytes a record, and 8 for the floor's
 * order.
 */
#include "bench.h"
#include "local.h"

#include <stdatomic.h>
#include <unistd.h>

#include "kernel/gather.h"
#include "kernel/bucket_sort.h"
#include "base/pool.h"

#ifndef HAVE_PARTNERS /* no C++ compiler: ours and the floor alone */
const partner PARTNERS[] = { { NULL, NULL, 0, 0 } };
#endif

enum { ROUNDS = 31, SORTS = 24, SIZES = 8 };

/* ----------------------------------------------------------------------------------- inputs */

static uint64_t mix(uint64_t z)
{
	z += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* The key of record i of n. */
typedef void key_fn(uint64_t i, uint64_t n, unsigned char *k);

static void set(unsigned char *k, uint64_t hi, uint64_t lo)
{
	for (unsigned j = 0; j < 8; j++)
		k[j] = (unsigned char)(hi >> (56 - 8 * j));
	k[8] = (unsigned char)(lo >> 8);
	k[9] = (unsigned char)lo;
}

static void uniform(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, mix(2 * i), mix(2 * i + 1));
}
static void equal(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)i, (void)n;
	memset(k, 0xab, KEY_BYTES);
}
static void prefix8(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, UINT64_C(0x0123456789abcdef), mix(i));
}
static void prefix9(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, UINT64_C(0x0123456789abcdef), mix(i) & 0xff);
}
/* 1/u has the tail of Zipf's law with exponent 1: key v has the share 1/v(v+1). */
static void zipf(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	const double u = (double)((mix(i) >> 11) + 1) * 0x1p-53;
	set(k, (uint64_t)(1 / u), 0);
}
static void sorted(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, i << 24, i);
}
static void reverse(uint64_t i, uint64_t n, unsigned char *k)
{
	set(k, (n - i) << 24, i);
}
static void organ(uint64_t i, uint64_t n, unsigned char *k)
{
	set(k, (i < n / 2 ? i : n - i) << 20, 0);
}
static void few(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	set(k, mix(mix(i) % 16), 7);
}
/* As gensort -s: record i starts with up to 48 bits of the key of a record as small as the length
 * of i in bits. */
static void skewed(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	unsigned bits = (unsigned)(mix(3 * i) >> 32) & 63, from = 0;
	for (uint64_t v = i; v; v >>= 1)
		from++;
	bits = bits > 48 ? 0 : bits;
	const uint64_t mask = bits ? ~UINT64_C(0) << (64 - bits) : 0;
	set(k, (mix(from) & mask) | (mix(~i) & ~mask), mix(i));
}
/* As gensort -a: 95 printable characters. */
static void ascii(uint64_t i, uint64_t n, unsigned char *k)
{
	(void)n;
	for (unsigned j = 0; j < KEY_BYTES; j++)
		k[j] = (unsigned char)(' ' + (mix(16 * i + j) >> 32) % 95);
}
static void giant(uint64_t i, uint64_t n, unsigned char *k)
{
	uniform(i, n, k);
	if (mix(~i) % 10 < 5)
		set(k, UINT64_C(0x5555555555555555), 0x5555);
}

static const struct kind {
	const char *name;
	key_fn *key;
} KINDS[] = {
	{ "uniform", uniform },  { "all-equal", equal },  { "prefix-8", prefix8 },
	{ "prefix-9", prefix9 }, { "zipf", zipf },        { "sorted", sorted },
	{ "reverse", reverse },  { "organ-pipe", organ }, { "few-distinct", few },
	{ "skewed", skewed },    { "ascii", ascii },      { "one-giant", giant },
};

/* ------------------------------------------------------------------------------ one input */

struct input {
	unsigned char *in, *out;
	void *scratch;
	entry *random; /* the floor's order */
	size_t n;
	const char *kind;
	uint64_t sum; /* of the records, in any order */
	unsigned threads;
	size_t peak_bytes; /* of what ours took last */
};

static uint64_t record_sum(const unsigned char *rec)
{
	uint64_t h = 0, v[REC_BYTES / 8 + 1] = { 0 };

	memcpy(v, rec, REC_BYTES);
	for (unsigned j = 0; j < LEN(v); j++)
		h = (h ^ v[j]) * UINT64_C(0x9fb21c651e98df25) + (h >> 32);
	return mix(h);
}

static uint64_t index_of(const unsigned char *rec)
{
	uint64_t i;

	memcpy(&i, rec + KEY_BYTES, sizeof i);
	return i;
}

static void fill(struct input *d, const struct kind *kind)
{
	d->kind = kind->name;
	d->sum = 0;
	for (size_t i = 0; i < d->n; i++) {
		unsigned char *rec = d->in + i * REC_BYTES;
		const uint64_t index = i;
		kind->key(i, d->n, rec);
		memcpy(rec + KEY_BYTES, &index, sizeof index);
		memset(rec + KEY_BYTES + 8, (int)(i % 251), REC_BYTES - KEY_BYTES - 8);
		d->sum += record_sum(rec);
	}
}

/* Why the result is wrong, or NULL. */
static const char *wrong(const struct input *d, int ordered, int stable)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < d->n; i++) {
		const unsigned char *rec = d->out + i * REC_BYTES;
		sum += record_sum(rec);
		if (i == 0 || !ordered)
			continue;
		const int c = memcmp(rec - REC_BYTES, rec, KEY_BYTES);
		if (c > 0)
			return "not sorted";
		if (c == 0 && stable && index_of(rec - REC_BYTES) >= index_of(rec))
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
	return (records){ .base = d->in, .lay = LAYOUT_BYTES(REC_BYTES, 0, KEY_BYTES) };
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
	entry *to = w->d->scratch;
	size_t at;

	(void)worker;
	while ((at = atomic_fetch_add(&w->next, PIECE)) < w->d->n) {
		const size_t n = w->d->n - at < PIECE ? w->d->n - at : PIECE;
		if (!w->extract)
			gather(&r, w->d->random + at, n, w->d->n - at - n,
			       w->d->out + at * REC_BYTES);
		for (size_t i = at; w->extract && i < at + n; i++)
			to[i] = entry_make(record_at(&r, i), &r.lay, i);
	}
}

static void floor_of(struct input *d, unsigned threads)
{
	struct floor_work w = { .d = d, .extract = 1 };
	pool_run(threads, floor_part, &w);
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

static size_t sorts_of(struct sort *s, unsigned threads, const char *filter)
{
	size_t n = 0;

	s[n++] = (struct sort){
		.name = "hetsort", .own = ours, .ordered = 1, .stable = 1, .threads = threads
	};
	if (threads > 1)
		s[n++] = (struct sort){ .name = "hetsort, 1 thread",
					.own = ours,
					.ordered = 1,
					.stable = 1,
					.threads = 1 };
	s[n++] = (struct sort){ .name = "floor", .own = floor_of, .threads = threads };
	for (const partner *p = PARTNERS; p->name && n < SORTS; p++) {
		s[n] = (struct sort){ .p = p,
				      .ordered = 1,
				      .stable = p->stable,
				      .threads = p->parallel ? threads : 1 };
		snprintf(s[n].name, sizeof s[n].name, "%s%s", p->name,
			 s[n].threads > 1 || threads == 1 ? "" : ", 1 thread");
		n++;
	}
	size_t kept = 1; /* ours always: it is what the others are compared with */
	for (size_t i = 1; i < n; i++)
		if (!filter || strstr(s[i].name, filter))
			s[kept++] = s[i];
	return kept;
}

static void run(struct sort *s, struct input *d, int round)
{
	double begin = now_s(), cpu = cpu_s();

	if (s->p)
		s->p->sort(d->in, d->n, d->out, s->threads, d->scratch);
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
	printf("%-13s %10zu  %-30s %2u %9.4f %9.4f %9.4f %7.2f %7.2f\n", d->kind, d->n, s->name,
	       s->threads, t[0], mid, t[rounds - 1], of_first, cpu_of_first);
	fflush(stdout);
	if (!json)
		return;
	fprintf(json,
		"{\"bench\":\"local\",\"version\":\"%s\",\"compiler\":\"%s\",\"kind\":\"%s\","
		"\"records\":%zu,\"sort\":\"%s\",\"threads\":%u,\"median_s\":%.6f,"
		"\"hetsort_to_it\":%.4f,\"cpu_hetsort_to_it\":%.4f,\"samples_s\":[",
		HETSORT_VERSION, __VERSION__, d->kind, d->n, s->name, s->threads, mid, of_first,
		cpu_of_first);
	for (int r = 0; r < rounds; r++)
		fprintf(json, "%s%.6f", r ? "," : "", s->s[r]);
	fprintf(json, "],\"samples_cpu_s\":[");
	for (int r = 0; r < rounds; r++)
		fprintf(json, "%s%.6f", r ? "," : "", s->cpu[r]);
	fprintf(json, "]}\n");
	fflush(json);
}

struct options {
	int rounds;
	unsigned threads;
	const char *kind, *sort;
	FILE *json;
};

static void measure(struct input *d, const struct options *o)
{
	struct sort s[SORTS];
	const size_t n = sorts_of(s, o->threads, o->sort);

	for (int r = -1; r < o->rounds; r++) /* round -1 warms up */
		for (size_t i = 0; i < n; i++) {
			if (r < 0 && i > 2)
				break;
			run(&s[i], d, r < 0 ? 0 : r);
		}
	for (size_t i = 0; i < n; i++)
		print(&s[i], &s[0], d, o->rounds, o->json);
	printf("%-13s %10zu  memory beside input and output: %.4f of the data\n", d->kind, d->n,
	       (double)d->peak_bytes / ((double)d->n * REC_BYTES));
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

static void size(size_t n, const struct options *o)
{
	struct input d = { .n = n, .threads = o->threads };

	d.in = room(n * REC_BYTES);
	d.out = room(n * REC_BYTES);
	d.scratch = room(n * 32);
	d.random = room(n * sizeof *d.random);
	shuffle(d.random, n);
	for (size_t k = 0; k < LEN(KINDS); k++)
		if (!o->kind || strstr(KINDS[k].name, o->kind)) {
			fill(&d, &KINDS[k]);
			measure(&d, o);
		}
	mem m = { .now_bytes = n * (2 * REC_BYTES + 48) }; /* what room() gave */
	mem_free(&m, d.in);
	mem_free(&m, d.out);
	mem_free(&m, d.scratch);
	mem_free(&m, d.random);
}

static int usage(void)
{
	fprintf(stderr, "usage: local_bench [-r ROUNDS] [-k KIND] [-s SORT] [-t THREADS] [-j FILE]"
			" [RECORDS...]\n");
	return 2;
}

int main(int argc, char **argv)
{
	struct options o = { .rounds = 5, .threads = 2 };

	for (int c; (c = getopt(argc, argv, "r:k:s:t:j:")) != -1;) {
		if (c == 'r')
			o.rounds = atoi(optarg);
		else if (c == 'k')
			o.kind = optarg;
		else if (c == 's')
			o.sort = optarg;
		else if (c == 't')
			o.threads = (unsigned)atoi(optarg);
		else if (c != 'j' || !(o.json = fopen(optarg, "w")))
			return usage();
	}
	if (o.rounds < 1 || o.rounds > ROUNDS || o.threads < 1)
		return usage();
	printf("%-13s %10s  %-30s %2s %9s %9s %9s %7s %7s\n", "kind", "records", "sort", "t",
	       "min s", "median s", "max s", "ours/it", "cpu");
	if (optind == argc) {
		size(1000000, &o);
		size(10000000, &o);
	}
	for (int i = optind; i < argc; i++) {
		const double n = strtod(argv[i], NULL);
		if (!(n >= 1 && n <= 1e12))
			return usage();
		size((size_t)n, &o);
	}
	return o.json && fclose(o.json) != 0;
}
