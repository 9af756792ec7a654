/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program hetsort-report: make the HTML page of a JSON report, as hetsort --html does, or of
 * two, which it compares. */
#include "base/bad_option.h"
#include "io/registry.h"
#include "page.h"

#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>

enum { OPT_VERSION = 256 };

static int report_print(const char *text)
{
	if (puts(text) != EOF && fflush(stdout) == 0)
		return ST_OK;
	fputs("hetsort-report: cannot write to standard output\n", stderr);
	return ST_IO;
}

/* Print why the command line is invalid. Return the exit status. */
static int report_usage_error(const char *why)
{
	fprintf(stderr, "hetsort-report: %s\n", why);
	fputs("Try 'hetsort-report --help' for more information.\n", stderr);
	return ST_REFUSED;
}

int main(int argc, char **argv)
{
	static const struct option longs[] = { { "output", required_argument, NULL, 'o' },
					       { "help", no_argument, NULL, 'h' },
					       { "version", no_argument, NULL, OPT_VERSION },
					       { NULL, 0, NULL, 0 } };
	const char *output = "-";
	err e = { ST_OK, "" };
	opterr = 0;
	for (int opt; (opt = getopt_long(argc, argv, ":ho:", longs, NULL)) != -1;) {
		if (opt == 'h')
			return report_print(
				"Usage: hetsort-report [-o PAGE] REPORT [REPORT]\n"
				"Make a page for a browser from a report that hetsort "
				"--report wrote.\nA page of two reports compares them.\n\n"
				"  -o, --output=PAGE  write it there [standard output]\n"
				"  -h, --help         print this\n"
				"      --version      print the version\n"
				"Exit status: 0 written, 2 not a report, or refused; 3 and 4 "
				"as of hetsort.");
		if (opt == OPT_VERSION)
			return report_print("hetsort-report " HETSORT_VERSION
					    "\nLicense GPLv3+: GNU GPL version 3 or later.");
		if (opt != 'o') {
			(void)bad_option(argv[optind - 1], opt == ':', longs, &e);
			return report_usage_error(e.text);
		}
		output = optarg;
	}
	char *const *report = argv + optind;
	const int reports = argc - optind;
	if (reports < 1 || reports > 2)
		return report_usage_error(
			reports < 1 ? "no report is given"
				    : "more than two reports: a page has one, or compares two");
	registry g = { .use = NULL };
	for (int i = 0; i < reports; i++)
		registry_reads(&g, ROLE_SOURCE_REPORT, report[i], -1);
	registry_writes(&g, ROLE_PAGE, output, -1);
	status rc = registry_check_messages(&g, &e);
	if (rc == ST_OK)
		rc = registry_check(&g, &e);
	registry_free(&g);
	json_t *list = json_array();
	for (int i = 0; i < reports && rc == ST_OK; i++) {
		json_t *doc = NULL;
		rc = json_read(AT_FDCWD, false, "report", report[i], &doc, &e);
		if (rc == ST_OK)
			rc = page_check(doc, report[i], &e);
		list = json_and(list,
				json_with(json_with(json_object(), "name", json_name(report[i])),
					  "report", doc));
	}
	if (rc == ST_OK)
		rc = page_write(reports == 1 ? json_object_get(json_array_get(list, 0), "report")
					     : list,
				output, false, &e);
	json_decref(list);
	if (rc != ST_OK)
		fprintf(stderr, "hetsort-report: %s\n", e.text);
	return rc;
}
