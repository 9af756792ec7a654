/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The checksum of the input is computed as the bytes arrive. If a bit of a record flips when the
 * next bytes are requested, the checksum does not contain it. So the checksum of the output
 * differs, and the damage is detected. */
#include "spill_help.h"
#include "io/reader.h"
#include "spill/record_stream.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	STEP_BYTES = 256 << 10,
	RECORD_BYTES = 100,
	RECS = 90 << 10, /* whole pages: direct I/O reads no part of a page later */
	STEPS = RECS * RECORD_BYTES / STEP_BYTES,
	CHUNKS = 3 /* of direct I/O */
};

static const layout lay = LAYOUT_BYTES(RECORD_BYTES, 0, 10);
static _Alignas(IO_FD_ALIGN) unsigned char recs[RECS * RECORD_BYTES];
static unsigned char were[RECS * RECORD_BYTES];
static size_t flips;

/* Flip a bit before the buffer. pread and read below replace the functions of the C library. */
static void flip_before(const void *to)
{
	const uintptr_t at = (uintptr_t)to - (uintptr_t)recs;
	if (at < RECORD_BYTES || at >= sizeof recs)
		return;
	recs[at - RECORD_BYTES] ^= 4;
	flips++;
}

ssize_t pread(int fd, void *buf, size_t n, off_t at)
{
	flip_before(buf);
	return syscall(SYS_pread64, fd, buf, n, at);
}

ssize_t read(int fd, void *buf, size_t n)
{
	flip_before(buf);
	return syscall(SYS_read, fd, buf, n);
}

static void write_input(const char *path)
{
	for (size_t i = 0; i < sizeof were; i++)
		were[i] = (unsigned char)(i * 2654435761U >> 13);
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, were, sizeof were), sizeof were);
	close(fd);
}

static void check_sum(checksum got, size_t least)
{
	const checksum wanted = checksum_records(&lay, were, RECS);
	assert_int_equal(got.hi, wanted.hi);
	assert_int_equal(got.lo, wanted.lo);
	assert_true(flips >= least);
	assert_memory_not_equal(recs, were, sizeof recs);
}

/* Make the entries of records that have just arrived. */
static void arrived(void *entries_, uint64_t pos, size_t n)
{
	entry *entries = entries_;
	for (uint64_t i = pos; i < pos + n; i++)
		entries[i] = entry_make(recs + i * RECORD_BYTES, &lay, i);
}

static void load(char *path, direct_io direct, size_t least)
{
	static entry entries[RECS];
	err e = { ST_OK, "" };
	input_file file = { .path = path, .count = RECS, .fd = -1 };
	const input in = { .file = &file, .files = 1, .records = RECS };
	const reader_plan p = { 0, RECS, lay, direct };
	loading got = { .arrived = arrived, .arrived_to = entries };
	reader *r;
	write_input(path);
	assert_int_equal(stat(path, &file.st), 0);
	flips = 0;
	good(reader_open(&r, &in, &p, &e), &e);
	good(reader_load(r, 0, RECS, recs, &got, &e), &e);
	reader_close(r);
	check_sum(got.sum, least);
	for (size_t i = 0; i < RECS; i++) {
		const entry wanted = entry_make(were + i * RECORD_BYTES, &lay, i);
		assert_memory_equal(&entries[i], &wanted, sizeof wanted);
	}
}

static void of_files(void **state)
{
	static char path[] = "in";
	(void)state;
	load(path, DIRECT_NEVER, STEPS - 1);
}

static void of_files_by_direct_io(void **state)
{
	static char path[] = "in";
	(void)state;
	load(path, DIRECT_ALWAYS, CHUNKS - 1);
}

/* Read files of a file system in memory through the page cache. */
static void of_files_in_memory(void **state)
{
	static char path[64];
	(void)state;
	snprintf(path, sizeof path, "/dev/shm/test_checksum_steps.%ld", (long)getpid());
	if (access("/dev/shm", W_OK) != 0)
		skip();
	load(path, DIRECT_AUTO, STEPS - 1);
	unlink(path);
}

static void of_standard_input(void **state)
{
	err e = { ST_OK, "" };
	record_stream from = { .lay = lay, .fd = STDIN_FILENO, .path = "-" };
	size_t got;
	(void)state;
	write_input("in");
	flips = 0;
	const int fd = open("in", O_RDONLY);
	assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	good(record_stream_take(&from, recs, RECS, &got, &e), &e);
	close(fd);
	assert_int_equal(got, RECS);
	check_sum(from.sum, STEPS - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_files),
		cmocka_unit_test(of_files_by_direct_io),
		cmocka_unit_test(of_files_in_memory),
		cmocka_unit_test(of_standard_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
