/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of memory and quotas of processors on recorded and made-up machines. A file
 * fixtures/memory_limit/NAME.tree has the files of a machine, each after a line "== PATH", and the
 * expected results:
 *   want NODE_RANKS PROCESS_RANKS --memory|- RANK_BYTES TEXT     or "refused" for the last two
 *   left NODE_RANKS BYTES TEXT      memory and swap space for the rank and its files in memory
 *   quota CPUS
 * fixtures/memory_limit/record writes such a file for the machine that it is started on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "base/limit.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEN(a) (sizeof(a) / sizeof *(a))

enum { LINE_BYTES = 1000, PATH_BYTES = 512, NAME_BYTES = 256 };

static void make_dirs(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*p = '/';
	}
}

/* Write the files of a tree below root. */
static void plant(FILE *tree, const char *root)
{
	char line[LINE_BYTES], path[PATH_BYTES];
	FILE *f = NULL;
	rewind(tree);
	while (fgets(line, sizeof line, tree)) {
		if (strncmp(line, "== ", 3) == 0) {
			line[strcspn(line, "\n")] = '\0';
			assert_true(snprintf(path, sizeof path, "%s%s", root, line + 3) <
				    PATH_BYTES);
			make_dirs(path);
			if (f)
				fclose(f);
			f = fopen(path, "w");
			assert_non_null(f);
		} else if (f) {
			fputs(line, f);
		}
	}
	if (f)
		fclose(f);
}

/* Check a line "want". */
static void expect(const char *line, const char *root, const char *name)
{
	unsigned node, process;
	char memory[40], text[LINE_BYTES] = "";
	uint64_t bytes = 0;
	int at = 0;
	err e = { ST_OK, "" };
	memory_limit l;
	assert_int_equal(sscanf(line, "want %u %u %39s %n", &node, &process, memory, &at), 3);
	memory_limit_query q = { .root = root, .node_ranks = node, .process_ranks = process };
	if (strcmp(memory, "-") != 0)
		assert_int_equal(memory_limit_parse(memory, &q.wish, &e), ST_OK);
	const status rc = memory_limit_find(&q, &l, &e);
	if (strncmp(line + at, "refused", 7) == 0) {
		assert_int_equal(rc, ST_REFUSED);
		assert_true(e.text[0]);
		return;
	}
	assert_int_equal(sscanf(line + at, "%" SCNu64 " %999[^\n]", &bytes, text), 2);
	if (rc != ST_OK || l.rank_bytes != bytes || strcmp(l.text, text) != 0)
		fail_msg("%s: %s     got: %d, %" PRIu64 " %s", name, line, (int)rc, l.rank_bytes,
			 l.text);
}

/* Check a line "left". */
static void expect_left(const char *line, const char *root, const char *name)
{
	unsigned node;
	uint64_t bytes;
	char text[LINE_BYTES] = "";
	err e = { ST_OK, "" };
	memory_limit l;
	assert_int_equal(sscanf(line, "left %u %" SCNu64 " %999[^\n]", &node, &bytes, text), 3);
	const memory_limit_query q = { .root = root, .node_ranks = node, .process_ranks = 1 };
	assert_int_equal(memory_limit_find(&q, &l, &e), ST_OK);
	if (l.left_bytes != bytes || strcmp(l.left_text, text) != 0)
		fail_msg("%s: %s     got: %" PRIu64 " %s", name, line, l.left_bytes, l.left_text);
}

static void expect_quota(const char *line, const char *root, const char *name)
{
	double cpus;
	assert_int_equal(sscanf(line, "quota %lf", &cpus), 1);
	const quota q = quota_find(root);
	if (q.cpus != cpus || !q.group != !(cpus > 0))
		fail_msg("%s: %s     got: %g", name, line, q.cpus);
}

static void one_tree(const char *dir, const char *name)
{
	char path[PATH_BYTES + NAME_BYTES], root[PATH_BYTES + NAME_BYTES], line[LINE_BYTES];
	const char *tmp = getenv("TEST_TMP");
	size_t wants = 0;
	snprintf(path, sizeof path, "%s/%s", dir, name);
	snprintf(root, sizeof root, "%s/%s", tmp ? tmp : "/tmp/hetsort-limit", name);
	FILE *tree = fopen(path, "r");
	assert_non_null(tree);
	plant(tree, root);
	rewind(tree);
	while (fgets(line, sizeof line, tree) && strncmp(line, "== ", 3) != 0) {
		if (strncmp(line, "want ", 5) == 0) {
			expect(line, root, name);
			wants++;
		} else if (strncmp(line, "left ", 5) == 0) {
			expect_left(line, root, name);
		} else if (strncmp(line, "quota ", 6) == 0) {
			expect_quota(line, root, name);
		}
	}
	fclose(tree);
	assert_true(wants > 0);
}

