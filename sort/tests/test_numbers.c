/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --number and --append, and --order-out, in all ways of sorting: the output must equal a stable
 * sort of the numbered records, byte for byte, or have the numbers in its order. With --apply, it
 * must have the records in the order that is drawn. Sorts are drawn at
 * random: inputs (files, streams, one per rank, sorted ones), keys, headers and trailers,
 * selections, ranks, and runs in memory and on disk. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/arith.h"
#include "cli/options.h"
#include "job.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	SORTS = 200,
	LONG_SORTS = 2000,
	MOST_FIELDS = 3,
	MOST_INPUTS = 3,
	MOST_RANKS = 5,
	MOST_WORDS = 40,
	WORD_BYTES = 64
};

/* A field of the key, as this test compares it. */
typedef struct field {
	size_t at, bytes;
	bool little, desc; /* little: a number, least byte first */
} field;

/* Bytes that grow. */
typedef struct text {
	unsigned char *at;
	size_t bytes;
} text;

typedef struct trial {
	char word[MOST_WORDS][WORD_BYTES];
	char *argv[MOST_WORDS + 1];
	int argc, ranks;
	settings o;
	test_sizes sizes;
	size_t record, append, number_at, number_bytes; /* number_bytes 0: not stored */
	bool number_little;
	field key[MOST_FIELDS];
	size_t fields, key_bytes, top;
	bool unique;
	bool order, apply; /* --order-out, --apply */
	bool per_rank, streams, merges;
	size_t inputs, count[MOST_RANKS], header, trailer;
	text in[MOST_RANKS]; /* with header and trailer */
	text want;
	pid_t writer[MOST_RANKS];
	job_result res;
} trial;

static uint64_t seed;

static uint64_t draw(uint64_t below)
{
	return splitmix(&seed) % below;
}

static void save(const char *path, text t)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(t.at, 1, t.bytes, f), t.bytes);
	assert_int_equal(fclose(f), 0);
}

static unsigned char *grow(text *t, size_t bytes)
{
	t->at = realloc(t->at, t->bytes + bytes + 1);
	assert_non_null(t->at);
	t->bytes += bytes;
	return t->at + t->bytes - bytes;
}

static void put(trial *t, const char *format, ...)
{
	va_list a;
	va_start(a, format);
	assert_true(t->argc < MOST_WORDS);
	vsnprintf(t->word[t->argc], WORD_BYTES, format, a);
	va_end(a);
	t->argv[t->argc] = t->word[t->argc];
	t->argc++;
}

/* ------------------------------------------------------------------------------ the expected */

/* A record in memory, and its number, which decides between equal keys. */
typedef struct numbered {
	const unsigned char *rec;
	uint64_t number;
} numbered;

static const trial *compared; /* by by_key: qsort has no context */

static int by_key(const unsigned char *a, const unsigned char *b)
{
	for (const field *f = compared->key; f < compared->key + compared->fields; f++) {
		int c = 0;
		for (size_t i = 0; i < f->bytes && c == 0; i++) {
			const size_t at = f->at + (f->little ? f->bytes - 1 - i : i);
			c = a[at] - b[at];
		}
		if (c)
			return f->desc ? -c : c;
	}
	return 0;
}

static int by_key_and_number(const void *a_, const void *b_)
{
	const numbered *a = a_, *b = b_;
	const int c = by_key(a->rec, b->rec);
	return c ? c : (a->number > b->number) - (a->number < b->number);
}

static void store(unsigned char *to, size_t bytes, bool little, uint64_t v)
{
	for (size_t k = 0; k < bytes; k++)
		to[little ? k : bytes - 1 - k] = (unsigned char)(v >> 8 * k);
}

/* Draw an order of all records or, if there are any, of some. Save it, and return its length. */
static size_t draw_order(numbered *order, size_t n)
{
	const size_t kept = n && draw(2) ? 1 + draw(n) : n;
	text t = { 0 };
	for (size_t i = 0; i < kept; i++) {
		const size_t at = i + draw(n - i);
		const numbered one = order[at];
		order[at] = order[i];
		order[i] = one;
		store(grow(&t, 8), 8, true, one.number);
	}
	(void)grow(&t, 0);
	save("order", t);
	free(t.at);
	return kept;
}

/* Make the expected output. */
static void make_wanted(trial *t)
{
	const size_t record = t->record + t->append;
	text all = { 0 };
	size_t n = 0, kept = 0;
	for (size_t i = 0; i < t->inputs; i++) {
		const unsigned char *from = t->in[i].at + t->header;
		for (size_t k = 0; k < t->count[i]; k++, from += t->record, n++) {
			unsigned char *to = grow(&all, record);
			memcpy(to, from, t->record);
			memset(to + t->record, 0, t->append);
			store(to + t->number_at, t->number_bytes, t->number_little, n);
		}
	}
	numbered *order = calloc(n + 1, sizeof *order);
	assert_non_null(order);
	for (size_t i = 0; i < n; i++)
		order[i] = (numbered){ all.at + i * record, i };
	if (t->apply)
		n = draw_order(order, n);
	compared = t;
	if (!t->apply)
		qsort(order, n, sizeof *order, by_key_and_number);
	if (t->header && !t->order)
		memcpy(grow(&t->want, t->header), t->in[0].at, t->header);
	for (size_t i = 0; i < n && (!t->top || kept < t->top); i++) {
		if (t->unique && i > 0 && by_key(order[i - 1].rec, order[i].rec) == 0)
			continue;
		if (t->order)
			store(grow(&t->want, 8), 8, true, order[i].number);
		else
			memcpy(grow(&t->want, record), order[i].rec, record);
		kept++;
	}
	const text *last = &t->in[t->inputs - 1];
	if (t->trailer && !t->order)
		memcpy(grow(&t->want, t->trailer), last->at + last->bytes - t->trailer, t->trailer);
	free(order);
	free(all.at);
}

