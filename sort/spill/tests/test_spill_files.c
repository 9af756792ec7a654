/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The files of runs on disk: damage is detected, directories are checked, and no file is left. */
#include "testing/tests/open_files.h"
#include "spill_help.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

/* Return the descriptor of the only regular file of this size without a name. */
static int spill_file(off_t bytes)
{
	for (int fd = 3; fd < 1024; fd++) {
		struct stat st;
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 &&
		    st.st_size == bytes)
			return fd;
	}
	return -1;
}

static void flip(off_t bytes, off_t at)
{
	char name[40];
	unsigned char c;
	snprintf(name, sizeof name, "/proc/self/fd/%d", spill_file(bytes));
	const int fd = open(name, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &c, 1, at), 1);
	c ^= 0x10;
	assert_int_equal(pwrite(fd, &c, 1, at), 1);
	close(fd);
}

static void a_flipped_bit_is_found(void **state)
{
	enum { BLOCK = 8192, RECS = 1000, BYTES = (RECS * 100 + 4095) / 4096 * 4096 };
	static const off_t places[] = { 0, BLOCK - 1, BLOCK, 5 * BLOCK + 17, RECS * 100 - 1 };
	(void)state;
	for (size_t i = 0; i < 2 * LEN(places); i++) {
		err e = { ST_OK, "" };
		char wanted[80];
		mem m = { 0, 0 };
		spill *s;
		spill_plan p = plan_of(&here, 100, 1, RECS);
		p.block_bytes = BLOCK;
		p.buffered = i % 2;
		const off_t at = places[i / 2];
		const uint64_t block = (uint64_t)at / BLOCK, first = block * BLOCK / 100;
		good(spill_open(&s, &m, &p, &e), &e);
		good(write_run(s, 0, 100, RECS, 33, &e), &e);
		flip(BYTES, at);
		/* the blocks before and after are not damaged */
		if (first > 0)
			good(read_range(s, 0, 100, 0, first, &e), &e);
		if (block < 12)
			good(read_range(s, 0, 100, (block + 1) * BLOCK / 100 + 1, 1, &e), &e);
		/* other records of that block cannot be read either */
		assert_int_equal(read_range(s, 0, 100, first + 2, 1, &e), ST_IO);
		snprintf(wanted, sizeof wanted, "': block %" PRIu64 " of run 0 is damaged", block);
		assert_non_null(strstr(e.text, wanted));
		assert_non_null(strstr(e.text, here));
		spill_close(s);
	}
}

static void a_file_cut_short_is_found(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	const spill_plan p = plan_of(&here, 4096, 1, 100);
	good(spill_open(&s, &m, &p, &e), &e);
	good(write_run(s, 0, 4096, 100, 7, &e), &e);
	assert_int_equal(ftruncate(spill_file(100 * 4096), 50 * 4096), 0);
	good(read_range(s, 0, 4096, 0, 32, &e), &e);
	assert_int_equal(read_range(s, 0, 4096, 90, 2, &e), ST_IO);
	spill_close(s);
}

/* ------------------------------------------------------------------------------ directories */

static void bad_directories(void **state)
{
	(void)state;
	char open_to_all[256], a_file[256], missing[256];
	snprintf(open_to_all, sizeof open_to_all, "%s/open", here);
	snprintf(a_file, sizeof a_file, "%s/file", here);
	snprintf(missing, sizeof missing, "%s/missing", here);
	assert_int_equal(mkdir(open_to_all, 0700), 0);
	close(open(a_file, O_CREAT | O_WRONLY, 0600));
	const struct {
		const char *dir;
		mode_t mode;
		const char *words; /* NULL: accepted */
	} cases[] = {
		{ missing, 0, "cannot open temporary directory" },
		{ "", 0, "cannot open temporary directory" },
		{ a_file, 0, "Not a directory" },
		{ open_to_all, 0777, "is writable by everybody and has no sticky bit" },
		{ open_to_all, 01777, NULL },
		{ open_to_all, 0700, NULL },
		/* root may write in it */
		{ open_to_all, 0500, geteuid() ? "cannot write in temporary directory" : NULL },
		{ "/proc", 0, "" },
	};
	for (size_t i = 0; i < LEN(cases); i++) {
		const char *both[] = { here, cases[i].dir };
		err e = { ST_OK, "" };
		if (cases[i].mode)
			assert_int_equal(chmod(open_to_all, cases[i].mode), 0);
		const status rc = spill_dirs_check(both, 2, 0, 0, &e);
		if (!cases[i].words) {
			good(rc, &e);
			continue;
		}
		assert_int_not_equal(rc, ST_OK);
		assert_non_null(strstr(e.text, cases[i].words));
		assert_non_null(strstr(e.text, cases[i].dir));
	}
	rmdir(open_to_all);
	unlink(a_file);
}