static void recorded_machines(void **state)
{
	(void)state;
	char dir[PATH_BYTES];
	const char *root = getenv("ROOT");
	size_t trees = 0;
	snprintf(dir, sizeof dir, "%s/sort/base/tests/fixtures/memory_limit", root ? root : ".");
	DIR *d = opendir(dir);
	assert_non_null(d);
	for (struct dirent *f = readdir(d); f; f = readdir(d)) {
		const char *dot = strrchr(f->d_name, '.');
		if (dot && strcmp(dot, ".tree") == 0) {
			one_tree(dir, f->d_name);
			trees++;
		}
	}
	closedir(d);
	assert_true(trees >= 25);
}

/* Without a limit, the memory in use does not matter, and no file about it is opened. */
static void without_a_limit_use_is_not_read(void **state)
{
	(void)state;
	static const char *const files[] = { "usage_in_bytes", "stat" };
	const char *own = getenv("ROOT"), *tmp = getenv("TEST_TMP");
	char path[PATH_BYTES + NAME_BYTES], root[PATH_BYTES], event[PATH_BYTES];
	snprintf(path, sizeof path, "%s/sort/base/tests/fixtures/memory_limit/v1-unlimited.tree",
		 own ? own : ".");
	snprintf(root, sizeof root, "%s/unlimited", tmp ? tmp : "/tmp/hetsort-limit");
	FILE *tree = fopen(path, "r");
	assert_non_null(tree);
	plant(tree, root);
	fclose(tree);
	/* use a group below: for its own group, a process reads memory.stat in any case */
	snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
	tree = fopen(path, "w");
	assert_non_null(tree);
	fputs("4:memory:/below\n", tree);
	fclose(tree);
	const int seen = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(seen >= 0);
	for (size_t i = 0; i < LEN(files); i++) {
		snprintf(path, sizeof path, "%s/sys/fs/cgroup/memory/memory.%s", root, files[i]);
		assert_true(inotify_add_watch(seen, path, IN_OPEN) >= 0);
	}
	err e = { ST_OK, "" };
	memory_limit l;
	const memory_limit_query q = { .root = root, .node_ranks = 1, .process_ranks = 1 };
	assert_int_equal(memory_limit_find(&q, &l, &e), ST_OK);
	assert_true(l.rank_bytes == UINT64_MAX);
	assert_int_equal(read(seen, event, sizeof event), -1);
	assert_int_equal(errno, EAGAIN);
	close(seen);
}

/* Check that on any machine a rank gets some memory, two ranks get half of it each, and a wish is a
 * bound. */
static void this_machine(void **state)
{
	(void)state;
	err e = { ST_OK, "" };
	memory_limit one, two, small;
	memory_limit_query q = { .root = "", .node_ranks = 1, .process_ranks = 1 };
	assert_int_equal(memory_limit_find(&q, &one, &e), ST_OK);
	assert_true(one.rank_bytes > 1 << 20);
	assert_true(one.text[0]);
	q.node_ranks = q.process_ranks = 2;
	assert_int_equal(memory_limit_find(&q, &two, &e), ST_OK);
	assert_true(two.rank_bytes < one.rank_bytes || one.rank_bytes == UINT64_MAX);
	q.wish.bytes = 2 << 20;
	assert_int_equal(memory_limit_find(&q, &small, &e), ST_OK);
	assert_int_equal(small.rank_bytes, 1 << 20);
	assert_string_equal(small.text, "--memory: 2 MiB, for 2 ranks");
}

static void percentages(void **state)
{
	static const struct {
		const char *text;
		uint32_t micropercent;
	} good[] = {
		{ "50%", 50000000 },   { "100%", 100000000 }, { "100.000000%", 100000000 },
		{ "12.5%", 12500000 }, { "0.000001%", 1 },
	};
	(void)state;
	for (size_t i = 0; i < LEN(good); i++) {
		err e = { ST_OK, "" };
		memory_wish w;
		if (memory_limit_parse(good[i].text, &w, &e) != ST_OK)
			fail_msg("%s", e.text);
		assert_int_equal(w.micropercent, good[i].micropercent);
		assert_true(w.bytes == 0);
	}
}

/* Reject sizes that are not valid for memory. test_size.c has texts that are not sizes. */
static void invalid_wishes(void **state)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "0", "above zero" },
		{ "0.0G", "above zero" },
		{ "0.0001K", "above zero" },
		{ "1P", "units are" },
		{ "1%%", "units are" },
		{ "0%", "above 0 and at most 100" },
		{ "100.000001%", "above 0 and at most 100" },
		{ "101%", "above 0 and at most 100" },
		{ "4294967297%", "above 0 and at most 100" },
		{ "1\nM", "'1\\012M' is neither a size nor a percentage of memory" },
	};
	(void)state;
	for (size_t i = 0; i < LEN(bad); i++) {
		err e = { ST_OK, "" };
		memory_wish w;
		if (memory_limit_parse(bad[i].text, &w, &e) != ST_REFUSED ||
		    !strstr(e.text, bad[i].why))
			fail_msg("'%s': %s", bad[i].text, e.text);
		assert_true(w.bytes == 0 && w.micropercent == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recorded_machines),
		cmocka_unit_test(without_a_limit_use_is_not_read),
		cmocka_unit_test(this_machine),
		cmocka_unit_test(percentages),
		cmocka_unit_test(invalid_wishes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
