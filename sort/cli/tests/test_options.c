/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tests every row of the options: it is parsed, bounded, and refused if given twice. It counts in
 * the sum that ranks compare, unless the row has a reason not to. */
#include "cli/options.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORD_BYTES = 128 };

static bool is_sort(const option_row *r)
{
	return r->field.at != offsetof(settings, wish);
}

/* Return another option that the option requires. */
static const char *company(const option_row *r)
{
	return strcmp(r->name, "scatter") == 0        ? "--source=root"
	       : strcmp(r->name, "resume") == 0       ? "--workdir=d"
	       : strcmp(r->name, "emulate") == 0      ? "--speeds=1,2"
	       : strcmp(r->name, "record-size") == 0  ? "--key=0,1"
	       : strcmp(r->name, "checksum") == 0     ? "--check"
	       : strcmp(r->name, "check") == 0        ? "--check"
	       : strcmp(r->name, "check-silent") == 0 ? "--check-silent"
	       : r->kind == OPT_FOLD                  ? "--unique"
	       : strcmp(r->name, "append") == 0       ? "--record-size=1"
	       : is_sort(r)                           ? "--explain"
						      : "--stable";
}

/* Parse `hetsort -o out in`, the option's company, and the option, `times` times. */
static status parse(settings *o, const option_row *r, const char *arg, int times, err *e)
{
	char base[][WORD_BYTES] = { "hetsort", "-oout", "", "", "in" }, word[WORD_BYTES];
	char *argv[8] = { base[0], base[1], base[2] };
	int argc = 3;
	*e = (err){ ST_OK, "" };
	strcpy(base[2], company(r));
	snprintf(word, sizeof word, "--%s%s%s", r->name, arg ? "=" : "", arg ? arg : "");
	if (strcmp(r->name, "output") == 0 || strcmp(r->name, "order-out") == 0 ||
	    strncmp(company(r), "--check", 7) == 0)
		argc = 2, argv[1] = base[2];
	if (strcmp(r->name, "explain") == 0)
		argc = 2;
	for (int i = 0; i < times; i++)
		argv[argc++] = word;
	if (strcmp(r->name, "files0-from") != 0 || times == 0)
		argv[argc++] = base[4];
	return options_parse(o, argc, argv, e);
}

/* Return an argument of the option that differs from its default. NULL: it takes none. */
static const char *argument(const option_row *r, char buf[WORD_BYTES])
{
	settings plain;
	err e;
	assert_int_equal(parse(&plain, r, NULL, 0, &e), ST_OK);
	switch (r->kind) {
	case OPT_SET:
		return NULL;
	case OPT_NUMBER:
	case OPT_SIZE:
		snprintf(buf, WORD_BYTES, "%ju",
			 (uintmax_t)(option_load(&plain, r->field) == (int64_t)r->lo ? r->hi
										     : r->lo));
		return buf;
	case OPT_CHOICE:
		return r->choices[option_load(&plain, r->field) == 0 ? 1 : 0];
	case OPT_KEY:
		return "1,2";
	case OPT_FOLD:
	case OPT_FIELD:
		return "50,u32";
	case OPT_MEMORY:
		return "1G";
	default:
		return "1,2";
	}
}

/* Return the sum of the command line without this option, but with its company. */
static uint64_t sum_without(const option_row *r)
{
	settings o;
	err e;
	assert_int_equal(parse(&o, r, NULL, 0, &e), ST_OK);
	return o.sum;
}

static void options_change_the_sum(void **state)
{
	(void)state;
	int counted = 0, free_to_differ = 0;
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		char buf[WORD_BYTES];
		settings o;
		err e;
		if (!is_sort(r))
			continue;
		if (parse(&o, r, argument(r, buf), 1, &e) != ST_OK)
			fail_msg("--%s: %s", r->name, e.text);
		if ((o.sum == sum_without(r)) != (r->may_differ != NULL))
			fail_msg("--%s: the sum is %s", r->name,
				 r->may_differ ? "another" : "the same");
		counted += !r->may_differ;
		free_to_differ += r->may_differ != NULL;
	}
	assert_true(counted > 20 && free_to_differ > 5);
}

static void options_are_refused_twice(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		char buf[WORD_BYTES], said[WORD_BYTES];
		settings o;
		err e;
		const bool may = r->kind == OPT_SET || r->kind == OPT_TMPDIR || r->kind == OPT_KEY;
		if (r->kind == OPT_FOLD) /* several fields, which must not overlap */
			snprintf(said, sizeof said, "--%s: bytes 50 to 53 are also used by --%s",
				 r->name, r->name);
		else
			snprintf(said, sizeof said, "--%s is given twice", r->name);
		assert_int_equal(parse(&o, r, argument(r, buf), 2, &e), may ? ST_OK : ST_REFUSED);
		assert_string_equal(e.text, may ? "" : said);
	}
}

