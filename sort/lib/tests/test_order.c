/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests sorting and applying numbers on threads as ranks, by random cases. Layout, key, number of
 * ranks, records and results per rank, numbers and sizes of rounds vary. Results are compared with
 * qsort_r() and an array access. Nothing else is written, and no more memory is held than
 * announced. HETSORT_LONG=1: 2000 cases. */
#include "cases.h"

#include "base/arith.h"
#include "lib/order.h"

#include <math.h>
#include <unistd.h>

enum { MOST_RANKS = 5, MOST_BYTES = 200, MOST_RECORDS = 400, CASES = 300, LONG_CASES = 2000 };

/* Which numbers are applied. */
enum which { SORTED, RANDOM, ONE, TOO_LARGE, KINDS };

typedef struct trial {
	int p;
	layout lay;
	bool fields; /* the key is a descending number, then a byte */
	uint32_t column_bytes;
	uint64_t n, wanted; /* all records, and all numbers to apply */
	uint64_t count[MOST_RANKS], share[MOST_RANKS], take[MOST_RANKS];
	uint64_t first[MOST_RANKS + 1];
	enum which which;
	int bad; /* TOO_LARGE: the rank that has such a number */
	size_t chunk;
	unsigned threads;
	unsigned char in[MOST_RECORDS * MOST_BYTES], column[MOST_RECORDS * MOST_BYTES];
	uint64_t order[MOST_RECORDS], numbers[2 * MOST_RECORDS];
	const char *why[MOST_RANKS];
} trial;

static uint64_t seed;

static uint64_t below(uint64_t n)
{
	return n ? splitmix(&seed) % n : 0;
}

static int by_key(const void *a, const void *b, void *trial_)
{
	const trial *t = trial_;
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	const unsigned char *r = t->in + x * t->lay.record_bytes,
			    *s = t->in + y * t->lay.record_bytes;
	int c = 0;
	if (t->fields) {
		const uint32_t u = (uint32_t)r[1] | (uint32_t)r[2] << 8,
			       v = (uint32_t)s[1] | (uint32_t)s[2] << 8;
		c = u != v ? (u < v) - (u > v) : (r[4] > s[4]) - (r[4] < s[4]);
	} else {
		c = memcmp(r + t->lay.key_off, s + t->lay.key_off, t->lay.key_bytes);
	}
	return c ? c : (x > y) - (x < y);
}

/* Divide n among the ranks: as a number near the number of ranks, all to one rank, or at random. */
static void divide(const trial *t, uint64_t n, uint64_t *part)
{
	const uint64_t all = below((uint64_t)t->p), how = below(3);
	for (int i = 0; i < t->p; i++)
		part[i] = 0;
	for (uint64_t i = 0; i < n; i++)
		part[how == 0 ? all : how == 1 ? i % (uint64_t)t->p : below((uint64_t)t->p)]++;
}

static void draw_records(trial *t)
{
	const uint64_t p = (uint64_t)t->p,
		       sizes[] = { 0, 1, p - 1, p, p + 1, below(MOST_RECORDS + 1), MOST_RECORDS };
	const unsigned values = below(3) ? 256 : 1 + (unsigned)below(3);
	t->n = sizes[below(LEN(sizes))];
	for (size_t i = 0; i < sizeof t->in; i++)
		t->in[i] = (unsigned char)below(values);
	for (size_t i = 0; i < sizeof t->column; i++)
		t->column[i] = (unsigned char)splitmix(&seed);
	divide(t, t->n, t->count);
	divide(t, t->n, t->share);
	t->first[0] = 0;
	for (int i = 0; i < t->p; i++)
		t->first[i + 1] = t->first[i] + t->count[i];
	for (uint64_t i = 0; i < t->n; i++)
		t->order[i] = i;
	qsort_r(t->order, t->n, sizeof *t->order, by_key, t);
}

static void draw_numbers(trial *t)
{
	const uint64_t one = below(t->n);
	t->which = t->n ? (enum which)below(KINDS) : SORTED;
	t->wanted = t->which == SORTED ? t->n : below(LEN(t->numbers) + 1);
	for (uint64_t i = 0; i < t->wanted; i++)
		t->numbers[i] = t->which == SORTED ? t->order[i]
				: t->which == ONE  ? one
						   : below(t->n);
	divide(t, t->wanted, t->take);
	t->bad = (int)below((uint64_t)t->p);
	if (t->which == TOO_LARGE && t->take[t->bad] == 0)
		t->which = RANDOM;
	if (t->which == TOO_LARGE)
		t->numbers[before(t->take, (size_t)t->bad) + below(t->take[t->bad])] =
			t->n + below(2) * below(UINT64_MAX - t->n);
}