/* Create files without names, only for this user, in all directories; closing removes them. */
static void files(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	char other[256];
	snprintf(other, sizeof other, "%s/other", here);
	assert_int_equal(mkdir(other, 0700), 0);
	const char *dirs[] = { here, other };
	const size_t before = open_files();
	spill_plan p = plan_of(dirs, 4096, 5, 100);
	p.dirs = 2;
	p.buffered = true;
	good(spill_open(&s, &m, &p, &e), &e);
	assert_int_equal(open_files(), before + 5 + 2);
	spill_close(s);
	p.buffered = false; /* a second descriptor for each, if direct I/O is available */
	tempdir t;
	io_fd f;
	good(tempdir_open(&t, here, &e), &e);
	good(tempdir_create(&t, NULL, false, &f, &e), &e);
	const int direct = t.in_memory ? -1 : io_fd_open_direct(f.fd, O_RDWR);
	close(direct);
	close(f.fd);
	tempdir_close(&t);
	good(spill_open(&s, &m, &p, &e), &e);
	assert_int_equal(open_files(), before + (direct < 0 ? 5 : 2 * 5) + 2);
	assert_int_equal(rmdir(other), 0); /* it is empty */
	good(write_run(s, 1, 4096, 20, 1, &e), &e);
	struct stat st;
	const int fd = spill_file(20 * 4096);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	good(read_range(s, 1, 4096, 3, 9, &e), &e);
	spill_close(s);
	assert_int_equal(spill_file(20 * 4096), -1);
	assert_int_equal(open_files(), before);
	assert_int_equal(m.now_bytes, 0);
}

static void wrong(status rc, err *e)
{
	assert_int_equal(rc, ST_INTERNAL);
	assert_non_null(strstr(e->text, "spilled run"));
	*e = (err){ ST_OK, "" };
}

/* Write a run again from its begin, to the next directory that has room. */
static void another_directory(void **state)
{
	enum { REC = 100, RECS = 5000 };
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	char other[256], text[80], wanted[300];
	uint64_t again;
	unsigned char some[40 * REC];
	snprintf(other, sizeof other, "%s/other", here);
	assert_int_equal(mkdir(other, 0700), 0);
	const char *dirs[] = { other, here };
	spill_plan p = plan_of(dirs, REC, 4, 4 * RECS);
	p.dirs = 2;
	static const spill_name names[] = {
		{ "run-0", false }, { "run-1", false }, { "run-2", false }, { "run-3", false }
	};
	p.name = names;
	p.block_bytes = p.write_bytes = SPILL_ALIGN; /* some of it is on the disk */
	const size_t before = open_files();
	good(spill_open(&s, &m, &p, &e), &e);
	assert_false(spill_run_again(s, 0)); /* it has not begun */
	good(spill_run_begin(s, 0, RECS, &e), &e);
	fill(some, 1, 7, sizeof some); /* other bytes than it will have */
	good(spill_run_append(s, 0, some, 40, &e), &e);
	assert_true(spill_run_again(s, 0));
	wrong(spill_run_append(s, 0, some, 1, &e), &e);
	wrong(spill_run_begin(s, 0, RECS + 1, &e), &e);
	good(write_run(s, 0, REC, RECS, 33, &e), &e);
	/* all other runs are also written to the directory that has room */
	for (size_t i = 1; i < 4; i++)
		good(write_run(s, i, REC, RECS, 33, &e), &e);
	for (size_t i = 0; i < 4; i++)
		good(read_range(s, i, REC, 0, RECS, &e), &e);
	for (size_t i = 0; i < 4; i++) {
		snprintf(wanted, sizeof wanted, "%s/run-%zu", other, i);
		assert_int_equal(access(wanted, F_OK), -1);
		snprintf(wanted, sizeof wanted, "%s/run-%zu", here, i);
		assert_int_equal(unlink(wanted), 0);
	}
	assert_int_equal(rmdir(other), 0);
	spill_left_out(s, text, sizeof text, &again);
	assert_int_equal(again, 1);
	snprintf(wanted, sizeof wanted, "'%s'", other);
	assert_string_equal(text, strlen(wanted) + 24 <= sizeof text ? wanted : "1 more");
	spill_close(s);
	assert_int_equal(open_files(), before);
	assert_int_equal(m.now_bytes, 0);
}

