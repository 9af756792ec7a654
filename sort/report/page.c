/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a report, see page.h. Texts of the report, such as file names, must not become
 * markup, so the page contains the report only as data. The Makefile converts the template in
 * scripts/page/ to C strings. Memory: up to seven times the report's text. */
#include "page.h"
#include "base/arith.h"

#include <stdlib.h>
#include <string.h>

enum { REPORT_VERSION = 1 };

extern const char report_page_head[], report_page_tail[];

status page_check(const json_t *report, const char *name, err *e)
{
	const char *format = json_string_value(json_object_get(report, "format"));
	const json_t *version = json_object_get(report, "version");
	if (!format || strcmp(format, "hetsort-report") != 0)
		return err_set(e, ST_REFUSED, "%s is not a report of hetsort", quoted(name));
	if (!json_is_integer(version) || json_integer_value(version) != REPORT_VERSION)
		return err_set(e, ST_REFUSED, "report %s is not of version %d", quoted(name),
			       REPORT_VERSION);
	if (!json_is_array(json_object_get(report, "ranks")))
		return err_set(e, ST_REFUSED, "report %s has no list of ranks", quoted(name));
	return ST_OK;
}

status page_write(const json_t *report, const char *path, bool sync, err *e)
{
	char *json = json_dumps(report, JSON_COMPACT), *text = NULL;
	const size_t rest =
		sizeof ROLE_PAGE_MARK + strlen(report_page_head) + strlen(report_page_tail) + 2;
	size_t data = 0;
	if (json && size_mul(strlen(json), sizeof "\\u003c" - 1, &data) && data < SIZE_MAX - rest)
		text = malloc(rest + data);
	status rc = text ? ST_OK : err_set(e, ST_RESOURCE, "no memory for %s", quoted(path));
	if (text) {
		char *to = stpcpy(stpcpy(text, ROLE_PAGE_MARK), report_page_head);
		/* '<' occurs only in strings. Escaped, the data can neither end its element nor
		 * begin another one. */
		for (const char *c = json; *c; c++)
			if (*c == '<')
				to = stpcpy(to, "\\u003c");
			else
				*to++ = *c;
		*to++ = '\n';
		stpcpy(to, report_page_tail);
		rc = text_write_role(ROLE_PAGE, path, text, strlen(text), sync, e);
	}
	free(json);
	free(text);
	return rc;
}
