/* SPDX-License-Identifier: GPL-3.0-or-later */
/* farm_test.c - each item of a farm is worked on exactly once under all rules. Results arrive as
 * they were made, slow ranks get less, and a failure on any rank stops all. */
#include "check.h"

#include <time.h>

#define ITEM_BYTES 12

struct job {
	uint64_t items;
	unsigned char *worked; /* times each item was worked on here */
	unsigned char *taken;  /* at the root: times each was taken */
	char *result;
	size_t item_bytes, result_bytes; /* of one item */
	long nap_us;                     /* for one item */
	uint64_t work_fails_at, take_fails_at;
	uint64_t bad;
};

static unsigned char byte_of(uint64_t item, size_t b)
{
	return (unsigned char)(item * 31 + b * 7 + 1);
}

static void rest(long us)
{
	const struct timespec t = { us / 1000000, us % 1000000 * 1000 };

	if (us > 0 && nanosleep(&t, NULL) != 0)
		failures++;
}

static hetpart_status work(void *ctx, const hetpart_mpi_chunk *chunk, const void **result,
			   size_t *result_bytes, hetpart_err *err)
{
	struct job *j = ctx;
	const unsigned char *data = chunk->data;

	if (chunk->count == 0 || chunk->count > j->items || chunk->first > j->items - chunk->count)
		return HETPART_EINTERNAL;
	j->bad += (data != NULL) != (j->item_bytes > 0);
	for (uint64_t i = 0; i < chunk->count; i++) {
		if (chunk->first + i == j->work_fails_at) {
			snprintf(err->text, sizeof err->text, "item 17 is bad");
			return HETPART_EFORMAT;
		}
		j->worked[chunk->first + i]++;
		for (size_t b = 0; data && b < j->item_bytes; b++)
			j->bad += data[i * j->item_bytes + b] != byte_of(chunk->first + i, b);
	}
	rest(j->nap_us * (long)chunk->count);
	*result_bytes = (size_t)chunk->count * j->result_bytes;
	for (size_t b = 0; b < *result_bytes; b++)
		j->result[b] = (char)byte_of(chunk->first, b);
	*result = j->result;
	return HETPART_OK;
}

static hetpart_status take(void *ctx, int from, const hetpart_mpi_chunk *chunk, const void *result,
			   size_t result_bytes, hetpart_err *err)
{
	struct job *j = ctx;
	const unsigned char *bytes = result;

	(void)err;
	j->bad += from < 0 || from >= size || chunk->data != NULL;
	j->bad += result_bytes != chunk->count * j->result_bytes;
	j->bad += (result != NULL) != (result_bytes > 0);
	for (size_t b = 0; b < result_bytes; b++)
		j->bad += bytes[b] != byte_of(chunk->first, b);
	for (uint64_t i = 0; i < chunk->count; i++) {
		j->taken[chunk->first + i]++;
		if (chunk->first + i == j->take_fails_at)
			return HETPART_EIO;
	}
	return HETPART_OK;
}

static struct job new_job(uint64_t items, size_t item_bytes, size_t result_bytes)
{
	struct job j = { .items = items,
			 .item_bytes = item_bytes,
			 .result_bytes = result_bytes,
			 .work_fails_at = UINT64_MAX,
			 .take_fails_at = UINT64_MAX };

	j.worked = calloc(items + 1, 1);
	j.taken = calloc(items + 1, 1);
	j.result = malloc(items * result_bytes + 1);
	if (!j.worked || !j.taken || !j.result)
		exit(1);
	return j;
}

static void free_job(struct job *j)
{
	free(j->worked);
	free(j->taken);
	free(j->result);
}

static unsigned char *new_data(uint64_t items, size_t item_bytes)
{
	unsigned char *data = malloc(items * item_bytes + 1);

	if (!data)
		exit(1);
	for (uint64_t i = 0; i < items; i++)
		for (size_t b = 0; b < item_bytes; b++)
			data[i * item_bytes + b] = byte_of(i, b);
	return data;
}