static void the_last_directory(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	char text[80];
	uint64_t again;
	const char *dirs[] = { here, here, here };
	spill_plan p = plan_of(dirs, 4096, 3, 30);
	p.dirs = 3;
	good(spill_open(&s, &m, &p, &e), &e);
	for (size_t i = 0; i < 2; i++) {
		good(spill_run_begin(s, 2, 10, &e), &e);
		assert_true(spill_run_again(s, 2));
	}
	good(spill_run_begin(s, 2, 10, &e), &e);
	assert_false(spill_run_again(s, 2));
	spill_left_out(s, text, 26, &again); /* room for a count only */
	assert_int_equal(again, 2);
	assert_string_equal(text, "2 more");
	spill_close(s);
	assert_int_equal(m.now_bytes, 0);
}

/* End a run with fewer records than were announced: it keeps no more space than it needs. */
static void a_shorter_run(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	const unsigned char rec[4096] = { 0 };
	const spill_plan p = plan_of(&here, 4096, 1, 1000);
	good(spill_open(&s, &m, &p, &e), &e);
	good(spill_run_begin(s, 0, 1000, &e), &e);
	for (int i = 0; i < 3; i++)
		good(spill_run_append(s, 0, rec, 1, &e), &e);
	good(spill_run_end(s, 0, &e), &e);
	assert_int_equal(spill_run_recs(s, 0), 3);
	struct stat st;
	assert_int_equal(fstat(spill_file(3 * 4096), &st), 0);
	assert_true(st.st_blocks * 512 < 100 * 4096);
	spill_close(s);
}

/* Write n records of run 0 where there is room for them; return how many had no room. */
static uint64_t put_in_room(spill *s, uint32_t rec, uint64_t n, size_t most)
{
	err e = { ST_OK, "" };
	unsigned char one[4097];
	uint64_t apart = 0;
	for (uint64_t at = 0, some; at < n; at += some) {
		size_t k = (size_t)(n - at);
		unsigned char *to = spill_run_room(s, 0, &k);
		assert_true(k <= most);
		if (k == 0) {
			k = 1;
			to = one;
			apart++;
		}
		some = k;
		fill(to, 0, at * rec, k * rec);
		good(spill_run_append(s, 0, to, k, &e), &e);
	}
	return apart;
}

/* Check the room for records. It ends at the end of a block, or has one record that lies in two
 * blocks. There is no room for a record that lies in two writes. */
static void room_for_records(void **state)
{
	static const struct {
		uint32_t rec;
		uint64_t n;
		size_t most;
		uint64_t apart; /* records that lie in two writes */
	} cases[] = { { 100, 100000, 1024, 0 }, { 4096, 5000, 32, 0 }, { 4097, 5000, 31, 4 } };
	(void)state;
	for (size_t i = 0; i < LEN(cases); i++) {
		const uint64_t n = cases[i].n;
		const uint32_t rec = cases[i].rec;
		err e = { ST_OK, "" };
		mem m = { 0, 0 };
		spill *s;
		const spill_plan p = plan_of(&here, rec, 1, n);
		good(spill_open(&s, &m, &p, &e), &e);
		good(spill_run_begin(s, 0, n, &e), &e);
		assert_int_equal(put_in_room(s, rec, n, cases[i].most), cases[i].apart);
		good(spill_run_end(s, 0, &e), &e);
		good(read_range(s, 0, rec, 0, n, &e), &e);
		spill_close(s);
	}
}

static void too_large_a_plan(void **state)
{
	(void)state;
	static const struct {
		uint64_t recs;
		unsigned ranks;
	} plans[] = { { UINT64_C(1) << 50, 1 }, { UINT64_MAX, 1 }, { 100, 1U << 31 } };
	mem m = { 0, 0 };
	for (size_t i = 0; i < LEN(plans); i++) {
		err e = { ST_OK, "" };
		spill *s;
		spill_plan p = plan_of(&here, 65536, 1, plans[i].recs);
		p.block_bytes = 1 << 30; /* few checksums: only the disk is too small */
		p.buffers = 0;
		p.ranks_here = plans[i].ranks;
		assert_int_equal(spill_open(&s, &m, &p, &e), ST_RESOURCE);
		assert_null(s);
		assert_true(strstr(e.text, "but runs need") || strstr(e.text, "too many"));
		assert_int_equal(m.now_bytes, 0);
	}
}