/* ------------------------------------------------------------------------------- the trial */

static void draw_key(trial *t)
{
	const size_t record = t->record + t->append;
	t->fields = 1 + draw(MOST_FIELDS);
	for (field *f = t->key; f < t->key + t->fields; f++) {
		f->little = record >= 4 && draw(3) == 0;
		f->bytes = f->little ? 4 : 1 + draw(u64_min(record, 12));
		f->at = draw(record - f->bytes + 1);
		f->desc = draw(3) == 0;
		put(t, "--key=%zu,%zu%s%s", f->at, f->bytes, f->little ? ",u32le" : "",
		    f->desc ? ",desc" : "");
		t->key_bytes += f->bytes;
	}
}

static void draw_shape(trial *t)
{
	static const size_t usual[] = { 1, 4, 16, 100, 4096 };
	t->record = draw(2) ? usual[draw(sizeof usual / sizeof *usual)] : 1 + draw(60);
	put(t, "--record-size=%zu", t->record);
	t->append = draw(2) && !t->order && !t->apply ? 1 + draw(draw(4) ? 20 : 5000) : 0;
	if (t->append)
		put(t, "--append=%zu", t->append);
	const size_t record = t->record + t->append, bytes = draw(2) ? 4 : 8;
	if (t->order || t->apply || record < bytes || (t->append && draw(4) == 0))
		return;
	t->number_bytes = bytes;
	t->number_little = draw(2);
	t->number_at = t->append >= bytes && draw(2) ? t->record : draw(record - bytes + 1);
	put(t, "--number=%zu,u%zu%s", t->number_at, 8 * bytes, t->number_little ? "le" : "be");
}

static void draw_way(trial *t)
{
	static const int ranks[] = { 1, 1, 2, 3, 5 };
	t->ranks = ranks[draw(sizeof ranks / sizeof *ranks)];
	t->per_rank = t->ranks > 1 && draw(5) == 0;
	t->streams = draw(4) == 0;
	t->inputs = t->per_rank ? (size_t)t->ranks : 1 + draw(MOST_INPUTS);
	if (draw(4) == 0)
		put(t, "--skip-header=%zu", t->header = 1 + draw(50));
	if (draw(4) == 0)
		put(t, "--skip-trailer=%zu", t->trailer = 1 + draw(50));
	t->merges = !t->apply && !t->per_rank && t->record + t->append > 3 * t->number_bytes &&
		    draw(5) == 0;
	if (t->merges)
		put(t, "--merge");
	else if (t->ranks > 1 && draw(3) == 0)
		put(t, "--strategy=distribute");
	if (!t->merges && !t->per_rank && draw(4) == 0)
		put(t, "--source=root");
	if ((t->unique = !t->apply && draw(4) == 0))
		put(t, "--unique");
	if (draw(4) == 0 && !t->apply && !(t->order && t->unique))
		put(t, "--top=%zu", t->top = 1 + draw(700));
	if (draw(3) == 0)
		put(t, "--verify=reread");
	if (draw(3) == 0)
		put(t, "--direct=always");
	put(t, "--threads=%d", 1 + (int)draw(4));
	if (!t->order && !t->apply)
		put(t, "--stable");
	put(t, "--tmpdir=.");
	if (t->apply)
		put(t, "--apply=order");
	put(t, t->order ? "--order-out=out" : "--output=out");
}

/* Fill an input with records of few different bytes, in order if they are to be merged. */
static void make_input(trial *t, size_t i)
{
	text *in = &t->in[i];
	const size_t n = t->count[i] = draw(5) ? draw(t->record > 1000 ? 60 : 900) : draw(3);
	const size_t record = t->record + t->append, bytes = n * t->record;
	const uint64_t kinds = draw(2) ? 256 : 3;
	unsigned char *to = grow(in, t->header + bytes + t->trailer);
	for (size_t k = 0; k < in->bytes; k++)
		to[k] = (unsigned char)draw(k >= t->header && k < t->header + bytes ? kinds : 256);
	to[0] = 0; /* not text, not a manifest */
	unsigned char *const first = to + t->header, *one = malloc(2 * record + 1);
	assert_non_null(one);
	compared = t;
	for (size_t a = 1; t->merges && a < n; a++)
		for (size_t b = a; b > 0; b--) {
			unsigned char *x = first + (b - 1) * t->record, *y = x + t->record;
			memset(one, 0, 2 * record);
			memcpy(one, x, t->record);
			memcpy(one + record, y, t->record);
			memset(one + t->number_at, 0, t->number_bytes);
			memset(one + record + t->number_at, 0, t->number_bytes);
			if (by_key(one, one + record) <= 0)
				break;
			memcpy(one, x, t->record);
			memcpy(x, y, t->record);
			memcpy(y, one, t->record);
		}
	free(one);
}

