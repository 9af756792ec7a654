/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs on disk: any range of written records can be read back, by any number of threads.
 *   test_spill                    execute the unit tests in $TEST_TMP
 *   test_spill DIR BYTES [OTHER]  write and read BYTES in DIR, where a file of OTHER bytes appears
 *                                 after the runs were opened
 * The second form prints the error and exits with its code. test_spill.sh makes calls fail in it.
 */
#include "spill_help.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Return how many records from `first` on fit the buffer, so that the read ends with a block. */
static uint64_t window(const spill *s, size_t run, uint32_t rec, uint64_t first, size_t buf_bytes)
{
	const uint64_t recs = spill_run_recs(s, run);
	const size_t block = spill_run_layout(s, run, recs).block_bytes;
	const uint64_t end = first * rec / block * block + buf_bytes / block * block;
	return (end < recs * rec ? end / rec : recs) - first;
}

/* Read the whole run in windows that end at blocks. */
static status read_windows(spill *s, size_t run, uint32_t rec, size_t buf_bytes, err *e)
{
	uint64_t at = 0;
	const unsigned char *recs;
	unsigned char *buf = aligned_alloc(SPILL_ALIGN, buf_bytes);
	status rc = buf ? ST_OK : ST_RESOURCE;
	while (rc == ST_OK && at < spill_run_recs(s, run)) {
		const uint64_t n = window(s, run, rec, at, buf_bytes);
		if (n == 0)
			rc = err_set(e, ST_INVALID, "no record fits a buffer for one");
		else
			rc = read_into(s, run, at, n, buf, buf_bytes, &recs, e);
		if (rc == ST_OK && !filled(recs, run, at * rec, (size_t)(n * rec)))
			rc = err_set(e, ST_INVALID, "the window at %" PRIu64 " differs", at);
		at += n;
	}
	free(buf);
	return rc;
}

static status read_keys(spill *s, size_t runs, uint32_t rec, uint64_t *seed, err *e)
{
	spill_view v = { .buf_bytes = spill_read_bytes(s, 1) };
	v.buf = aligned_alloc(SPILL_ALIGN, v.buf_bytes);
	status rc = v.buf ? ST_OK : ST_RESOURCE;
	uint64_t at = 0;
	for (int i = 0; rc == ST_OK && i < 60; i++) {
		const size_t run = (size_t)(next_random(seed) % runs);
		const uint64_t n = spill_run_recs(s, run);
		const unsigned char *r;
		if (n == 0)
			continue;
		at = i % 3 ? (at + 1) % n
			   : next_random(seed) % n; /* near the last one, or anywhere */
		rc = spill_key(s, &v, run, at, &r, e);
		if (rc == ST_OK && !filled(r, run, at * rec, rec))
			rc = err_set(e, ST_INVALID, "record %" PRIu64 " of run %zu differs", at,
				     run);
	}
	free(v.buf);
	return rc;
}

/* Write and read runs of the sizes at which blocks begin and end, and, if large, also pieces. */
static void round_trip(uint32_t rec, size_t block_bytes, bool buffered, bool large, bool held)
{
	enum { RUNS = 12, SMALL_RUNS = 8 };
	const size_t runs = large ? RUNS : SMALL_RUNS;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	const size_t block = block_bytes ? block_bytes : 128 << 10;
	const uint64_t b = block / rec > 2 ? block / rec : 2, piece = SPILL_WRITE_BYTES / rec;
	const uint64_t size[RUNS] = {
		0,     1,         2,         b - 1, b,         b + 1,
		2 * b, 3 * b + 1, piece - 1, piece, piece + 1, 3 * piece + b,
	};
	uint64_t total = 0, seed = rec;
	for (size_t i = 0; i < runs; i++)
		total += size[i];
	spill_plan p = plan_of(&here, rec, runs, total);
	p.block_bytes = block_bytes;
	p.buffered = buffered;
	p.memory_runs = held ? runs / 3 : 0; /* two to four of them, small and large */
	p.memory_recs = size[RUNS - 1];
	good(spill_open(&s, &m, &p, &e), &e);
	for (size_t i = 0; i < runs; i++)
		good(write_run(s, i, rec, size[i], 1 + next_random(&seed) % (b + 7), &e), &e);
	for (size_t i = 0; i < runs; i++) {
		assert_int_equal(spill_run_recs(s, i), size[i]);
		good(read_range(s, i, rec, 0, size[i], &e), &e);
		good(read_range(s, i, rec, size[i], 0, &e), &e);
		good(read_windows(s, i, rec, spill_read_bytes(s, size[i] / 7 + 1), &e), &e);
		if (size[i] <= 3 * b + 1)
			good(read_windows(s, i, rec, spill_read_bytes(s, 1), &e), &e);
		for (int k = 0; size[i] && k < 10; k++) {
			const uint64_t at = next_random(&seed) % size[i];
			const uint64_t most = size[i] - at < b + 9 ? size[i] - at : b + 9;
			good(read_range(s, i, rec, at, 1 + next_random(&seed) % most, &e), &e);
		}
	}
	good(read_keys(s, runs, rec, &seed, &e), &e);
	spill_close(s);
	assert_int_equal(m.now_bytes, 0);
}

