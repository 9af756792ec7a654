/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests options from programs compiled with other versions of the header. Members that an older
 * version lacks have their defaults. Members that a later version adds must be zero. */
#define HETSORT_NO_MPI
#include "lib/api.h"

#include <stdarg.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

/* The options of the first release, 0.1.0. Do not change them, because programs use them. */
typedef struct opts_0_1 {
	size_t struct_size;
	uint32_t record_bytes, key_off, key_bytes, threads, exchange_threads;
	const double *speeds;
} opts_0_1;

#define SAME_PLACE(member)                                                           \
	_Static_assert(offsetof(hetsort_opts, member) == offsetof(opts_0_1, member), \
		       "'" #member "' has moved: programs compiled with 0.1.0 break")
SAME_PLACE(record_bytes);
SAME_PLACE(key_off);
SAME_PLACE(key_bytes);
SAME_PLACE(threads);
SAME_PLACE(exchange_threads);
SAME_PLACE(speeds);

static hetsort_err why;

static void sort_of_0_1(void **state)
{
	struct {
		opts_0_1 opts;
		unsigned char beyond[64];
	} old = { { sizeof old.opts, 2, 1, 1, 1, 0, NULL }, { 0 } };
	char out[7] = "";
	(void)state;
	memset(old.beyond, 0xff, sizeof old.beyond);
	assert_int_equal(
		hetsort_sort_local("a3b1c2", 3, out, (const hetsort_opts *)&old.opts, &why),
		HETSORT_OK);
	assert_string_equal(out, "b1c2a3");
}

/* The options of a possible next version: one more member, whose default is not zero. */
typedef struct grown {
	opts_0_1 old;
	uint64_t added;
} grown;

static const grown defaults = { { sizeof defaults, 100, 0, 10, 1, 0, NULL }, 77 };

static hetsort_status copy(grown *full, const void *given)
{
	*full = defaults;
	return api_opts_copy(full, sizeof(opts_0_1), sizeof *full, given, &why);
}

static void missing_members_have_defaults(void **state)
{
	const opts_0_1 old = { sizeof old, 16, 4, 8, 3, 2, NULL };
	grown full;
	(void)state;
	assert_int_equal(copy(&full, &old), HETSORT_OK);
	assert_int_equal(full.added, 77);
	assert_int_equal(full.old.record_bytes, 16);
	assert_int_equal(full.old.exchange_threads, 2);
	assert_int_equal(full.old.struct_size, sizeof full);
}

static void unknown_sizes_are_refused(void **state)
{
	struct {
		grown known;
		uint64_t later;
	} given = { defaults, 0 };
	grown full;
	(void)state;
	given.known.old.struct_size = sizeof(opts_0_1) - 1;
	assert_int_equal(copy(&full, &given), HETSORT_EINVAL);
	assert_non_null(strstr(why.text, "struct_size of the options is '"));
	given.known.old.struct_size = 4097;
	assert_int_equal(copy(&full, &given), HETSORT_EINVAL);
	given.known.old.struct_size = sizeof given;
	assert_int_equal(copy(&full, &given), HETSORT_OK);
	given.later = 1;
	assert_int_equal(copy(&full, &given), HETSORT_EINVAL);
	assert_non_null(strstr(why.text, "this version does not have"));
}

static hetsort_status sort_pairs(const void *in, void *out, const char *key)
{
	hetsort_opts o = HETSORT_OPTS_INIT;
	o.record_bytes = 4;
	o.key_off = 77; /* ignored if there is a key */
	o.key = key;
	return hetsort_sort_local(in, 3, out, &o, &why);
}

static void keys(void **state)
{
	const unsigned char in[] = { 0, 1, 9, 9, 1, 0, 5, 5, 0, 1, 7, 7 };
	const unsigned char big[] = { 0, 1, 9, 9, 0, 1, 7, 7, 1, 0, 5, 5 };
	const unsigned char little[] = { 0, 1, 7, 7, 0, 1, 9, 9, 1, 0, 5, 5 };
	unsigned char out[12];
	(void)state;
	assert_int_equal(sort_pairs(in, out, "0,u16be"), HETSORT_OK);
	assert_memory_equal(out, big, sizeof out);
	assert_int_equal(sort_pairs(in, out, "0,u16le,desc 2,1"), HETSORT_OK);
	assert_memory_equal(out, little, sizeof out);
	assert_int_equal(sort_pairs(in, out, "0,u16be 3,u16be"), HETSORT_EINVAL);
	assert_string_equal(why.text,
			    "field 2 of the key, bytes 3 to 4, does not fit a record of 4 bytes");
	assert_int_equal(sort_pairs(in, out, "0,u16,up"), HETSORT_EINVAL);
	assert_non_null(strstr(why.text, "invalid key '0,u16,up': a type is one of"));
	assert_int_equal(sort_pairs(in, out, NULL), HETSORT_EINVAL);
	assert_non_null(strstr(why.text, "a key of '10' bytes at 77"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sort_of_0_1),
		cmocka_unit_test(missing_members_have_defaults),
		cmocka_unit_test(unknown_sizes_are_refused),
		cmocka_unit_test(keys),
	};
	return cmocka_run_group_tests_name("opts", tests, NULL, NULL);
}
