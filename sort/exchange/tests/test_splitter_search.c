/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The search finds exact cuts for any records: ranks have one run or several, or no records. Keys
 * are distributed equally, in order over the ranks, all the same, or skewed. The number of rounds
 * does not grow with the number of ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "entries_help.h"
#include "exchange/splitter_search.h"
#include "kernel/radix.h"

enum { REC = 16, MOST_RANKS = 300, MOST_EACH = 3, CALLS_ALIKE = 18, CALLS_ANY = 80 };

typedef enum spread { ALIKE, IN_ORDER, REVERSED, SAME, FEW, SKEWED, ON_ONE_RANK, SPREADS } spread;

typedef struct trial {
	int ranks;
	size_t runs, recs; /* of a rank; ranks differ by some */
	size_t each;       /* splitters that a rank is in charge of */
	spread keys;
	uint64_t seed;
	uint64_t total, target[MOST_RANKS * MOST_EACH];
	unsigned char *input[MOST_RANKS];
	size_t n[MOST_RANKS];
	entry *e[MOST_RANKS];
	uint64_t *start[MOST_RANKS], *cut[MOST_RANKS];
	atomic_uint failed;
	uint64_t calls;
} trial;

static const layout lay = LAYOUT_BYTES(REC, 0, 10);

static uint64_t key_of(const trial *t, int rank, size_t i, uint64_t *noise)
{
	const uint64_t r = splitmix(noise), at = (uint64_t)rank * t->recs + i;
	switch (t->keys) {
	case IN_ORDER:
		return at << 20;
	case REVERSED:
		return UINT64_MAX - (at << 20);
	case SAME:
		return 77;
	case FEW:
		return r % 3;
	case SKEWED:
		return r >> (r % 60);
	default:
		return r;
	}
}

static size_t recs_of(const trial *t, int rank)
{
	if (t->keys == ON_ONE_RANK)
		return rank == t->ranks / 2 ? t->recs : 0;
	return t->recs - t->recs / 8 * (size_t)(rank % 3);
}

/* Make sorted runs of about the same length. */
static void make_rank(trial *t, int rank)
{
	const size_t n = recs_of(t, rank);
	uint64_t noise = t->seed * 1000 + (uint64_t)rank;
	entry *tmp = calloc(n + 1, sizeof *tmp);
	t->n[rank] = n;
	t->input[rank] = calloc(n + 1, REC);
	t->e[rank] = calloc(n + 1, sizeof(entry));
	t->start[rank] = calloc(t->runs + 1, sizeof(uint64_t));
	t->cut[rank] = calloc(((size_t)t->ranks * t->each + 1) * t->runs, sizeof(uint64_t));
	assert_true(tmp && t->input[rank] && t->e[rank] && t->start[rank] && t->cut[rank]);
	const records r = { t->input[rank], lay, (uint32_t)rank };
	for (size_t i = 0; i < n; i++) {
		const uint64_t key = __builtin_bswap64(key_of(t, rank, i, &noise));
		memcpy(t->input[rank] + i * REC, &key, sizeof key);
		t->e[rank][i] = entry_make(record_at(&r, i), &lay, i);
	}
	for (size_t k = 0; k <= t->runs; k++)
		t->start[rank][k] = n * k / t->runs;
	for (size_t k = 0; k < t->runs; k++) {
		const uint64_t from = t->start[rank][k], to = t->start[rank][k + 1];
		radix_sort(t->e[rank] + from, tmp, to - from, &r);
	}
	t->total += n;
	free(tmp);
}

/* Draw targets in ascending order, sometimes with the least and the greatest possible. */
static void draw_targets(trial *t)
{
	uint64_t noise = t->seed;
	const size_t parts = (size_t)t->ranks * t->each;
	for (size_t j = 0; j + 1 < parts; j++)
		t->target[j] = t->total * (j + 1) / parts;
	if (parts > 3 && splitmix(&noise) % 2) {
		t->target[0] = 0;
		t->target[parts - 2] = t->total;
		t->target[1] = t->target[2];
	}
}

static entry_runs runs_of(const trial *t, int rank)
{
	const records r = { t->input[rank], lay, (uint32_t)rank };
	return entries_of(r, t->e[rank], t->runs, t->start[rank]);
}

