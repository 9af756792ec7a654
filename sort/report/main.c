/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program hetsort-report: make the HTML page of a JSON report, as hetsort --html does. */
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
				"Usage: hetsort-report [-o PAGE] REPORT\n"
				"Make a page for a browser from a report that hetsort "
				"--report wrote.\n\n"
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
	if (optind + 1 != argc)
		return report_usage_error(optind == argc ? "no report is given"
							 : "more than one report");
	const char *report = argv[optind];
	json_t *doc = NULL;
	registry g = { .use = NULL };
	registry_reads(&g, ROLE_SOURCE_REPORT, report, -1);
	registry_writes(&g, ROLE_PAGE, output, -1);
	status rc = registry_check_messages(&g, &e);
	if (rc == ST_OK)
		rc = registry_check(&g, &e);
	registry_free(&g);
	if (rc == ST_OK)
		rc = json_read(AT_FDCWD, false, "report", report, &doc, &e);
	if (rc == ST_OK)
		rc = page_check(doc, report, &e);
	if (rc == ST_OK)
		rc = page_write(doc, output, false, &e);
	json_decref(doc);
	if (rc != ST_OK)
		fprintf(stderr, "hetsort-report: %s\n", e.text);
	return rc;
}
