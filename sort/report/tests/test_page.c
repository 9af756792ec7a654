/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a report holds the report, whatever is in its names, and nothing that loads. */
#include "report/page.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char DATA[] = "<script type=\"application/json\" id=\"data\">\n";

static json_t *report_of(const char *name)
{
	return json_pack("{s:s, s:i, s:s, s:[s], s:[{s:i, s:s}], s:[s]}", "format",
			 "hetsort-report", "version", 1, "status", "ok", "command", name, "ranks",
			 "rank", 0, "host", name, "notes", name);
}

static char *page_of(const json_t *report)
{
	enum { MOST = 1 << 20 };
	err e = { ST_OK, "" };
	assert_int_equal(page_write(report, "page.html", false, &e), ST_OK);
	FILE *f = fopen("page.html", "r");
	char *text = malloc(MOST);
	assert_non_null(f);
	assert_non_null(text);
	text[fread(text, 1, MOST - 1, f)] = '\0';
	fclose(f);
	return text;
}

static unsigned times(const char *text, const char *part)
{
	unsigned n = 0;
	for (; (text = strstr(text, part)); text++)
		n++;
	return n;
}

/* Read the data as a browser does: up to the first end of the element. */
static json_t *data_of(const char *page)
{
	const char *begin = strstr(page, DATA);
	assert_non_null(begin);
	begin += strlen(DATA);
	const char *end = strstr(begin, "</script");
	assert_non_null(end);
	return json_loadb(begin, (size_t)(end - begin), JSON_REJECT_DUPLICATES, NULL);
}

static void hostile_names_stay_data(void **state)
{
	static const char *const name[] = {
		"plain",
		"</script><img src=x onerror=alert(1)>",
		"</SCRIPT ><script>alert(1)</script>",
		"<!--<script>",
		"]]></style>&lt;&quot;'\"\\",
		"\x01\t\n\x7f \xe2\x80\xa8\xe2\x80\xa9 \xf0\x9f\x98\x80",
		"\\u003c/script>",
	};
	(void)state;
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		json_t *report = report_of(name[i]);
		assert_non_null(report);
		char *page = page_of(report);
		json_t *back = data_of(page);
		assert_non_null(back);
		assert_true(json_equal(back, report));
		assert_int_equal(times(page, "<script"), 2);
		assert_int_equal(times(page, "</script"), 2);
		assert_int_equal(times(page, "<!--"), 1); /* at its beginning */
		assert_int_equal(times(page, "<img"), 0);
		json_decref(back);
		json_decref(report);
		free(page);
	}
}

static void nothing_is_loaded(void **state)
{
	static const char *const loads[] = { "http:",   "https:", "//cdn",   " src=",   "<link",
					     "@import", "fetch(", "XMLHttp", "url(data" };
	json_t *report = report_of("h");
	char *page = page_of(report);
	(void)state;
	for (size_t i = 0; i < sizeof loads / sizeof *loads; i++)
		if (strstr(page, loads[i]))
			fail_msg("the page has '%s'", loads[i]);
	assert_non_null(strstr(page, "default-src 'none'"));
	assert_non_null(strstr(page, "<noscript>"));
	static const char begin[] = ROLE_PAGE_MARK "<!DOCTYPE html>\n<html lang=\"en\">";
	assert_int_equal(strncmp(page, begin, sizeof begin - 1), 0);
	assert_string_equal(page + strlen(page) - 8, "</html>\n");
	json_decref(report);
	free(page);
}

static void only_reports_are_taken(void **state)
{
	err e = { ST_OK, "" };
	json_t *report = report_of("h");
	(void)state;
	assert_int_equal(page_check(report, "r", &e), ST_OK);
	json_object_set_new(report, "version", json_integer(2));
	assert_int_equal(page_check(report, "r", &e), ST_REFUSED);
	assert_string_equal(e.text, "report 'r' is not of version 1");
	json_object_set_new(report, "version", json_integer(1));
	json_object_set_new(report, "ranks", json_string("all"));
	e = (err){ ST_OK, "" };
	assert_int_equal(page_check(report, "r", &e), ST_REFUSED);
	assert_string_equal(e.text, "report 'r' has no list of ranks");
	json_object_set_new(report, "format", json_string("hetsort-manifest"));
	e = (err){ ST_OK, "" };
	assert_int_equal(page_check(report, "r", &e), ST_REFUSED);
	assert_string_equal(e.text, "'r' is not a report of hetsort");
	json_decref(report);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_names_stay_data),
		cmocka_unit_test(nothing_is_loaded),
		cmocka_unit_test(only_reports_are_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