/* Return whether a field of the key has bytes of the number. */
static bool number_in_key(const trial *t)
{
	bool in = false;
	for (const field *f = t->key; f < t->key + t->fields; f++)
		in |= t->number_at < f->at + f->bytes && f->at < t->number_at + t->number_bytes;
	return in && t->number_bytes;
}

static void make_inputs(trial *t)
{
	size_t before = 0;
	for (size_t i = 0; i < MOST_RANKS; i++) {
		char name[WORD_BYTES];
		snprintf(name, sizeof name, "in%zu", i);
		(void)unlink(name);
	}
	for (size_t i = 0; i < t->inputs; i++) {
		char name[WORD_BYTES];
		snprintf(name, sizeof name, "in%zu", i);
		make_input(t, i);
		before += t->count[i];
		if (!t->streams) {
			save(name, t->in[i]);
		} else if (mkfifo(name, 0600) == 0 && (t->writer[i] = fork()) == 0) {
			save(name, t->in[i]);
			_exit(0);
		}
		if (!t->per_rank)
			put(t, "%s", name);
	}
	if (t->per_rank)
		put(t, "in%%r");
	t->sizes = (test_sizes){ .bucket_recs = 1 + draw(200),
				 .sampled_bytes = draw(2) ? 0 : 1,
				 .run_recs = draw(2) ? 0 : before / (size_t)t->ranks / 5 + 1,
				 .lanes = 1 + draw(8) };
}

static status run_rank(comm *c, void *trial_)
{
	trial *t = trial_;
	job_result res = { .status = ST_OK };
	const status rc = job_execute(c, &t->o, &res);
	if (c->rank == 0)
		t->res = res;
	return rc;
}

static bool output_is_wanted(const trial *t)
{
	unsigned char *is = malloc(t->want.bytes + 1);
	FILE *f = fopen("out", "rb");
	const bool same = is && f && fread(is, 1, t->want.bytes + 1, f) == t->want.bytes &&
			  memcmp(is, t->want.at, t->want.bytes) == 0;
	if (f)
		fclose(f);
	free(is);
	return same;
}

static void trial_free(trial *t)
{
	job_result_free(&t->res);
	for (size_t i = 0; i < t->inputs; i++) {
		if (t->writer[i] > 0)
			(void)kill(t->writer[i], SIGKILL); /* of a stream that was not opened */
		if (t->writer[i] > 0)
			assert_int_equal(waitpid(t->writer[i], NULL, 0), t->writer[i]);
		free(t->in[i].at);
	}
	free(t->want.at);
	free(t);
	(void)unlink("out");
}

/* Draw and run a sort. */
static bool try_one(void)
{
	const uint64_t begun = seed;
	err e = { ST_OK, "" };
	trial *t = calloc(1, sizeof *t);
	assert_non_null(t);
	put(t, "hetsort");
	t->order = draw(3) == 0;
	t->apply = !t->order && draw(2);
	draw_shape(t);
	draw_way(t);
	for (bool again = !t->apply; again; again = t->merges && number_in_key(t)) {
		t->argc -= (int)t->fields;
		t->key_bytes = 0;
		draw_key(t);
	}
	make_inputs(t);
	make_wanted(t);
	status rc = options_parse(&t->o, t->argc, t->argv, &e);
	t->o.test_sizes = &t->sizes;
	if (rc == ST_OK)
		rc = comm_local_run(t->ranks, run_rank, t, &e);
	const bool good = rc == ST_OK && output_is_wanted(t);
	if (!good) {
		printf("# SEED=%" PRIu64 ": %d ranks, %zu inputs%s, run_recs %zu: %d %s%s\n#",
		       begun, t->ranks, t->inputs, t->streams ? " (streams)" : "",
		       t->sizes.run_recs, (int)rc, e.text, t->res.rank ? t->res.rank[0].text : "");
		for (int i = 1; i < t->argc; i++)
			printf(" %s", t->argv[i]);
		printf("\n");
	}
	trial_free(t);
	return good;
}

static void numbered_records_are_the_expected_ones(void **state)
{
	const int sorts = getenv("HETSORT_LONG") ? LONG_SORTS : SORTS;
	(void)state;
	for (int i = 0; i < sorts; i++)
		assert_true(try_one());
}

int main(void)
{
	const char *given = getenv("SEED");
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		numbered_records_are_the_expected_ones) };
	seed = given ? strtoull(given, NULL, 10) : (uint64_t)getpid() * 2654435761U;
	printf("# SEED=%llu\n", (unsigned long long)seed);
	if (getenv("TEST_TMP") && chdir(getenv("TEST_TMP")) != 0)
		return 1;
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
