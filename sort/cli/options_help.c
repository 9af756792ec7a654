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
	static const char *const section[] = { [OF_FILES] = "Files:",
					       [OF_RECORDS] = "Records:",
					       [OF_SHARES] = "Shares:",
					       [OF_WORK] = "Work:",
					       [OF_INSTEAD] = "Instead of sorting:" };
	wrap("Usage: hetsort [OPTION]... -o OUTPUT INPUT...\n"
	     "Sort fixed-length records, on this machine or, under mpirun, on all ranks.\n"
	     "Inputs are read as one, a manifest as its parts; %r in a name is the rank.\n"
	     "- or no name is standard input, or the output of one rank.\n",
	     0, 0, f);
	for (int s = 0; s < OPTION_SECTIONS; s++) {
		fprintf(f, "%s\n", section[s]);
		for (size_t i = 0; i < option_count; i++)
			if ((int)option_rows[i].section == s)
				help_row(&option_rows[i], f);
	}
	wrap("Exit status: 0 sorted, verified, on disk; 1 did not verify; 2 refused; 3 I/O failed; "
	     "4 no memory or disk; 5 another rank failed; 6 internal; 128+n signal n.",
	     0, 0, f);
}