static void round_trips(void **state)
{
	static const uint32_t rec[] = { 1, 7, 16, 100, 101, 4096, 4097, 65536 };
	(void)state;
	for (size_t i = 0; i < LEN(rec); i++) {
		round_trip(rec[i], 0, false, true, false);
		round_trip(rec[i], 4096, i % 2, rec[i] == 101, false);
		round_trip(rec[i], 4096, false, rec[i] == 100, true);
	}
	round_trip(100, 0, true, true, false);
	round_trip(100, 0, false, true, true);
}

/* Keep runs in memory: they have no file and reserve no disk space. A changed block is detected. */
static void runs_in_memory(void **state)
{
	enum { RUNS = 5, HELD = 2, RECS = 3000 };
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	const unsigned char *recs;
	spill_plan p = plan_of(&here, 100, RUNS, RUNS * RECS);
	(void)state;
	p.memory_runs = HELD;
	p.memory_recs = RECS;
	good(spill_open(&s, &m, &p, &e), &e);
	size_t held = 0, run = 0;
	assert_int_equal(spill_disk_recs(RUNS * RECS, RUNS, RECS, HELD), (RUNS - HELD) * RECS);
	assert_int_equal(spill_disk_recs(10, 4, 3, 2), 6); /* runs of 3, and 1 */
	assert_int_equal(spill_disk_recs(10, 4, 3, 4), 0);
	assert_int_equal(spill_disk_recs(10, 4, 3, 0), 10);
	for (size_t i = 0; i < RUNS; i++) {
		good(write_run(s, i, 100, RECS, 70, &e), &e);
		if (spill_run_layout(s, i, RECS).fd < 0) {
			held++;
			run = i;
		}
	}
	assert_int_equal(held, HELD);
	assert_int_equal(run, RUNS - 1);
	unsigned char *buf = aligned_alloc(SPILL_ALIGN, spill_read_bytes(s, 1));
	assert_non_null(buf);
	good(read_into(s, run, 2000, 1, buf, spill_read_bytes(s, 1), &recs, &e), &e);
	((unsigned char *)(uintptr_t)recs)[99] ^= 4;
	good(read_range(s, run, 100, 0, 100, &e), &e); /* another block */
	assert_int_equal(read_range(s, run, 100, 2001, 1, &e), ST_IO);
	assert_non_null(strstr(e.text, "'(memory)': block 1 of run 4 is damaged"));
	free(buf);
	spill_close(s);
	assert_int_equal(m.now_bytes, 0);
}

/* Refuse impossible plans, and runs that are longer than their memory. */
static void bad_runs_in_memory(void **state)
{
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	spill_plan p = plan_of(&here, 100, 2, 200);
	(void)state;
	p.memory_recs = 100;
	p.memory_runs = 3;
	assert_int_equal(spill_open(&s, &m, &p, &e), ST_INTERNAL);
	p.memory_runs = 2;
	static const spill_name names[2] = { { "named.0", false }, { "named.1", false } };
	p.name = names;
	e = (err){ ST_OK, "" };
	assert_int_equal(spill_open(&s, &m, &p, &e), ST_INTERNAL);
	p.name = NULL;
	p.memory_recs = UINT64_MAX / 100;
	e = (err){ ST_OK, "" };
	assert_int_equal(spill_open(&s, &m, &p, &e), ST_RESOURCE);
	p.memory_recs = 100;
	e = (err){ ST_OK, "" };
	good(spill_open(&s, &m, &p, &e), &e);
	assert_int_equal(spill_run_begin(s, 0, 101, &e), ST_OK); /* pages are filled */
	assert_int_equal(spill_run_begin(s, 1, 200, &e), ST_INTERNAL);
	spill_close(s);
	assert_int_equal(m.now_bytes, 0);
}

