/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that shrink while they are mapped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "io/reader.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 8 };

static int file_of_pages(void)
{
	char name[] = "mapped.XXXXXX", page[PAGE];
	const int fd = mkstemp(name);
	assert_true(fd >= 0);
	unlink(name);
	memset(page, 'x', sizeof page);
	for (int i = 0; i < PAGES; i++)
		assert_true(write(fd, page, sizeof page) == PAGE);
	return fd;
}

static unsigned char read_byte(const unsigned char *at)
{
	return *(const volatile unsigned char *)at;
}

static void test_reads_the_file(void **unused)
{
	(void)unused;
	const int fd = file_of_pages();
	mapped m;
	const unsigned char *at = mapped_open(&m, fd, 100, 2 * PAGE);
	assert_non_null(at);
	for (int i = 0; i < 2 * PAGE; i++)
		assert_int_equal(read_byte(at + i), 'x');
	assert_false(mapped_shrank(&m));
	mapped_close(&m);
	assert_null(mapped_open(&m, -1, 0, PAGE));
	assert_false(mapped_shrank(&m));
	mapped_close(&m);
	close(fd);
}

static void test_shrinks(void **unused)
{
	(void)unused;
	const int fd = file_of_pages(), other = file_of_pages();
	mapped m, n;
	const unsigned char *at = mapped_open(&m, fd, 0, PAGES * PAGE);
	const unsigned char *next = mapped_open(&n, other, 0, PAGES * PAGE);
	assert_non_null(at);
	assert_non_null(next);
	assert_int_equal(ftruncate(fd, 3 * PAGE), 0);
	assert_int_equal(read_byte(at + 3 * PAGE - 1), 'x');
	assert_false(mapped_shrank(&m));
	for (int i = 3; i < PAGES; i++)
		assert_int_equal(read_byte(at + i * PAGE + i), 0);
	assert_true(mapped_shrank(&m));
	assert_false(mapped_shrank(&n));
	assert_int_equal(read_byte(next), 'x');
	mapped_close(&m);
	at = mapped_open(&m, fd, 0, 3 * PAGE);
	assert_non_null(at);
	assert_false(mapped_shrank(&m));
	mapped_close(&m);
	mapped_close(&n);
	close(other);
	close(fd);
}

/* Check that a lost page of another mapping ends the process, as without this module. */
static void test_other_mappings(void **unused)
{
	(void)unused;
	const pid_t child = fork();
	if (child == 0) {
		const int fd = file_of_pages();
		mapped m;
		if (signal(SIGBUS, SIG_DFL) == SIG_ERR || !mapped_open(&m, fd, 0, PAGE))
			_exit(1);
		const unsigned char *own = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
		if (own == MAP_FAILED || ftruncate(fd, PAGE) != 0)
			_exit(1);
		_exit(read_byte(own + 2 * PAGE));
	}
	int how;
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_true(WIFSIGNALED(how) && WTERMSIG(how) == SIGBUS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_the_file),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_other_mappings),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