/* Check that the ranks worked on all items once, and that the root took all results once. */
static void all_once(const struct job *j, int root, uint64_t done)
{
	unsigned char *sum = calloc(j->items + 1, 1);
	uint64_t here = 0, wrong = 0, untaken = 0;

	if (!sum || MPI_Allreduce(j->worked, sum, (int)j->items, MPI_UNSIGNED_CHAR, MPI_SUM,
				  MPI_COMM_WORLD) != MPI_SUCCESS)
		exit(1);
	for (uint64_t i = 0; i < j->items; i++) {
		here += j->worked[i];
		wrong += sum[i] != 1;
		untaken += rank == root && j->taken[i] != 1;
	}
	CHECK(here == done, "%" PRIu64 " reported, %" PRIu64 " worked on", done, here);
	CHECK(wrong == 0, "%" PRIu64 " of %" PRIu64 " not once", wrong, j->items);
	CHECK(untaken == 0, "%" PRIu64 " of %" PRIu64 " not taken once", untaken, j->items);
	CHECK(j->bad == 0, "%" PRIu64 " bytes wrong", j->bad);
	free(sum);
}

static void one(uint64_t items, hetpart_chunk_rule rule, bool root_works, size_t item_bytes,
		size_t result_bytes, int root)
{
	struct job j = new_job(items, item_bytes, result_bytes);
	unsigned char *data = rank == root ? new_data(items, item_bytes) : NULL;
	hetpart_mpi_farm_opts o = HETPART_MPI_FARM_OPTS_INIT;
	uint64_t done = 99;
	hetpart_err err;

	o.rule = rule;
	o.chunk = rule == HETPART_CHUNK_FIXED ? 1 + items / 50 : 0;
	o.root_works = root_works;
	o.item_bytes = item_bytes;
	o.data = data;
	o.take = take;
	o.max_msg_bytes = items % 2 ? 50 : 0;
	IS(hetpart_mpi_farm(rank == root ? items : 0, work, &j, root, MPI_COMM_WORLD,
			    rank == root ? &o : NULL, &done, &err),
	   HETPART_OK, &err, "%" PRIu64 " items", items);
	if (rank == root && !root_works && size > 1)
		CHECK(done == 0, "the root worked on %" PRIu64, done);
	all_once(&j, root, done);
	free_job(&j);
	free(data);
}

static void sweep(void)
{
	const uint64_t counts[] = { 0, 1, (uint64_t)size, (uint64_t)size + 1, 1000, 5001 };
	int n = 0;

	for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
		for (int rule = HETPART_CHUNK_FIXED; rule <= HETPART_CHUNK_FACTORING; rule++)
			for (int works = 0; works < 2; works++) {
				one(counts[c], (hetpart_chunk_rule)rule, works, 0, 0, n++ % size);
				one(counts[c], (hetpart_chunk_rule)rule, works, ITEM_BYTES, 5,
				    n++ % size);
			}
	/* results that are longer than what travels unasked */
	one(1000, HETPART_CHUNK_GUIDED, false, 0, 3000, 0);
	one(1000, HETPART_CHUNK_FIXED, true, ITEM_BYTES, 5000, size - 1);
}

/* Let rank size-1 sleep 20 times as long for each item as the others. It gets less than the
 * average, because the machine may delay one of the others. */
static void uneven(hetpart_chunk_rule rule)
{
	struct job j = new_job(120, 0, 0);
	hetpart_mpi_farm_opts o = HETPART_MPI_FARM_OPTS_INIT;
	uint64_t done = 0, others = 0, *all = calloc((size_t)size, sizeof *all);
	hetpart_err err;

	j.nap_us = rank == size - 1 && size > 2 ? 20000 : 1000;
	o.rule = rule;
	o.take = take;
	IS(hetpart_mpi_farm(120, work, &j, 0, MPI_COMM_WORLD, &o, &done, &err), HETPART_OK, &err,
	   "uneven");
	all_once(&j, 0, done);
	if (!all || MPI_Allgather(&done, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, MPI_COMM_WORLD))
		exit(1);
	for (int i = 1; i + 1 < size; i++)
		others += all[i];
	if (size > 2 && rule == HETPART_CHUNK_FIXED)
		CHECK(all[size - 1] * (uint64_t)(size - 2) < others,
		      "the slow one did %" PRIu64 ", the others %" PRIu64, all[size - 1], others);
	free(all);
	free_job(&j);
}