static status search_rank(comm *c, void *trial_)
{
	trial *t = trial_;
	mem m = { 0 };
	err e = { ST_OK, "" };
	entry_runs own = runs_of(t, c->rank);
	sorted *r = &own.s;
	splitter_search s = { .c = c,
			      .m = &m,
			      .r = r,
			      .target = t->target,
			      .each = t->each,
			      .count = (size_t)c->size * t->each - 1 };
	status rc = splitter_search_open(&s, &e);
	if (rc == ST_OK)
		rc = splitter_search_end(&s, t->cut[c->rank], &e);
	splitter_search_close(&s);
	t->failed += rc != ST_OK || m.now_bytes != 0;
	if (c->rank == 0)
		t->calls = c->round;
	return rc;
}

/* Check that the right number of records precede splitter j, and that they precede all others. */
static void check_splitter(const trial *t, size_t j)
{
	uint64_t before = 0;
	item last = { 0, 0, 0 }, first = { UINT64_MAX, UINT64_MAX, UINT64_MAX }, it;
	for (int i = 0; i < t->ranks; i++) {
		entry_runs own = runs_of(t, i);
		sorted *r = &own.s;
		for (size_t k = 0; k < t->runs; k++) {
			const uint64_t cut = t->cut[i][(j + 1) * t->runs + k];
			assert_true(cut >= r->start[k] && cut <= r->start[k + 1]);
			before += cut - r->start[k];
			if (cut > r->start[k]) {
				r->ops->item(r, cut - 1, &it);
				last = item_cmp(&last, &it, &lay) < 0 ? it : last;
			}
			if (cut < r->start[k + 1]) {
				r->ops->item(r, cut, &it);
				first = item_cmp(&it, &first, &lay) < 0 ? it : first;
			}
		}
	}
	assert_int_equal(before, t->target[j]);
	assert_true(before == 0 || before == t->total || item_cmp(&last, &first, &lay) < 0);
}

static uint64_t try(int ranks, size_t of_runs, size_t recs, spread keys, size_t each)
{
	static uint64_t seed;
	trial t = { .ranks = ranks,
		    .runs = of_runs,
		    .recs = recs,
		    .keys = keys,
		    .each = each,
		    .seed = ++seed };
	err e = { ST_OK, "" };
	for (int i = 0; i < ranks; i++)
		make_rank(&t, i);
	draw_targets(&t);
	assert_int_equal(comm_local_run(ranks, search_rank, &t, &e), ST_OK);
	assert_int_equal(t.failed, 0);
	for (size_t j = 0; j + 1 < (size_t)ranks * each; j++)
		check_splitter(&t, j);
	for (int i = 0; i < ranks; i++) {
		free(t.input[i]);
		free(t.e[i]);
		free(t.start[i]);
		free(t.cut[i]);
	}
	return t.calls;
}

static void cuts_are_exact(void **state)
{
	static const int ranks[] = { 1, 2, 3, 5, 8, 17, 40 };
	static const size_t recs[] = { 0, 1, 2, 7, 100, 3000 }, of_runs[] = { 1, 3, 30 };
	uint64_t most = 0;
	(void)state;
	for (size_t p = 0; p < sizeof ranks / sizeof *ranks; p++)
		for (size_t n = 0; n < sizeof recs / sizeof *recs; n++)
			for (size_t r = 0; r < sizeof of_runs / sizeof *of_runs; r++)
				for (unsigned k = 0; k < SPREADS; k++)
					for (size_t again = 1; again <= MOST_EACH; again++) {
						const uint64_t calls = try(ranks[p], of_runs[r],
									   recs[n], k, again);
						most = calls > most ? calls : most;
					}
	print_message("%u collectives at most\n", (unsigned)most);
	assert_in_range(most, 1, CALLS_ANY);
}

static void rounds_do_not_grow(void **state)
{
	static const int ranks[] = { 4, 30, MOST_RANKS };
	(void)state;
	for (size_t p = 0; p < sizeof ranks / sizeof *ranks; p++) {
		const uint64_t calls = try(ranks[p], 1, 600000 / (size_t)ranks[p], ALIKE, 1);
		print_message("%d ranks: %u collectives\n", ranks[p], (unsigned)calls);
		assert_in_range(calls, 1, CALLS_ALIKE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cuts_are_exact),
		cmocka_unit_test(rounds_do_not_grow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
