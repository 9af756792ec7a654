/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keys made against the sampler: the sampled records have small keys and all others have large
 * keys. So the first guess of the cuts is wrong, but the shares are still exact. Tested are the
 * search, and the program with several ranks, in memory and spilled to disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arith.h"
#include "entries_help.h"
#include "exchange/splitter_search.h"
#include "kernel/radix.h"

enum { RANKS = 4, REC = 100, SMALL = 100000, MOST_WORDS = 24 };

typedef struct sampler {
	uint64_t seed;  /* of the places */
	size_t samples; /* records of each rank */
} sampler;

static const sampler of_sample = { UINT64_C(0x68657473), 64 };
static const layout lay = LAYOUT_BYTES(REC, 0, 10);

static unsigned char *input, *expected;

/* Store the number with its most significant byte first, as keys are compared. */
static void put_number(unsigned char *rec, uint64_t v)
{
	for (int b = 0; b < 8; b++)
		rec[b] = (unsigned char)(v >> (56 - 8 * b));
}

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, REC);
}

/* Make n records; the records that are sampled on `ranks` ranks have keys of the lower half. */
static void make_input(size_t n, int ranks, const sampler *s)
{
	uint64_t noise = 1;
	const size_t share = n / (size_t)ranks;
	memset(input, 'x', n * REC);
	for (size_t i = 0; i < n; i++) {
		put_number(input + i * REC, splitmix(&noise) | UINT64_C(1) << 63);
		put_number(input + i * REC + 10, i);
	}
	for (size_t r = 0; r < (size_t)ranks; r++) {
		uint64_t state = s->seed + r;
		for (size_t i = 0; i < s->samples; i++) {
			const size_t from = share * i / s->samples,
				     to = share * (i + 1) / s->samples;
			const size_t at = r * share + from + splitmix(&state) % (to - from);
			put_number(input + at * REC, splitmix(&noise) >> 1);
		}
	}
	memcpy(expected, input, n * REC);
	qsort(expected, n, REC, by_bytes);
}

/* Make sorted slices. Each place that is sampled in a sorted run is the last of its key, and most
 * records have the next key. */
static void make_steps(size_t n, int ranks, const sampler *s)
{
	const size_t share = n / (size_t)ranks;
	memset(input, 'x', n * REC);
	for (size_t i = 0; i < n; i++) {
		const size_t at = i % share, part = at * s->samples / share;
		const uint64_t drawn =
			sample_place(share, part, s->samples, sample_phase((int)(i / share), 0));
		put_number(input + i * REC, 2 * part + (at > drawn));
		put_number(input + i * REC + 10, i);
	}
	memcpy(expected, input, n * REC);
	qsort(expected, n, REC, by_bytes);
}

/* ---------------------------------------------------------------------------------- the search */

typedef struct findings {
	atomic_uint failed, fooled;
	atomic_uint_fast64_t share[RANKS]; /* that the cuts give */
} findings;

static status cut_one(comm *c, mem *m, entry *e, entry *out, findings *f)
{
	enum { N = SMALL / RANKS };
	const records recs = { input + (size_t)c->rank * N * REC, lay, (uint32_t)c->rank };
	const uint64_t start[] = { 0, N }, target[] = { N, 2 * N, 3 * N, 4 * N };
	entry_runs r = entries_of(recs, e, 1, start);
	uint64_t cut[RANKS + 1];
	splitter_search b = { .c = c,
			      .m = m,
			      .r = &r.s,
			      .as_read = &recs,
			      .target = target,
			      .each = 1,
			      .count = RANKS - 1 };
	err er = { ST_OK, "" };
	for (uint64_t i = 0; i < N; i++)
		e[i] = entry_make(record_at(&recs, i), &lay, i);
	radix_sort(e, out, N, &recs);
	status rc = splitter_search_open(&b, &er);
	if (rc == ST_OK) /* the first pivots are among the few sampled keys */
		f->fooled += b.cut[0].hi <= of_sample.samples;
	if (rc == ST_OK)
		rc = splitter_search_end(&b, cut, &er);
	for (int d = 0; rc == ST_OK && d < RANKS; d++)
		f->share[d] += cut[d + 1] - cut[d];
	splitter_search_close(&b);
	return rc;
}

