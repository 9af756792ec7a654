/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests the sort in memory on threads as ranks. The cases vary layout, distribution, size, number
 * of ranks, the spread of input and output, and the mode of the exchange. The output is right,
 * nothing else is written, and no more memory is held than was announced. */
#include "cases.h"

#include "lib/memory_sort.h"

#include <pthread.h>

enum { MOST_RANKS = 7 };

typedef struct sorting {
	shape s;
	size_t distribution;
	uint64_t n;
	int p;
	enum spread in_how, out_how;
	unsigned exchange_threads;
	unsigned hosts; /* 0: one, 1: rank 0 is on another one, 2: no memory is shared */
	const unsigned char *in, *answer;
	uint64_t in_count[MOST_RANKS], out_count[MOST_RANKS];
	const char *why[MOST_RANKS]; /* the fault of a rank */
} sorting;

static const char *judge(const sorting *t, size_t rank, const unsigned char *out, const mem *m,
			 const layout *l)
{
	const uint64_t n = t->out_count[rank], bytes = n * l->record_bytes;
	if (!border_holds(out, bytes))
		return "something is written outside the output";
	if (memcmp(out + BORDER, t->answer + before(t->out_count, rank) * l->record_bytes, bytes) !=
	    0)
		return "the output is not the right one";
	if (m->now_bytes != 0)
		return "memory is not given back";
	if (m->peak_bytes > memory_sort_most_bytes(l, t->in_count[rank], t->p, 3))
		return "more memory is held than was said";
	return NULL;
}

static status sort_on_rank(comm *c, void *arg)
{
	sorting *t = arg;
	const size_t rank = (size_t)c->rank;
	const layout l = LAYOUT_BYTES(t->s.record_bytes, t->s.key_off, t->s.key_bytes);
	mem m = { 0 };
	err e = { ST_OK, "" };
	c->shares_memory = t->hosts < 2;
	c->process_ranks = t->hosts ? 1 : c->size;
	if (t->hosts == 1 && rank == 0)
		c->host_id = 1;
	unsigned char *out = bordered(t->out_count[rank] * l.record_bytes);
	const memory_job j = { .c = c,
			       .m = &m,
			       .e = &e,
			       .lay = l,
			       .in = t->in + before(t->in_count, rank) * l.record_bytes,
			       .n_in = t->in_count[rank],
			       .out = out + BORDER,
			       .share = t->out_count,
			       .records = t->n,
			       .threads = 1 + (unsigned)rank % 3,
			       .exchange_threads = t->exchange_threads };
	status rc = comm_agree(c, out ? ST_OK : ST_RESOURCE);
	if (rc == ST_OK)
		rc = memory_sort(&j);
	t->why[rank] = rc != ST_OK ? "it failed" : judge(t, rank, out, &m, &l);
	free(out);
	return rc;
}

static size_t cases, failures;

static void one(sorting *t)
{
	const size_t p = (size_t)t->p;
	err e = { ST_OK, "" };
	spread(t->in_how, t->n, p, t->in_count);
	spread(t->out_how, t->n, p, t->out_count);
	memset(t->why, 0, sizeof t->why);
	const status rc = comm_local_run(t->p, sort_on_rank, t, &e);
	t->hosts = (t->hosts + 1) % 3;
	cases++;
	for (size_t i = 0; i < p; i++) {
		if (rc == ST_OK && !t->why[i])
			continue;
		failures++;
		printf("# records of %u, key of %u at %u, %s, n %llu, rank %zu of %d, in %d, out "
		       "%d, %u threads: %s\n",
		       t->s.record_bytes, t->s.key_bytes, t->s.key_off,
		       distributions[t->distribution], (unsigned long long)t->n, i, t->p, t->in_how,
		       t->out_how, t->exchange_threads, t->why[i] ? t->why[i] : "a rank failed");
	}
}

enum { VARIANTS = SPREADS * SPREADS * 3 };

/* Every spread and mode on one input with HETSORT_LONG=1; else one combination of them: number
 * `chosen`. */
static void variants(sorting *t, size_t chosen)
{
	unsigned char *in = make_input(&t->s, t->distribution, t->n);
	unsigned char *answer = in ? make_answer(in, &t->s, t->n) : NULL;
	if (!answer) {
		puts("Bail out! no memory");
		exit(1);
	}
	t->in = in;
	t->answer = answer;
	for (size_t k = 0; k < VARIANTS; k++) {
		if (k != chosen % VARIANTS && !getenv("HETSORT_LONG"))
			continue;
		t->in_how = (enum spread)(k % SPREADS);
		t->out_how = (enum spread)(k / SPREADS % SPREADS);
		t->exchange_threads = (unsigned)(k / SPREADS / SPREADS);
		one(t);
	}
	free(in);
	free(answer);
}

/* Sizes around the number of ranks, and one that fills many blocks. The factors let each shape,
 * distribution, size and number of ranks meet each variant. */
static void sizes(sorting *t, size_t shape_i, size_t ranks_i)
{
	const uint64_t p = (uint64_t)t->p, n[] = { 0, 1, p - 1, p, p + 1, 1000, 20011 };
	for (size_t i = 0; i < LEN(n); i++) {
		t->n = n[i];
		if (n[i] > 1000 && t->s.record_bytes < 24 && t->distribution)
			continue;
		variants(t, ranks_i + 5 * shape_i + 4 * t->distribution + 7 * i);
	}
}

int main(void)
{
	const int ranks[] = { 1, 2, 3, 4, 7 };
	size_t points = 0, failed = 0;
	for (size_t r = 0; r < LEN(ranks); r++)
		for (size_t s = 0; s < LEN(shapes); s++) {
			cases = failures = 0;
			for (size_t d = 0; d < LEN(distributions); d++) {
				sorting t = { .s = shapes[s], .distribution = d, .p = ranks[r] };
				sizes(&t, s, r);
			}
			failed += failures > 0;
			printf("%sok %zu - records of %u, key of %u at %u, %d ranks: %zu cases\n",
			       failures ? "not " : "", ++points, shapes[s].record_bytes,
			       shapes[s].key_bytes, shapes[s].key_off, ranks[r], cases);
		}
	printf("1..%zu\n", points);
	return failed > 0;
}