/* Read windows that begin and end at blocks: no byte is read twice, for the usual record. */
static void aligned_windows_waste_nothing(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	const spill_plan p = plan_of(&here, 100, 1, 100000);
	good(spill_open(&s, &m, &p, &e), &e);
	good(write_run(s, 0, 100, 100000, 1000, &e), &e);
	size_t buf_bytes;
	const uint64_t n = spill_chunk_recs(s, SPILL_WRITE_BYTES, &buf_bytes);
	assert_true(n * 100 > SPILL_WRITE_BYTES - 256 * 1024);
	assert_int_equal(n * 100 % SPILL_ALIGN, 0);
	assert_int_equal(buf_bytes, n * 100);
	unsigned char *buf = aligned_alloc(SPILL_ALIGN, buf_bytes);
	const unsigned char *recs;
	assert_non_null(buf);
	good(read_into(s, 0, n, n, buf, buf_bytes, &recs, &e), &e);
	good(read_into(s, 0, 99999, 1, buf, buf_bytes, &recs, &e), &e);
	assert_int_equal(read_into(s, 0, n, n + 1, buf, buf_bytes, &recs, &e), ST_INTERNAL);
	assert_int_equal(read_into(s, 0, 100000, 1, buf, buf_bytes, &recs, &e), ST_INTERNAL);
	free(buf);
	spill_close(s);
}

/* ------------------------------------------------------------------------------ threads */

enum { TEAM = 4, RUNS_EACH = 3, TEAM_REC = 100, TEAM_RECS = 30011 };

typedef struct member {
	spill *s;
	size_t index;
	bool reads;
	status rc;
	err e;
	pthread_t thread;
} member;

static void *member_main(void *arg)
{
	member *w = arg;
	uint64_t seed = w->index;
	for (size_t i = 0; w->rc == ST_OK && !w->reads && i < RUNS_EACH; i++)
		w->rc = write_run(w->s, i * TEAM + w->index, TEAM_REC, TEAM_RECS, 977, &w->e);
	for (int i = 0; w->rc == ST_OK && w->reads && i < 40; i++) {
		const size_t run = (size_t)(next_random(&seed) % (RUNS_EACH * TEAM));
		const uint64_t at = next_random(&seed) % TEAM_RECS;
		const uint64_t n = next_random(&seed) % (TEAM_RECS - at) % 4000;
		w->rc = read_range(w->s, run, TEAM_REC, at, n, &w->e);
	}
	if (w->rc == ST_OK && w->reads)
		w->rc = read_keys(w->s, RUNS_EACH * TEAM, TEAM_REC, &seed, &w->e);
	return NULL;
}

static void all_at_once(spill *s, bool reads)
{
	member w[TEAM];
	for (size_t i = 0; i < TEAM; i++) {
		w[i] = (member){ .s = s, .index = i, .reads = reads };
		assert_int_equal(pthread_create(&w[i].thread, NULL, member_main, &w[i]), 0);
	}
	for (size_t i = 0; i < TEAM; i++)
		pthread_join(w[i].thread, NULL);
	for (size_t i = 0; i < TEAM; i++)
		good(w[i].rc, &w[i].e);
}

static void many_threads(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	const size_t runs = RUNS_EACH * TEAM;
	spill_plan p = plan_of(&here, TEAM_REC, runs, runs * TEAM_RECS);
	p.buffers = TEAM;
	good(spill_open(&s, &m, &p, &e), &e);
	all_at_once(s, false);
	all_at_once(s, true);
	spill_close(s);
}

/* ------------------------------------------------------------------------------ the whole way */

static status put_other(const char *dir, uint64_t bytes, err *e)
{
	char name[256];
	snprintf(name, sizeof name, "%s/other", dir);
	const int fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	const int errnum = fd < 0 ? errno : posix_fallocate(fd, 0, (off_t)bytes);
	close(fd);
	return errnum ? err_set(e, ST_INTERNAL, "no other file: %s", strerror(errnum)) : ST_OK;
}

static status fill_and_read(const char *dir, uint64_t bytes, uint64_t other, err *e)
{
	enum { RUNS = 4, REC = 100 };
	const uint64_t n = bytes / REC / RUNS;
	mem m = { 0, 0 };
	spill *s;
	const spill_plan p = plan_of(&dir, REC, RUNS, RUNS * n);
	status rc = spill_open(&s, &m, &p, e);
	if (rc == ST_OK && other)
		rc = put_other(dir, other, e);
	for (size_t i = 0; rc == ST_OK && i < RUNS; i++)
		rc = write_run(s, i, REC, n, 1009, e);
	for (size_t i = 0; rc == ST_OK && i < RUNS; i++)
		rc = read_windows(s, i, REC, 1 << 20, e);
	spill_close(s);
	return rc;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trips),
		cmocka_unit_test(runs_in_memory),
		cmocka_unit_test(bad_runs_in_memory),
		cmocka_unit_test(aligned_windows_waste_nothing),
		cmocka_unit_test(many_threads),
	};
	if (argc > 2) {
		err e = { ST_OK, "" };
		const uint64_t other = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
		const status rc = fill_and_read(argv[1], strtoull(argv[2], NULL, 10), other, &e);
		if (rc != ST_OK)
			fprintf(stderr, "%s\n", e.text);
		return (int)rc;
	}
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