static status search_rank(comm *c, void *findings_)
{
	findings *f = findings_;
	mem m = { 0 };
	entry *e = malloc(SMALL * sizeof *e), *out = malloc(SMALL * sizeof *out);
	const status rc = e && out ? cut_one(c, &m, e, out, f) : ST_RESOURCE;
	f->failed += rc != ST_OK;
	free(e);
	free(out);
	return rc;
}

static void a_wrong_estimate_leads_to_exact_cuts(void **state)
{
	findings f = { 0 };
	err e = { ST_OK, "" };
	(void)state;
	make_input(SMALL, RANKS, &of_sample);
	assert_int_equal(comm_local_run(RANKS, search_rank, &f, &e), ST_OK);
	assert_int_equal(f.failed, 0);
	assert_int_equal(f.fooled, RANKS); /* otherwise the sampler has changed */
	for (int d = 0; d < RANKS; d++)
		assert_int_equal(f.share[d], SMALL / RANKS);
}

/* --------------------------------------------------------------------------------- the program */

/* Execute hetsort with these words and "-o out.%r in"; return its exit code. */
static int sort_with(const char *words)
{
	char program[4096], text[256], *argv[MOST_WORDS] = { program };
	static char o[] = "-o", out[] = "out.%r", in[] = "in";
	int argc = 1, st = 0;
	snprintf(program, sizeof program, "%s/hetsort", getenv("BIN") ? getenv("BIN") : "bin");
	snprintf(text, sizeof text, "%s", words);
	for (char *w = strtok(text, " "); w; w = strtok(NULL, " "))
		argv[argc++] = w;
	argv[argc++] = o;
	argv[argc++] = out;
	argv[argc++] = in;
	const pid_t pid = fork();
	if (pid == 0) {
		execv(program, argv);
		_exit(127);
	}
	assert_true(pid > 0 && waitpid(pid, &st, 0) == pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : -1;
}

static void put_input(size_t n)
{
	FILE *f = fopen("in", "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(input, REC, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Check that the parts are exactly the equal shares of the expected records. */
static void check_parts(size_t n, int ranks)
{
	const size_t share = n / (size_t)ranks * REC;
	for (int r = 0; r < ranks; r++) {
		char name[16];
		snprintf(name, sizeof name, "out.%d", r);
		FILE *f = fopen(name, "rb");
		assert_non_null(f);
		assert_int_equal(fread(input, 1, share + 1, f), share);
		assert_memory_equal(input, expected + (size_t)r * share, share);
		fclose(f);
		assert_int_equal(unlink(name), 0);
	}
	assert_int_equal(unlink("out.manifest"), 0);
}

static void shares_are_exact(void **state)
{
	static const struct trial {
		const char *words;
		size_t n;
		int ranks;
		const sampler *against;
		bool steps;
	} trials[] = {
		{ "--ranks 4 --stable --strategy distribute", SMALL, 4, &of_sample, false },
		{ "--ranks 4 --stable --strategy merge", SMALL, 4, &of_sample, false },
		{ "--ranks 4 --stable --strategy merge", SMALL, 4, &of_sample, true },
		{ "--ranks 4 --stable --strategy distribute", SMALL, 4, &of_sample, true },
		{ "--ranks 4 --strategy merge --memory 15M --tmpdir .", SMALL, 4, &of_sample,
		  true },
	};
	(void)state;
	for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
		const struct trial *t = &trials[i];
		print_message("%s\n", t->words);
		(t->steps ? make_steps : make_input)(t->n, t->ranks, t->against);
		put_input(t->n);
		assert_int_equal(sort_with(t->words), 0);
		check_parts(t->n, t->ranks);
	}
	assert_int_equal(unlink("in"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_estimate_leads_to_exact_cuts),
		cmocka_unit_test(shares_are_exact),
	};
	input = malloc((size_t)SMALL * REC + 1);
	expected = malloc((size_t)SMALL * REC);
	const int rc = input && expected ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	free(input);
	free(expected);
	return rc;
}
