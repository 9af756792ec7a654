/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies of the input on several hosts: complete ones are accepted, whatever their times. A copy
 * that differs in a sampled block, or in its size, is refused by name. On one host only the same
 * file is accepted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "phases/same_files.h"

enum { RANKS = 3, BLOCKS = 66, BLOCK = 4096 };

typedef struct trial {
	const char *path[RANKS];
	bool one_host;
	status rc[RANKS];
	char said[RANKS][ERR_TEXT_BYTES];
} trial;

static status compare_files(comm *c, void *trial_)
{
	trial *t = trial_;
	const settings o = { .lay = LAYOUT_BYTES(10, 0, 10),
			     .inputs = &t->path[c->rank],
			     .ninputs = 1 };
	rank_env env = { .c = c, .o = &o };
	input in;
	memset(c->host, 0, sizeof c->host);
	strcpy(c->host, "host"); /* containers may have one name */
	c->host_id = t->one_host ? 0 : (uint64_t)c->rank;
	status rc = comm_agree(c, input_describe(&in, &o, c->rank, false, &env.e));
	if (rc == ST_OK)
		(void)same_input(&env, &in, !t->one_host);
	input_free(&in);
	t->rc[c->rank] = env.e.code;
	memcpy(t->said[c->rank], env.e.text, ERR_TEXT_BYTES);
	return rc == ST_OK && env.m.now_bytes == 0 ? ST_OK : ST_INTERNAL;
}

static trial of(const char *other, bool one_host)
{
	trial t = { .path = { "copy0", "copy0", other }, .one_host = one_host };
	err e = { ST_OK, "" };
	assert_int_equal(comm_local_run(RANKS, compare_files, &t, &e), ST_OK);
	assert_int_equal(t.rc[0], ST_OK);
	assert_int_equal(t.rc[1], ST_OK);
	return t;
}

/* Make a file of this size. The byte at *odd, if it is inside, differs. */
static void make(const char *path, size_t bytes, size_t odd)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (size_t i = 0; i < bytes; i++)
		assert_true(putc((int)(i * 7 % 251) ^ (i == odd), f) != EOF);
	assert_int_equal(fclose(f), 0);
}

static void assert_refused(const trial *t, const char *how)
{
	char words[128];
	snprintf(words, sizeof words, "input '%s' %s than on rank 0 (host)", t->path[2], how);
	assert_int_equal(t->rc[2], ST_PEER);
	assert_string_equal(t->said[2], words);
}

static const size_t sizes[] = { 0, 10, BLOCK + 4, 50000, 4L * BLOCKS *BLOCK };

static void good_copies_are_accepted(void **state)
{
	const struct timespec long_ago[2] = { { 1, 0 }, { 2, 0 } };
	(void)state;
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		const size_t bytes = sizes[i] / 10 * 10;
		make("copy0", bytes, SIZE_MAX);
		make("copy1", bytes, SIZE_MAX);
		assert_int_equal(utimensat(AT_FDCWD, "copy1", long_ago, 0), 0);
		assert_int_equal(of("copy1", false).rc[2], ST_OK);
	}
}

static void old_copies_are_refused(void **state)
{
	(void)state;
	for (size_t i = 1; i < sizeof sizes / sizeof *sizes; i++) {
		const size_t bytes = sizes[i] / 10 * 10;
		const size_t last = bytes > BLOCK ? bytes - BLOCK : 0;
		const size_t odd[] = { 0, bytes - 1, last / (BLOCKS - 1) * 33 + 5 };
		make("copy0", bytes, SIZE_MAX);
		for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) {
			make("copy1", bytes, odd[k]);
			const trial t = of("copy1", false);
			assert_refused(&t, "has other content");
		}
		make("copy1", bytes + 10, SIZE_MAX);
		const trial t = of("copy1", false);
		assert_refused(&t, "has another size");
	}
}

static void on_one_host_files_are_compared(void **state)
{
	(void)state;
	make("copy0", 1000, SIZE_MAX);
	make("copy1", 1000, SIZE_MAX);
	assert_int_equal(of("copy0", true).rc[2], ST_OK);
	assert_int_equal(of("./copy0", true).rc[2], ST_OK);
	const trial t = of("copy1", true);
	assert_refused(&t, "is another file");
}

static int enter(void **state)
{
	const char *dir = getenv("TEST_TMP");
	(void)state;
	return dir ? chdir(dir) : 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(good_copies_are_accepted),
		cmocka_unit_test(old_copies_are_refused),
		cmocka_unit_test(on_one_host_files_are_compared),
	};
	return cmocka_run_group_tests(tests, enter, NULL);
}