/* Fail on the rank that meets item 17. It keeps its own message; all others name that rank. */
static void failing_work(bool root_works, size_t result_bytes)
{
	struct job j = new_job(500, ITEM_BYTES, result_bytes);
	unsigned char *data = new_data(500, ITEM_BYTES);
	hetpart_mpi_farm_opts o = HETPART_MPI_FARM_OPTS_INIT;
	hetpart_err err = { HETPART_OK, "" };
	hetpart_status st;
	int failed, all = 0;

	j.work_fails_at = 17;
	o.root_works = root_works;
	o.item_bytes = ITEM_BYTES;
	o.data = data;
	st = hetpart_mpi_farm(500, work, &j, 0, MPI_COMM_WORLD, &o, NULL, &err);
	CHECK(st == HETPART_EFORMAT || st == HETPART_EPEER, "%d", (int)st);
	CHECK(st == err.status && strstr(err.text, "item 17 is bad"), "%s", err.text);
	CHECK((strncmp(err.text, "rank ", 5) == 0) == (st == HETPART_EPEER), "%s", err.text);
	failed = st == HETPART_EFORMAT;
	CHECK(MPI_Allreduce(&failed, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS &&
		      all == 1,
	      "%d ranks met the item", all);
	free_job(&j);
	free(data);
}

static void failing_take(size_t result_bytes)
{
	struct job j = new_job(300, 0, result_bytes);
	hetpart_mpi_farm_opts o = HETPART_MPI_FARM_OPTS_INIT;
	hetpart_err err = { HETPART_OK, "" };

	j.take_fails_at = 40;
	o.take = take;
	IS(hetpart_mpi_farm(300, work, &j, 0, MPI_COMM_WORLD, &o, NULL, &err),
	   rank == 0 ? HETPART_EIO : HETPART_EPEER, &err, "take");
	CHECK(strstr(err.text, "was not taken"), "%s", err.text);
	free_job(&j);
}

/* Refuse the first result, after which no rank gets another chunk. */
static hetpart_status refuse(void *ctx, int from, const hetpart_mpi_chunk *chunk,
			     const void *result, size_t result_bytes, hetpart_err *err)
{
	(void)ctx, (void)from, (void)chunk, (void)result, (void)result_bytes;
	snprintf(err->text, sizeof err->text, "no more of this");
	return HETPART_ENOSOL;
}

static void nothing_after_a_failure(void)
{
	const uint64_t workers = size > 1 ? (uint64_t)size - 1 : 1;
	struct job j = new_job(300, 0, 0);
	hetpart_mpi_farm_opts o = HETPART_MPI_FARM_OPTS_INIT;
	uint64_t done = 0, sum = 0;
	hetpart_err err = { HETPART_OK, "" };

	o.rule = HETPART_CHUNK_FIXED;
	o.chunk = 10;
	o.take = refuse;
	IS(hetpart_mpi_farm(300, work, &j, 0, MPI_COMM_WORLD, &o, &done, &err),
	   rank == 0 ? HETPART_ENOSOL : HETPART_EPEER, &err, "refused");
	CHECK(strstr(err.text, "no more of this"), "%s", err.text);
	CHECK(MPI_Allreduce(&done, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD) == MPI_SUCCESS &&
		      sum >= 10 && sum <= 10 * workers,
	      "%" PRIu64 " items worked on", sum);
	free_job(&j);
}

static hetpart_status bad_result(void *ctx, const hetpart_mpi_chunk *chunk, const void **result,
				 size_t *result_bytes, hetpart_err *err)
{
	(void)ctx;
	(void)err;
	*result = NULL;
	*result_bytes = (size_t)chunk->count;
	return HETPART_OK;
}

static void result_at_null(void)
{
	hetpart_err err = { HETPART_OK, "" };
	const hetpart_status st =
		hetpart_mpi_farm(1, bad_result, NULL, 0, MPI_COMM_WORLD, NULL, NULL, &err);

	CHECK(st == HETPART_EINVAL || (st == HETPART_EPEER && size > 1), "%d", (int)st);
	CHECK(strstr(err.text, "at NULL"), "%s", err.text);
}

int main(int argc, char **argv)
{
	start(&argc, &argv);
	sweep();
	for (int rule = HETPART_CHUNK_FIXED; rule <= HETPART_CHUNK_FACTORING; rule++)
		uneven((hetpart_chunk_rule)rule);
	for (int works = 0; works < 2; works++) {
		failing_work(works, 0);
		failing_work(works, 9000);
	}
	failing_take(0);
	failing_take(9000);
	nothing_after_a_failure();
	result_at_null();
	return finish();
}