static void words_change_the_sum(void **state)
{
	(void)state;
	int words = 0;
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		settings o;
		err e;
		if (!r->word.text || r->word.field.bytes == 0 || r->may_differ)
			continue;
		assert_int_equal(parse(&o, r, r->word.text, 1, &e), ST_OK);
		assert_int_equal(option_load(&o, r->word.field), r->word.value);
		assert_true(o.sum != sum_without(r));
		words++;
	}
	assert_int_equal(words, 3);
}

static void numbers_stay_in_their_range(void **state)
{
	(void)state;
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		char word[WORD_BYTES];
		settings o;
		err e;
		if (r->kind != OPT_NUMBER && r->kind != OPT_SIZE)
			continue;
		for (int k = 0; k < 2; k++) {
			const uint64_t v = k ? r->hi : r->lo;
			snprintf(word, sizeof word, "%ju", (uintmax_t)v);
			assert_int_equal(parse(&o, r, word, 1, &e), ST_OK);
			assert_int_equal(option_load(&o, r->field), v);
		}
		snprintf(word, sizeof word, "%ju", (uintmax_t)r->hi + 1);
		assert_int_equal(parse(&o, r, word, 1, &e), ST_REFUSED);
	}
}

/* Switches that set one field to two values exclude each other, in any order. */
static void opposites_are_refused(void **state)
{
	(void)state;
	int pairs = 0;
	for (size_t i = 0; i < option_count; i++)
		for (size_t k = 0; k < option_count; k++) {
			const option_row *a = &option_rows[i], *b = &option_rows[k];
			char one[WORD_BYTES], two[WORD_BYTES],
				base[][8] = { "hetsort", "-oout", "in" };
			settings o;
			err e = { ST_OK, "" };
			if (i == k || a->kind != OPT_SET || b->kind != OPT_SET ||
			    a->field.at != b->field.at || a->value == WISH_HELP ||
			    a->value == WISH_VERSION || b->value == WISH_HELP ||
			    b->value == WISH_VERSION)
				continue;
			snprintf(one, sizeof one, "--%s", a->name);
			snprintf(two, sizeof two, "--%s", b->name);
			char *argv[] = { base[0], base[1], one, two, base[2], NULL };
			assert_int_equal(options_parse(&o, 5, argv, &e), ST_REFUSED);
			assert_non_null(strstr(e.text, "exclude each other"));
			pairs++;
		}
	assert_int_equal(pairs, 16);
}

/* Every option that takes a size takes all units. */
static void sizes_have_units(void **state)
{
	static const char *const words[] = { "1k", "1K", "1KiB", "1024", "1024B" };
	(void)state;
	int sizes = 0;
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		settings o;
		err e;
		if (r->kind != OPT_SIZE && r->kind != OPT_MEMORY)
			continue;
		for (size_t k = 0; k < sizeof words / sizeof *words; k++) {
			assert_int_equal(parse(&o, r, words[k], 1, &e), ST_OK);
			assert_int_equal(r->kind == OPT_MEMORY ? (int64_t)o.memory.bytes
							       : option_load(&o, r->field),
					 1024);
		}
		sizes++;
	}
	assert_int_equal(sizes, 6);
}

/* Names, letters and names in the report are unique; the help names all choices. */
static void rows_are_whole(void **state)
{
	(void)state;
	char *help = NULL;
	size_t len;
	FILE *f = open_memstream(&help, &len);
	assert_non_null(f);
	options_help(f);
	fclose(f);
	for (size_t i = 0; i < option_count; i++) {
		const option_row *r = &option_rows[i];
		assert_true((r->arg == NULL) == (r->kind == OPT_SET));
		assert_true(r->field.at + r->field.bytes <= sizeof(settings));
		assert_true((r->choices != NULL) == (r->kind == OPT_CHOICE));
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(r->name, option_rows[k].name);
			assert_true(!r->letter || r->letter != option_rows[k].letter);
			assert_true(!r->report || !option_rows[k].report ||
				    strcmp(r->report, option_rows[k].report) != 0);
		}
		assert_true(i > 0 || r->heading);
		char own[WORD_BYTES];
		snprintf(own, sizeof own, "--%s", r->name);
		const char *at = strstr(help, own);
		assert_non_null(at);
		for (size_t c = 0; r->choices && r->choices[c]; c++)
			assert_true(strstr(r->help, "{}") || strstr(r->help, r->choices[c]));
	}
	free(help);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_whole),
		cmocka_unit_test(options_change_the_sum),
		cmocka_unit_test(words_change_the_sum),
		cmocka_unit_test(options_are_refused_twice),
		cmocka_unit_test(numbers_stay_in_their_range),
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(opposites_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