static void misuse(void **state)
{
	(void)state;
	enum { ROOM = 1 << 20 };
	err e = { ST_OK, "" };
	mem m = { 0, 0 };
	spill *s;
	const unsigned char *recs, rec[100] = { 0 };
	unsigned char *buf = aligned_alloc(SPILL_ALIGN, ROOM);
	spill_plan p = plan_of(&here, 100, 3, 3000);
	good(spill_open(&s, &m, &p, &e), &e);
	wrong(spill_run_append(s, 0, rec, 1, &e), &e);
	wrong(spill_run_begin(s, 3, 1, &e), &e);
	wrong(spill_run_begin(s, 0, UINT64_MAX, &e), &e);
	good(spill_run_begin(s, 0, 2, &e), &e);
	wrong(spill_run_begin(s, 0, 2, &e), &e); /* twice */
	wrong(spill_run_begin(s, 1, 2, &e), &e); /* one writer is planned */
	wrong(read_into(s, 0, 0, 1, buf, ROOM, &recs, &e), &e);
	good(spill_run_append(s, 0, rec, 1, &e), &e);
	wrong(spill_run_append(s, 0, rec, 2, &e), &e);
	good(spill_run_end(s, 0, &e), &e);
	wrong(spill_run_end(s, 0, &e), &e);
	wrong(read_into(s, 0, 0, 2, buf, ROOM, &recs, &e), &e);
	wrong(read_into(s, 0, UINT64_MAX, 2, buf, ROOM, &recs, &e), &e);
	wrong(read_into(s, 0, 0, 1, buf + 1, ROOM - 1, &recs, &e), &e);
	wrong(read_into(s, 0, 0, 1, buf, SPILL_ALIGN - 1, &recs, &e), &e);
	wrong(spill_run_begin(s, 2, 10000000, &e), &e);
	assert_true(spill_read_bytes(s, UINT64_MAX) == SIZE_MAX);
	spill_close(s);
	free(buf);
}

static uint64_t free_bytes(const char *dir)
{
	struct statvfs fs;
	return statvfs(dir, &fs) == 0 ? (uint64_t)fs.f_bfree * fs.f_frsize : 0;
}

/* Kill a process with runs: the disk space is free again. Other programs use the disk too, so the
 * runs are large. */
static void killed(void **state)
{
	enum { REC = 4096, RECS = 16384 };
	(void)state;
	int ready[2];
	char c;
	assert_int_equal(pipe(ready), 0);
	const pid_t child = fork();
	if (child == 0) {
		err e = { ST_OK, "" };
		mem m = { 0, 0 };
		spill *s;
		const spill_plan p = plan_of(&here, REC, 1, RECS);
		if (spill_open(&s, &m, &p, &e) == ST_OK &&
		    write_run(s, 0, REC, RECS, 256, &e) == ST_OK && write(ready[1], "x", 1) == 1)
			pause();
		_exit(1);
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	const uint64_t during = free_bytes(here);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	uint64_t after = 0;
	for (int i = 0; i < 100 && after < during + REC * RECS / 2; i++) {
		after = free_bytes(here); /* the kernel frees extents later */
		usleep(10000);
	}
	assert_true(after >= during + REC * RECS / 2);
	DIR *d = opendir(here);
	for (struct dirent *f = readdir(d); f; f = readdir(d))
		assert_true(f->d_name[0] == '.' && !strstr(f->d_name, "hetsort"));
	closedir(d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flipped_bit_is_found),
		cmocka_unit_test(a_file_cut_short_is_found),
		cmocka_unit_test(bad_directories),
		cmocka_unit_test(files),
		cmocka_unit_test(another_directory),
		cmocka_unit_test(the_last_directory),
		cmocka_unit_test(a_shorter_run),
		cmocka_unit_test(room_for_records),
		cmocka_unit_test(too_large_a_plan),
		cmocka_unit_test(misuse),
		cmocka_unit_test(killed),
	};
	return cmocka_run_group_tests(tests, begin_tests, end_tests);
}
