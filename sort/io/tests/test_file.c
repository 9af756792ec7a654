/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files in memory are not files on disk: no pages are allocated in advance, only the free space is
 * checked. Ranks write large pieces to one file in turns. A file that replaced a manifest is
 * kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "io/file.h"
#include "io/io_fd.h"
#include "io/journal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES = 1 << 20 };

static int in_memory(void)
{
	const int fd = memfd_create("test_file", MFD_CLOEXEC);
	assert_true(fd >= 0 && file_is_in_memory(fd));
	return fd;
}

/* Make a file on disk. Skip the test if temporary files are in memory, too. */
static int on_disk(void)
{
	char name[] = "file.XXXXXX";
	const int fd = mkstemp(name);
	assert_true(fd >= 0 && unlink(name) == 0);
	if (file_is_in_memory(fd)) {
		close(fd);
		skip();
	}
	return fd;
}

static blkcnt_t reserved(int fd)
{
	err e = { ST_OK, "" };
	struct stat st;
	assert_int_equal(file_reserve(fd, BYTES, "a", &e), ST_OK);
	assert_int_equal(fstat(fd, &st), 0);
	close(fd);
	return st.st_blocks;
}

static void no_pages_in_advance(void **state)
{
	(void)state;
	assert_int_equal(reserved(in_memory()), 0);
}

static void blocks_in_advance(void **state)
{
	(void)state;
	assert_true(reserved(on_disk()) >= BYTES / 512);
}

static void no_room(void **state)
{
	err e = { ST_OK, "" };
	struct statvfs fs;
	const int fd = open("/dev/shm", O_RDONLY | O_DIRECTORY);
	(void)state;
	if (fd < 0 || !file_is_in_memory(fd) || fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0)
		skip();
	assert_int_equal(file_reserve(fd, INT64_MAX, "a", &e), ST_RESOURCE);
	assert_non_null(strstr(e.text, " for 'a': No space left on device"));
	close(fd);
}

/* A second opening of the file that is written, as another rank has; and whether another rank would
 * have had to wait during the last write. pwrite below replaces the function of the C library. */
static int others = -1;
static bool was_locked;

ssize_t pwrite(int fd, const void *buf, size_t n, off_t at)
{
	was_locked = flock(others, LOCK_EX | LOCK_NB) != 0;
	(void)flock(others, LOCK_UN);
	return syscall(SYS_pwrite64, fd, buf, n, at);
}

static void large_writes_take_turns(void **state)
{
	static const struct {
		bool turns;
		size_t bytes;
		bool locks;
	} writes[] = { { true, BYTES, true },
		       { true, 64 << 10, true },
		       { true, (64 << 10) - 1, false },
		       { false, BYTES, false } };
	static unsigned char content[BYTES], got[BYTES];
	(void)state;
	const int fd = open("shared", O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	others = open("shared", O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0 && others >= 0 && unlink("shared") == 0);
	for (size_t i = 0; i < sizeof writes / sizeof *writes; i++) {
		const io_fd f = { .fd = fd, .direct = -1, .turns = writes[i].turns };
		err e = { ST_OK, "" };
		memset(content, (int)i + 1, BYTES);
		assert_int_equal(io_fd_write_at(&f, content, writes[i].bytes, 0, "a", &e), ST_OK);
		assert_int_equal(was_locked, writes[i].locks);
		assert_int_equal(flock(others, LOCK_EX | LOCK_NB), 0);
		assert_int_equal(flock(others, LOCK_UN), 0);
		assert_int_equal(io_fd_read_at(&f, got, writes[i].bytes, 0, "a", &e), ST_OK);
		assert_memory_equal(got, content, writes[i].bytes);
	}
	close(others);
	close(fd);
}

/* A file of another program has the manifest's name, when the manifest is to be put aside. */
static void not_a_manifest(void **state)
{
	static const char name[] = "out.manifest";
	target m;
	err e = { ST_OK, "" };
	(void)state;
	const int fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0 && write(fd, "notes", 5) == 5);
	assert_int_equal(target_open(&m, name, &e), ST_OK);
	assert_int_equal(journal_put_aside(&m, false, &e), ST_REFUSED);
	assert_string_equal(e.text, "'out.manifest' is no longer a manifest of hetsort");
	target_discard(&m);
	struct stat was, is;
	assert_int_equal(fstat(fd, &was), 0);
	assert_int_equal(stat(name, &is), 0);
	assert_true(was.st_ino == is.st_ino && is.st_size == 5);
	close(fd);
	assert_int_equal(unlink(name), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_pages_in_advance),
		cmocka_unit_test(blocks_in_advance),
		cmocka_unit_test(no_room),
		cmocka_unit_test(large_writes_take_turns),
		cmocka_unit_test(not_a_manifest),
	};
	const char *tmp = getenv("TEST_TMP");
	if (tmp && chdir(tmp) != 0)
		return 1;
	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
