/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole sorts by random keys of fields, from file to file and from array to array. The output must
 * equal the answer of an oracle, for 1 to 5 ranks, both strategies, in memory and spilled to disk.
 * HETSORT_LONG=1: 2000 keys. */
#include "kernel/tests/key_oracle.h"
#include "lib/memory_sort.h"
#include "job.h"

#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 16, MOST_RECORDS = 3000, MOST_RANKS = 5, POINTS = 10 };

typedef struct job {
	settings o;
	job_result res;
} job;

static char in_path[4096], out_path[4096];

static bool write_file(const unsigned char *data, size_t bytes)
{
	FILE *f = fopen(in_path, "wb");
	const bool ok = f && fwrite(data, 1, bytes, f) == bytes;
	return (f ? fclose(f) == 0 : false) && ok;
}

static bool output_is(const unsigned char *want, size_t bytes)
{
	unsigned char *got = malloc(bytes + 1);
	FILE *f = fopen(out_path, "rb");
	const bool same =
		f && got && fread(got, 1, bytes + 1, f) == bytes && memcmp(got, want, bytes) == 0;
	if (f)
		fclose(f);
	free(got);
	return same;
}

static status run_rank(comm *c, void *job_)
{
	job *j = job_;
	job_result res = { .status = ST_OK };
	const status rc = job_execute(c, &j->o, &res);
	if (c->rank == 0)
		j->res = res;
	return rc;
}

static status make_layout(const oracle *o, uint64_t *s, layout *l, err *e)
{
	*l = (layout){ .record_bytes = o->record_bytes };
	for (unsigned i = 0; i < o->fields; i++) {
		char text[ORACLE_TEXT_BYTES];
		oracle_field_text(&o->field[i], oracle_below(s, 2), text);
		if (layout_add_field(l, text))
			return err_set(e, ST_INTERNAL, "'%s' was refused", text);
	}
	return layout_settle(l, o->reverse, e);
}

/* Sort the file with ranks, strategy, threads and disk that the seed determines. */
static status sort_file(uint64_t seed, const layout *l, size_t n, job *j, err *e)
{
	static const test_sizes tiny = { .bucket_recs = 1, .sampled_bytes = 1, .lanes = 3 };
	const char *in = in_path;
	const int ranks = 1 + (int)(seed % MOST_RANKS);
	const test_sizes spilling = { .run_recs = n / (size_t)ranks / 4 + 1 };
	j->o = (settings){ .inputs = &in,
			   .ninputs = 1,
			   .output = out_path,
			   .strategy = seed / 5 % 2 ? BY_DISTRIBUTING : BY_MERGING,
			   .lay = *l,
			   .exchange_threads = seed / 20 % 3,
			   .threads = 1 + seed / 60 % 2,
			   .test_sizes = seed / 10 % 2 ? &spilling : &tiny,
			   .stable = true,
			   .force = true };
	return comm_local_run(ranks, run_rank, j, e);
}

/* The same records in memory. Rank r of p has the records from n * r / p on, before and after. */
typedef struct arrays {
	const layout *l;
	const unsigned char *in;
	unsigned char *out;
	size_t n;
} arrays;

static status sort_on_rank(comm *c, void *arrays_)
{
	const arrays *a = arrays_;
	const size_t bytes = a->l->record_bytes, p = (size_t)c->size, rank = (size_t)c->rank;
	const size_t from = a->n * rank / p;
	uint64_t share[MOST_RANKS] = { 0 };
	mem m = { 0 };
	err e = { ST_OK, "" };
	for (size_t r = 0; r < p; r++)
		share[r] = a->n * (r + 1) / p - a->n * r / p;
	return memory_sort(&(memory_job){ .c = c,
					  .m = &m,
					  .e = &e,
					  .lay = *a->l,
					  .in = a->in + from * bytes,
					  .n_in = share[rank],
					  .out = a->out + from * bytes,
					  .share = share,
					  .records = a->n,
					  .threads = 1 });
}

static bool sorts_arrays(uint64_t seed, const layout *l, const unsigned char *in, size_t n,
			 const unsigned char *want, err *e)
{
	const size_t bytes = n * l->record_bytes;
	const int ranks = 1 + (int)(seed % MOST_RANKS);
	arrays a = { l, in, malloc(bytes + 1), n };
	const bool same = a.out && comm_local_run(ranks, sort_on_rank, &a, e) == ST_OK &&
			  memcmp(a.out, want, bytes) == 0;
	free(a.out);
	return same;
}

/* Sort by one key; return NULL, or the failure. */
static const char *one_key(uint64_t seed, job *j, err *e)
{
	uint64_t s = seed;
	const oracle o = oracle_draw(&s);
	const unsigned most = MOST_BYTES / o.record_bytes;
	const size_t n = oracle_below(&s, most < MOST_RECORDS ? most : MOST_RECORDS);
	const size_t bytes = n * o.record_bytes;
	const unsigned narrow = oracle_below(&s, 3);
	const char *why = NULL;
	layout l;
	unsigned char *in = malloc(bytes + 1);
	for (size_t i = 0; in && i < n; i++)
		oracle_record(&o, &s, oracle_below(&s, 2) < narrow, in + i * o.record_bytes);
	unsigned char *want = in ? oracle_answer(&o, in, n) : NULL;
	if (!want || !write_file(in, bytes))
		why = "the input cannot be made";
	else if (make_layout(&o, &s, &l, e) != ST_OK || sort_file(seed, &l, n, j, e) != ST_OK)
		why = j->res.rank ? j->res.rank[0].text : e->text;
	else if (!output_is(want, bytes))
		why = "the output differs from the oracle";
	else if (!sorts_arrays(seed, &l, in, n, want, e))
		why = "the array differs from the oracle";
	free(want);
	free(in);
	return why;
}

int main(void)
{
	const uint64_t keys = getenv("HETSORT_LONG") ? 2000 : 200;
	const char *dir = getenv("TEST_TMP");
	int failed = 0;
	snprintf(in_path, sizeof in_path, "%s/keys.in", dir ? dir : ".");
	snprintf(out_path, sizeof out_path, "%s/keys.out", dir ? dir : ".");
	printf("1..%d\n", POINTS);
	for (int p = 0; p < POINTS; p++) {
		const uint64_t first = keys / POINTS * (uint64_t)p, end = first + keys / POINTS;
		bool ok = true;
		for (uint64_t seed = first; seed < end; seed++) {
			job j = { .res = { .status = ST_OK } };
			err e = { ST_OK, "" };
			const char *why = one_key(seed, &j, &e);
			if (why)
				printf("# seed %llu: %s\n", (unsigned long long)seed, why);
			ok &= !why;
			job_result_free(&j.res);
		}
		printf("%s %d - keys from seeds %llu to %llu\n", ok ? "ok" : "not ok", p + 1,
		       (unsigned long long)first, (unsigned long long)end - 1);
		failed += !ok;
	}
	return failed > 0;
}
