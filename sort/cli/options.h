/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The options of hetsort, one row each, and the command line as settings. The parser, --help, the
 * checksum that ranks compare, and the configuration in the report follow from the rows. */
#ifndef HETSORT_CLI_OPTIONS_H
#define HETSORT_CLI_OPTIONS_H

#include "base/settings.h"

#include <stddef.h>
#include <stdio.h>

/* The kinds of arguments. OPT_SET, OPT_KEY, OPT_FOLD and OPT_TMPDIR may be
 * given several times. */
typedef enum option_kind {
	OPT_SET,    /* takes none: the field becomes `value` */
	OPT_NUMBER, /* whole, from lo to hi */
	OPT_SIZE,   /* bytes with a unit, from lo to hi */
	OPT_CHOICE, /* one of `choices`: the field becomes its index */
	OPT_TEXT,
	OPT_KEY,    /* adds a field of the key */
	OPT_FOLD,   /* adds a field that is folded; `value` is the fold_kind */
	OPT_FIELD,  /* a field for a number */
	OPT_MEMORY, /* a size or a percentage */
	OPT_TMPDIR, /* adds a directory */
} option_kind;

/* A member of settings. */
typedef struct option_field {
	size_t at, bytes;
} option_field;

typedef struct option_row {
	const char *name;
	char letter;     /* '\0': none */
	const char *arg; /* the argument's name in --help; NULL: the option takes none */
	option_kind kind;
	option_field field;
	int value;                  /* of OPT_SET and OPT_FOLD */
	uint64_t lo, hi;            /* of OPT_NUMBER and OPT_SIZE */
	const char *const *choices; /* of OPT_CHOICE; ends with NULL */
	/* A word that may replace the argument, and the field that it sets. NULL: none. */
	struct {
		const char *text;
		option_field field;
		int value;
	} word;
	const char *may_differ; /* why ranks may have different values; NULL: they may not */
	const char *report;  /* the name in the configuration of the report; NULL: not reported */
	const char *heading; /* in --help, before this row; NULL: none */
	const char *help;    /* {} becomes the choices or the range */
} option_row;

enum { OPTIONS_MAX = 64 }; /* a bit for each */

extern const option_row option_rows[];
extern const size_t option_count;

/* option_load - return the value of a field of 1, 4 or 8 bytes. */
int64_t option_load(const settings *o, option_field f);

/* options_sum - return the checksum of the options and names that must be the same on all ranks. */
uint64_t options_sum(const settings *o);

/* options_parse - read the command line of main(). Strings are not copied, and argv may be
 * permuted. e must be empty. ST_REFUSED with the reason in e. With o->files0_from, there are no
 * inputs yet. */
status options_parse(settings *o, int argc, char **argv, err *e);

/* options_take_names - set the inputs after options_parse, and check their names. Names are not
 * copied. ST_REFUSED. */
status options_take_names(settings *o, const char *const *name, size_t names, err *e);

/* options_help - print usage, options and exit status, in lines of at most 80 columns. */
void options_help(FILE *f);

#endif
