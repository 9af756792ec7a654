/* SPDX-License-Identifier: GPL-3.0-or-later */
/* More records, files or memory than was planned for, and a state of another rank: each is refused
 * with its reason, and no memory is lost. */
#include "spill_help.h"
#include "spill/file_heap.h"
#include "spill/run_formation.h"
#include "spill/resume_state.h"
#include "spill/sort_plan.h"
#include "spill/sorted_files.h"

#include <fcntl.h>
#include <string.h>

enum { RECORD = 100, RUN_RECS = 100, RUNS = 3 };

static void refused(status rc, status code, const char *words, const err *e)
{
	assert_int_equal(rc, code);
	assert_int_equal(e->code, code);
	if (!strstr(e->text, words))
		fail_msg("'%s' does not contain '%s'", e->text, words);
}

static void too_many_records(void **state)
{
	const load_plan p = { .lay = LAYOUT_BYTES(RECORD, 0, 10), .most_recs = 150 };
	mem m = { 0 };
	err e = { 0 };
	sorted_share d = { 0 };
	(void)state;
	refused(memory_share_room(&p, &m, SIZE_MAX / RECORD + 1, 0, &d, &e), ST_RESOURCE,
		"no memory for records: ", &e);
	e = (err){ 0 };
	good(memory_share_room(&p, &m, RUN_RECS, 0, &d, &e), &e);
	refused(memory_share_grow(&p, &m, &d, &e), ST_RESOURCE,
		"the input has more than the 150 records that fit within the memory limit", &e);
	assert_int_equal(d.memory.room, RUN_RECS);
	sorted_share_free(&m, &d);
	assert_int_equal(m.now_bytes, 0);
	/* twice as many as memory addresses */
	const load_plan most = { .lay = p.lay, .most_recs = UINT64_MAX };
	d = (sorted_share){ .memory.room = SIZE_MAX / RECORD / 2 + 1 };
	e = (err){ 0 };
	refused(memory_share_grow(&most, &m, &d, &e), ST_RESOURCE, "no memory for records: ", &e);
	assert_int_equal(d.memory.room, SIZE_MAX / RECORD / 2 + 1);
}

static status zeros(void *count, unsigned char *to, size_t n, size_t *got, err *e)
{
	(void)e;
	*(uint64_t *)count += n;
	memset(to, 0, n * RECORD);
	*got = n;
	return ST_OK;
}

/* A stream that does not end. */
static void endless_stream(void **state)
{
	const sort_plan b = { .spills = true,
			      .workers = 1,
			      .write_bytes = 1 << 16,
			      .run_recs = RUN_RECS,
			      .runs = RUNS,
			      .stride = 10 };
	const run_formation_plan p = { .load = { .n = RUNS * RUN_RECS,
						 .lay = LAYOUT_BYTES(RECORD, 0, 10),
						 .threads = 1,
						 .direct = DIRECT_NEVER },
				       .b = &b,
				       .dir = &here,
				       .dirs = 1,
				       .ranks_here = 1,
				       .full = "the disk is full" };
	mem m = { 0 };
	err e = { 0 };
	sorted_share d = { 0 };
	uint64_t count = 0;
	(void)state;
	refused(run_formation_stream(zeros, &count, &p, &m, &d, &e), ST_RESOURCE,
		"the input has more than 300 records: the disk is full", &e);
	assert_true(count > RUNS * RUN_RECS);
	sorted_share_free(&m, &d);
	assert_int_equal(m.now_bytes, 0);
}

/* A run that is shorter than planned is cut, and the disk fails. */
static void cut_fails(void **state)
{
	enum { REC = 1024, N = 2 * SPILL_WRITE_BYTES / REC };
	const spill_plan p = plan_of(&here, REC, 1, N);
	mem m = { 0 };
	err e = { 0 };
	spill *s;
	unsigned char *half = calloc(N / 2, REC);
	(void)state;
	assert_non_null(half);
	good(spill_open(&s, &m, &p, &e), &e);
	good(spill_run_begin(s, 0, N, &e), &e);
	good(spill_run_append(s, 0, half, N / 2, &e), &e);
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0 && dup3(fd, spill_run_layout(s, 0, N).fd, O_CLOEXEC) >= 0);
	refused(spill_run_end(s, 0, &e), ST_IO, "cannot shorten ", &e);
	close(fd);
	spill_close(s);
	free(half);
	assert_int_equal(m.now_bytes, 0);
}

static void too_many_files(void **state)
{
	mem m = { 0 };
	err e = { 0 };
	file_heap h;
	(void)state;
	refused(file_heap_open(&h, &m, UINT32_MAX, NULL, NULL, &e), ST_REFUSED,
		"too many inputs for one merge", &e);
}

static void state_of_another_rank(void **state)
{
	const resume_state was = { .rank = 1, .ranks = 3 }, is = { .rank = 1, .ranks = 4 };
	err e = { 0 };
	(void)state;
	good(resume_state_same_ranks(&was, &was, "old", &e), &e);
	refused(resume_state_same_ranks(&was, &is, "old", &e), ST_REFUSED,
		"state 'old' belongs to rank 1 of 3, not to rank 1 of 4", &e);
}

/* The ranks' cuts of a file were in the wrong order: either the file is not sorted, or it has
 * changed. */
static void crossed(void **state)
{
	enum { RECS = 100, UNSORTED_AT = 7 };
	static unsigned char recs[RECS * RECORD];
	char path[] = "crossed.XXXXXX";
	input_file file = { .path = path, .count = RECS, .fd = -1 };
	const input in = { .file = &file, .files = 1, .records = RECS };
	const reader_plan p = { .lay = LAYOUT_BYTES(RECORD, 0, 10), .direct = DIRECT_NEVER };
	mem m = { 0 };
	err e = { 0 };
	sorted *s;
	(void)state;
	recs[UNSORTED_AT * RECORD] = 1; /* the other keys are 0 */
	const int fd = mkostemp(path, O_CLOEXEC);
	assert_true(fd >= 0 && pwrite(fd, recs, sizeof recs, 0) == sizeof recs &&
		    fstat(fd, &file.st) == 0);
	good(sorted_files_open(&s, &m, &in, &p, 1, &e), &e);
	refused(sorted_files_crossed(s, 0, &e), ST_REFUSED,
		"is not sorted, as --merge requires: record 8 belongs before its predecessor", &e);
	e = (err){ 0 };
	assert_true(pwrite(fd, "", 1, UNSORTED_AT * RECORD) == 1);
	refused(sorted_files_crossed(s, 0, &e), ST_IO, "changed while it was being read", &e);
	sorted_files_close(s);
	close(fd);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(m.now_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many_records), cmocka_unit_test(endless_stream),
		cmocka_unit_test(cut_fails),        cmocka_unit_test(too_many_files),
		cmocka_unit_test(crossed),          cmocka_unit_test(state_of_another_rank)
	};
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