static void draw(trial *t)
{
	err e = { ST_OK, "" };
	const int ranks[] = { 1, 2, 3, 5 };
	const uint32_t bytes = 1 + (uint32_t)below(MOST_BYTES), off = (uint32_t)below(bytes);
	t->p = ranks[below(LEN(ranks))];
	t->lay = (layout)LAYOUT_BYTES(bytes, off, 1 + (uint32_t)below(bytes - off));
	t->fields = bytes >= 5 && below(4) == 0;
	if (t->fields && layout_parse(&t->lay, bytes, "1,u16le,desc 4,1", &e) != ST_OK)
		exit(1);
	t->column_bytes = 1 + (uint32_t)below(MOST_BYTES);
	t->chunk = below(3) ? 1 + below(40) : order_chunk(t->column_bytes, t->p);
	t->threads = 1 + (unsigned)below(3);
	draw_records(t);
	draw_numbers(t);
}

static memory_job job_of(const trial *t, comm *c, mem *m, err *e)
{
	return (memory_job){ .c = c,
			     .m = m,
			     .e = e,
			     .n_in = t->count[c->rank],
			     .records = t->n,
			     .threads = t->threads };
}

static status sort_numbers(const trial *t, comm *c, const char **why)
{
	const size_t rank = (size_t)c->rank, n = t->share[rank];
	uint64_t got[MOST_RECORDS + 1];
	mem m = { 0 };
	err e = { ST_OK, "" };
	memory_job j = job_of(t, c, &m, &e);
	const layout l = LAYOUT_BYTES(t->lay.key_bytes + 8, 0, t->lay.key_bytes);
	const uint64_t most = (j.n_in + n) * l.record_bytes +
			      memory_sort_most_bytes(&l, j.n_in, t->p, t->threads);
	j.lay = t->lay;
	j.in = t->in + t->first[rank] * t->lay.record_bytes;
	j.share = t->share;
	got[n] = 77;
	const status rc = order_sort(&j, t->first[rank], got);
	if (rc != ST_OK || memcmp(got, t->order + before(t->share, rank), n * sizeof *got) != 0)
		*why = "the numbers are not sorted";
	else if (got[n] != 77 || m.now_bytes || m.peak_bytes > most)
		*why = "sorting wrote beyond the numbers, or held too much memory";
	return rc;
}

static const char *judge(const trial *t, size_t rank, const unsigned char *out, status rc,
			 const err *e)
{
	const uint64_t n = t->take[rank], bytes = t->column_bytes,
		       *number = t->numbers + before(t->take, rank);
	char words[64];
	if (!border_holds(out, n * bytes))
		return "something is written outside the output";
	if (t->which != TOO_LARGE && rc != ST_OK)
		return "numbers were not applied";
	for (uint64_t i = 0; t->which != TOO_LARGE && i < n; i++)
		if (memcmp(out + BORDER + i * bytes, t->column + number[i] * bytes, bytes) != 0)
			return "a record is not the right one";
	if (t->which != TOO_LARGE)
		return NULL;
	for (uint64_t i = 0; i < n * bytes; i++)
		if (out[BORDER + i] != 0x3c)
			return "records moved although a number is too large";
	for (uint64_t i = 0; (int)rank == t->bad && i < n; i++) {
		snprintf(words, sizeof words, "order[%llu] is '%llu'", (unsigned long long)i,
			 (unsigned long long)number[i]);
		if (number[i] >= t->n)
			return e->code == ST_REFUSED && strstr(e->text, words)
				       ? NULL
				       : "the number is not named";
	}
	return rc == ST_OK || e->code != ST_OK ? "a number that is too large was accepted" : NULL;
}

