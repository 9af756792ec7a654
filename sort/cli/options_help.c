/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What --help prints. */
#include "base/size.h"
#include "option_rows.h"
#include "options.h"

#include <string.h>

enum { COLUMNS = 80, TEXT_AT = 26, HELP_BYTES = 400 };

/* Prints words from this column on; further lines are indented, and "\n" begins one. */
static void wrap(const char *text, size_t column, size_t indent, FILE *f)
{
	size_t n;
	bool blank = false; /* before the next word */
	for (; *text; text += n + (text[n] != '\0')) {
		n = strcspn(text, " \n");
		if (blank && column + 1 + n > COLUMNS) {
			fprintf(f, "\n%*s", (int)indent, "");
			column = indent;
			blank = false;
		}
		fprintf(f, "%s%.*s", blank ? " " : "", (int)n, text);
		column += blank + n;
		blank = true;
		if (text[n] == '\n') {
			fprintf(f, "\n%*s", (int)indent, "");
			column = indent;
			blank = false;
		}
	}
	fputc('\n', f);
}

/* The help of a row, with its choices or its range in the place of {}. */
static const char *help_of(const option_row *r, char text[HELP_BYTES])
{
	const char *gap = strstr(r->help, "{}");
	char lo[SIZE_TEXT_BYTES], hi[SIZE_TEXT_BYTES];
	if (!gap)
		return r->help;
	size_t at = (size_t)snprintf(text, HELP_BYTES, "%.*s", (int)(gap - r->help), r->help);
	for (size_t i = 0; r->choices && r->choices[i] && at < HELP_BYTES; i++)
		at += (size_t)snprintf(text + at, HELP_BYTES - at, "%s%s", i ? ", " : "",
				       r->choices[i]);
	if (r->kind == OPT_SIZE && at < HELP_BYTES)
		at += (size_t)snprintf(text + at, HELP_BYTES - at, "%s to %s", size_text(r->lo, lo),
				       size_text(r->hi, hi));
	if (at < HELP_BYTES)
		snprintf(text + at, HELP_BYTES - at, "%s", gap + 2);
	return text;
}

static void help_row(const option_row *r, FILE *f)
{
	char text[HELP_BYTES];
	int at = r->letter ? fprintf(f, "  -%c, --%s", r->letter, r->name)
			   : fprintf(f, "      --%s", r->name);
	if (r->arg)
		at += fprintf(f, "=%s", r->arg);
	at += fprintf(f, "%*s", at < TEXT_AT ? TEXT_AT - at : 2, "");
	wrap(help_of(r, text), (size_t)at, TEXT_AT, f);
}

void options_help(FILE *f)
{
	static const char *const section[] = {
		[OF_FILES] = "Files:", [OF_RECORDS] = "Records:", [OF_WORK] = "Work:"
	};
	wrap("Usage: hetsort [OPTION]... -o OUTPUT INPUT...\n"
	     "Sort fixed-length records, on this machine or, under mpirun, on all ranks.\n"
	     "\n"
	     "INPUT is one or more files, read as one; %r in a name stands for the rank, so that "
	     "each rank reads its own (%3r: with leading zeros; %% beside it: a plain %). A "
	     "manifest "
	     "stands for its parts, and with one %r is all of them.\n"
	     "- is standard input, or standard output where one rank runs; both if none is "
	     "named.\n",
	     0, 0, f);
	for (int s = 0; s < OPTION_SECTIONS; s++) {
		fprintf(f, "%s\n", section[s]);
		for (size_t i = 0; i < option_count; i++)
			if ((int)option_rows[i].section == s)
				help_row(&option_rows[i], f);
	}
	wrap("\n"
	     "Exit status: 0 sorted, verified and on disk; 1 the output did not verify; 2 refused "
	     "before work; 3 input or output failed; 4 out of memory, disk or another resource; 5 "
	     "another rank failed; 6 internal error; 128+n signal n. On anything but 0 no file "
	     "under an output's final name is new or changed.",
	     0, 0, f);
}
