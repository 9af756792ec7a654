/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A document that cannot get its name: nothing is left of it, and it can be written again. */
#include "io/json.h"
#include "io/target.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>
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
	return json_write(json_pack("{s:i}", "n", 1), t, true, false, &e);
}

static void written_again_after_failures(void **state)
{
	target in_the_way, other;
	(void)state;
	assert_int_equal(mkdir("folder", 0700), 0);
	target_at(&in_the_way, "folder");
	target_at(&other, "other");
	alarm(60); /* a list that ends in itself was searched for ever */
	assert_int_not_equal(write_to(&in_the_way), ST_OK);
	assert_int_not_equal(write_to(&in_the_way), ST_OK);
	assert_int_equal(write_to(&other), ST_OK);
	target_discard(&other);
	assert_int_equal(rmdir("folder"), 0);
	assert_int_equal(write_to(&in_the_way), ST_OK);
	target_discard(&in_the_way);
	alarm(0);
	assert_int_equal(unlink("folder"), 0);
	assert_int_equal(unlink("other"), 0);
	assert_int_equal(chdir(".."), 0);
	assert_int_equal(rmdir(getenv("TEST_TMP")), 0); /* nothing else was there */
	assert_int_equal(mkdir(getenv("TEST_TMP"), 0700), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(written_again_after_failures) };
	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