static status apply_numbers(const trial *t, comm *c, const char **why)
{
	const size_t rank = (size_t)c->rank;
	unsigned char *out = bordered(t->take[rank] * t->column_bytes);
	mem m = { 0 };
	err e = { ST_OK, "" };
	memory_job j = job_of(t, c, &m, &e);
	j.lay.record_bytes = t->column_bytes;
	j.in = t->column + t->first[rank] * t->column_bytes;
	j.share = t->take;
	status rc = comm_agree(c, out ? ST_OK : ST_RESOURCE);
	if (rc != ST_OK)
		return rc;
	j.out = out + BORDER;
	rc = order_apply(&j, t->first, t->numbers + before(t->take, rank), t->chunk);
	if (!*why)
		*why = judge(t, rank, out, rc, &e);
	if (!*why &&
	    (m.now_bytes || m.peak_bytes > order_apply_most_bytes(t->column_bytes, t->p, t->chunk)))
		*why = "applying held too much memory";
	free(out);
	return t->which == TOO_LARGE ? ST_OK : rc;
}

static status on_rank(comm *c, void *trial_)
{
	trial *t = trial_;
	const status rc = sort_numbers(t, c, &t->why[c->rank]);
	return rc == ST_OK ? apply_numbers(t, c, &t->why[c->rank]) : rc;
}

static bool one(trial *t)
{
	err e = { ST_OK, "" };
	bool good = true;
	draw(t);
	memset(t->why, 0, sizeof t->why);
	const status rc = comm_local_run(t->p, on_rank, t, &e);
	for (int i = 0; i < t->p; i++)
		if (rc != ST_OK || t->why[i]) {
			good = false;
			printf("# records of %u, key of %u, columns of %u, %llu records, rank %d "
			       "of %d, numbers %d, rounds of %zu: %s\n",
			       t->lay.record_bytes, t->lay.key_bytes, t->column_bytes,
			       (unsigned long long)t->n, i, t->p, t->which, t->chunk,
			       t->why[i] ? t->why[i] : "a rank failed");
		}
	return good;
}

/* A rank has fewer records than it has announced, as if numbers had changed after the check. */
static status with_fewer_records(comm *c, void *trial_)
{
	const trial *t = trial_;
	unsigned char out[8];
	mem m = { 0 };
	err e = { ST_OK, "" };
	memory_job j = job_of(t, c, &m, &e);
	j.lay.record_bytes = 1;
	j.n_in = 1;
	j.in = t->column;
	j.out = out;
	j.share = t->take;
	const status rc = order_apply(&j, t->first, t->numbers, 2);
	return rc == ST_INTERNAL && strstr(e.text, "numbers of records changed in memory") &&
			       !m.now_bytes
		       ? ST_OK
		       : ST_INVALID;
}

static bool changes_are_found(trial *t)
{
	bool good = true;
	for (t->p = 1; t->p <= 2; t->p++) {
		err e = { ST_OK, "" };
		for (int i = 0; i < t->p; i++) {
			t->take[i] = 8;
			t->first[i + 1] = 8 * (uint64_t)(i + 1);
		}
		for (uint64_t i = 0; i < 8; i++)
			t->numbers[i] = i * (uint64_t)t->p;
		good &= comm_local_run(t->p, with_fewer_records, t, &e) == ST_OK;
	}
	return good;
}

/* The manual states how much memory is needed. */
static bool memory_is_as_stated(void)
{
	bool good = true;
	for (uint32_t bytes = 1; bytes <= MAX_RECORD_BYTES; bytes *= 2)
		for (int ranks = 1; ranks <= 1 << 14; ranks++) {
			const double most = ranks > 1 ? fmax(17e6, fmin(0.6e6 * ranks, 140e6)) : 0;
			const size_t chunk = order_chunk(bytes, ranks);
			good &= (double)order_apply_most_bytes(bytes, ranks, chunk) <= most;
		}
	return good;
}

static bool point(int number, bool good, const char *name)
{
	printf("%sok %d - %s\n", good ? "" : "not ", number, name);
	return good;
}

int main(void)
{
	const char *given = getenv("SEED");
	const size_t cases = getenv("HETSORT_LONG") ? LONG_CASES : CASES;
	trial *t = calloc(1, sizeof *t);
	size_t bad = 0;
	seed = given ? strtoull(given, NULL, 10) : (uint64_t)getpid() * 2654435761U;
	printf("# SEED=%llu\n1..3\n", (unsigned long long)seed);
	if (!t)
		return 1;
	bool good =
		point(1, changes_are_found(t), "numbers that change during the work are reported");
	good &= point(2, memory_is_as_stated(), "memory is as stated in the manual");
	for (size_t i = 0; i < cases; i++)
		bad += !one(t);
	free(t);
	printf("# %zu cases\n", cases);
	return !point(3, bad == 0, "random cases") || !good;
}
