/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A document that cannot get its name leaves no file, and can be written again. A file of another
 * program that appears under the name at the last moment stays. */
#include "io/json.h"
#include "io/target.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

static void target_at(target *t, const char *path)
{
	err e = { ST_OK, "" };
	assert_int_equal(target_open(t, path, &e), ST_OK);
}

static status write_to(target *t)
{
	err e = { ST_OK, "" };
	return json_write(json_pack("{s:i}", "n", 1), t, false, &e);
}

static void written_again_after_failures(void **state)
{
	target in_the_way, other;
	(void)state;
	assert_int_equal(mkdir("dir", 0700), 0);
	target_at(&in_the_way, "dir");
	target_at(&other, "other");
	alarm(60); /* the list of files must not contain a circle */
	assert_int_not_equal(write_to(&in_the_way), ST_OK);
	assert_int_not_equal(write_to(&in_the_way), ST_OK);
	assert_int_equal(write_to(&other), ST_OK);
	target_discard(&other);
	assert_int_equal(rmdir("dir"), 0);
	assert_int_equal(write_to(&in_the_way), ST_OK);
	target_discard(&in_the_way);
	alarm(0);
	assert_int_equal(unlink("dir"), 0);
	assert_int_equal(unlink("other"), 0);
	assert_int_equal(chdir(".."), 0);
	assert_int_equal(rmdir(getenv("TEST_TMP")), 0); /* no other file was left */
	assert_int_equal(mkdir(getenv("TEST_TMP"), 0700), 0);
}

static void put(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	assert_int_not_equal(fputs(text, f), EOF);
	assert_int_equal(fclose(f), 0);
}

static bool contains(const char *path, const char *text)
{
	char is[200] = "";
	FILE *f = fopen(path, "r");
	if (!f)
		return false;
	(void)!fread(is, 1, sizeof is - 1, f);
	fclose(f);
	return strcmp(is, text) == 0;
}

/* Write a report while another file gets its name between the check and the last step. NULL: no
 * file has the name then. */
static status exchanged(const char *checked, const char *then)
{
	target t;
	err e = { ST_OK, "" };
	(void)unlink("r.json");
	if (checked)
		put("r.json", checked);
	target_at(&t, "r.json");
	assert_int_equal(target_check_role(&t, ROLE_REPORT, &e), ST_OK);
	t.role = ROLE_REPORT;
	assert_int_equal(unlink("r.json"), checked ? 0 : -1);
	if (then)
		put("r.json", then);
	const status rc = write_to(&t);
	target_discard(&t);
	return rc;
}

static void exchanged_at_the_last_moment(void **state)
{
	static const char report[] = "{\n  \"format\" : \"hetsort-report\"}";
	static const char mine[] = "mine", *const before[] = { NULL, "", report };
	(void)state;
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(exchanged(before[i], mine), ST_REFUSED);
		assert_true(contains("r.json", mine));
		assert_int_equal(exchanged(before[i], NULL), ST_OK);
		assert_false(contains("r.json", mine));
	}
	assert_int_equal(exchanged(report, report), ST_OK);
	assert_false(contains("r.json", report));
	assert_int_equal(unlink("r.json"), 0);
	assert_int_equal(chdir(".."), 0);
	assert_int_equal(rmdir(getenv("TEST_TMP")), 0); /* no temporary file is left */
	assert_int_equal(mkdir(getenv("TEST_TMP"), 0700), 0);
	assert_int_equal(chdir(getenv("TEST_TMP")), 0);
}

/* A signal arrives between the exchange of the names and the look at the old file. The thread that
 * would end the process finds the list locked, and gives up. */
static bool signalled;
static atomic_bool ended;

static void swept(void *unused)
{
	(void)unused;
	atomic_store(&ended, true);
}

static void *end_process(void *unused)
{
	(void)unused;
	(void)unfinished_freeze(true);
	unfinished_remove_all();
	return NULL;
}

int renameat2(int from, const char *a, int to, const char *b, unsigned flags)
{
	const int rc = (int)syscall(SYS_renameat2, from, a, to, b, flags);
	pthread_t t;
	if (rc == 0 && signalled) {
		signalled = false;
		assert_int_equal(pthread_create(&t, NULL, end_process, NULL), 0);
		assert_int_equal(pthread_join(t, NULL), 0);
		if (atomic_load(&ended)) { /* the list stays with a thread that has ended */
			print_error("the process was ended with another file under the name\n");
			_exit(1);
		}
	}
	return rc;
}

static void ended_between_exchange_and_look(void **state)
{
	static const char report[] = "{\n  \"format\" : \"hetsort-report\"}", mine[] = "mine";
	unfinished_end x = { .sweep = swept };
	(void)state;
	unfinished_at_end(&x);
	signalled = true;
	assert_int_equal(exchanged(report, mine), ST_REFUSED);
	assert_false(signalled);
	assert_true(contains("r.json", mine));
	unfinished_end_as_usual(&x);
	assert_int_equal(unlink("r.json"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ended_between_exchange_and_look),
		cmocka_unit_test(exchanged_at_the_last_moment),
		cmocka_unit_test(written_again_after_failures),
	};
	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
